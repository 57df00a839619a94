/**
 * A process that runs the commands of many tests one after another: starting one takes a hundred times as long as most
 * commands. A message to it: `Asked`; its answer: `Ended`.
 */
import { bundleOf } from "../../../src/app/bundle.ts"
import type { Asked } from "./commands.ts"

// As src/main.ts does.
const { run } = await import(bundleOf(new URL("../../../", import.meta.url)) ?? "../../../src/cli/program.ts")

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

const home = process.cwd()
process.on("message", async ({ words, env, cwd = home }: Asked) => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  Object.assign(texts, { out: "", err: "" })
  await run(words)
  process.send?.({ code: Number(process.exitCode), ...texts })
})
process.on("disconnect", () => process.exit(0))
