/**
 * Runs many commands of the program one after another in one process, since starting a process takes a hundred times as long
 * as most commands. Its argument: a JSON array of their words. It writes what each wrote, and its exit code, as a JSON array.
 */
import { run } from "../../src/cli/run.ts"
import type { Ended } from "../support/process.ts"

const commands: ReadonlyArray<ReadonlyArray<string>> = JSON.parse(process.argv[2] ?? "[]")
const ended: Array<Ended> = []
const { stdout, stderr } = process
const write = stdout.write.bind(stdout)
// Each command listens for errors of its output.
stdout.setMaxListeners(0)

for (const words of commands) {
  const texts = { out: "", err: "" }
  const into = (name: keyof typeof texts) => (text: string | Uint8Array) => {
    texts[name] += typeof text === "string" ? text : new TextDecoder().decode(text)
    return true
  }
  stdout.write = into("out")
  stderr.write = into("err")
  await run(words)
  ended.push({ code: Number(process.exitCode), ...texts })
}

process.exitCode = 0
write(JSON.stringify(ended))
