/**
 * A process that runs the commands of many tests one after another: starting one takes a hundred times as long as most
 * commands. A message to it: `Asked`; its answer: `Ended`.
 */
import { run } from "../../../src/cli/run.ts"
import type { Asked } from "./commands.ts"

const texts = { out: "", err: "" }
const into = (name: keyof typeof texts) => (text: string | Uint8Array) => {
  texts[name] += typeof text === "string" ? text : new TextDecoder().decode(text)
  return true
}
process.stdout.write = into("out")
process.stderr.write = into("err")
// These do not write through the streams.
console.log = (...parts: ReadonlyArray<unknown>) => into("out")(`${parts.join(" ")}\n`)
console.error = (...parts: ReadonlyArray<unknown>) => into("err")(`${parts.join(" ")}\n`)
// Each command listens for errors of its output.
process.stdout.setMaxListeners(0)

process.on("message", async ({ words, env }: Asked) => {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  Object.assign(texts, { out: "", err: "" })
  await run(words)
  process.send?.({ code: Number(process.exitCode), ...texts })
})
process.on("disconnect", () => process.exit(0))
