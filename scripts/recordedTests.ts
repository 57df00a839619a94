/**
 * Counts the tests that need recorded traffic (test/support/recordings/recordings.ts), by running the files that use it with and without
 * it, and writes the counts to test/support/recordings/recordedTests.json. `scripts/test.ts` says them where the recordings are missing, since
 * a test of a case that is not there cannot be counted. Run it when such tests were added.
 *
 *     bun scripts/recordedTests.ts
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { recordedIds, recordedRequests } from "../test/support/recordings/recordings.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-recorded-"))

const usesRecordings = (file: string): boolean => {
  const text = readFileSync(file, "utf8")
  return file.endsWith(".test.ts") && /support\/(?:recordings|chatRecordings)\.ts"/.test(text)
}

const files = (await Array.fromAsync(new Bun.Glob("{test,plugins}/**/*.ts").scan("."))).filter(usesRecordings)

/** How many tests ran and passed. */
const passed = async (recordings: "on" | "off"): Promise<number> => {
  const report = join(folder, `${recordings}.xml`)
  const command = [process.execPath, "test", "--timeout", "1800000", "--reporter=junit", `--reporter-outfile=${report}`]
  const env = { ...process.env, TEST_RECORDINGS: recordings }
  const run = Bun.spawn([...command, ...files], { env, stdio: ["ignore", "ignore", "ignore"] })
  if ((await run.exited) !== 0) throw new Error(`The tests fail with recordings ${recordings}.`)
  const root = /<testsuites\b[^>]*>/.exec(readFileSync(report, "utf8"))?.[0] ?? ""
  const count = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(root)?.[1] ?? 0)
  return count("tests") - count("skipped")
}

const tests = (await passed("on")) - (await passed("off"))
rmSync(folder, { recursive: true, force: true })
const cases = recordedIds().length + recordedRequests().length
const counted = { cases, tests, countedOn: new Date().toISOString().slice(0, 10) }
await Bun.write("test/support/recordings/recordedTests.json", `${JSON.stringify(counted)}\n`)
process.stdout.write(`${tests} tests need the ${counted.cases} recorded cases.\n`)
