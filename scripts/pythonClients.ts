/**
 * Runs clients in Python against a gateway: `bun scripts/pythonClients.ts [CLIENT...]`, by default all of
 * test/clients/python/requirements.json. Needs python3 and PyPI. Prints a table for docs/clients.md, and why cases failed.
 */
import { packages, pythonClients, runPythonClient } from "../test/support/clients/pythonClients.ts"

const wanted = process.argv.slice(2)
const names = ["whole", "streamed", "tools", "structured", "image", "error", "usage"]
let wrong = 0
const say = (line: string) => process.stdout.write(`${line}\n`)
say(`| library | ${names.join(" | ")} |\n|${" --- |".repeat(names.length + 1)}`)
for (const client of wanted.length === 0 ? pythonClients : wanted) {
  const cases = await runPythonClient(client)
  const cell = (name: string): string => {
    const found = cases?.find((one) => one.case === name)
    return found === undefined ? "" : found.passed ? "yes" : "no"
  }
  say(`| \`${packages[client]?.[0]}\` | ${cases === undefined ? "not installed" : names.map(cell).join(" | ")} |`)
  for (const one of cases ?? []) {
    if (one.passed) continue
    wrong += 1
    process.stderr.write(`${client}, ${one.case}: ${one.why}\n`)
  }
}
process.exit(wrong === 0 ? 0 : 1)
