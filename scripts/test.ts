/**
 * Runs the tests in several processes of `bun test`, and ends the run when it stands still. Arguments go to `bun test`.
 *
 *     bun scripts/test.ts [TEST...]
 *
 * - One PostgreSQL is started before the tests, for all of them (test/support/storage/postgresServer.ts).
 * - The files that take longest start first (test/timings.json). `--update-timings` writes anew how long each takes.
 * - When nothing was printed for `TEST_SILENCE_S` seconds (180), the files that were in hand are named, every process
 *   of the run is ended, and the exit code is 75. The runtime may lose the exit notice of a child process
 *   (oven-sh/bun#43697), and no time limit of a test covers the top level of a file (oven-sh/bun#14951).
 * - When tests of five files or fewer failed, those files run once more, each alone (secondRun.ts). Where all of them pass then, the exit
 *   code is 0, and the tests that failed are named as unsteady, here and in the report. Never after a process of the run has died.
 *   `TEST_RETRY=off`: there is no second run. Neither is there one with other options of `bun test` than `--reporter`.
 *
 * See docs/decisions/0056-how-the-suite-runs.md.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import recorded from "../test/support/recordings/recordedTests.json" with { type: "json" }
import { recordingsPresent } from "../test/support/recordings/recordings.ts"
import { startOnce } from "../test/support/storage/postgresServer.ts"
import { refusal, runAgain } from "./secondRun.ts"
import { reportIn, withUnsteady } from "./testReport.ts"
import { isWhole, runTests } from "./testRun.ts"

/** `EX_TEMPFAIL`: the run stood still, and says nothing of the tests. */
const stoodStill = 75

/** More than there are cores, since most of the files that take long wait. Each has up to 1 GB of memory. */
const processes = Math.min(8, 3 * availableParallelism())

const silenceMs = Number(process.env["TEST_SILENCE_S"] ?? "180") * 1000

const postgres = await startOnce()
const say = (line: string) => process.stderr.write(`${line}\n`)

if (typeof postgres === "string") say(`PostgreSQL did not start, so its tests are skipped: ${postgres}`)

const folder = mkdtempSync(join(tmpdir(), "headgate-report-"))
mkdirSync("test-results", { recursive: true })

const words = process.argv.slice(2)
const outfile = "--reporter-outfile="
const asked = words.find((word) => word.startsWith(outfile))?.slice(outfile.length)
const report = asked ?? join(folder, "junit.xml")
const reporting = (path: string) => ["--reporter=junit", `${outfile}${path}`]
const env = { TEST_POSTGRES: typeof postgres === "string" ? "off" : String(postgres.port) }

const run = await runTests(
  [
    ...[`--parallel=${processes}`, "--no-isolate", "--timings", "test/timings.json"],
    ...(asked === undefined ? reporting(report) : []),
    ...words,
  ],
  env,
  silenceMs,
)
if (run.stoodStill !== undefined) {
  say(`\nThe tests stand still: nothing was printed for ${silenceMs / 1000} s. In hand:`)
  say(run.stoodStill.map((line) => `  ${line}`).join("\n") || "  no file")
  rmSync(folder, { recursive: true, force: true })
  process.exit(stoodStill)
}
if (!isWhole(run)) say("The tests ended before they were all run.")

const ourOptions = /^--(?:reporter|reporter-outfile|update-timings)\b/
const isRepeated =
  process.env["TEST_RETRY"] !== "off" && words.every((word) => !word.startsWith("-") || ourOptions.test(word))

/** The exit code after a second run of what failed, which is told. */
const secondRun = async (): Promise<number> => {
  const xml = reportIn(report)
  const why = refusal(run, xml)
  if (why !== undefined) {
    say(`\nWhat failed is not run once more: ${why}.`)
    return run.code
  }
  say("\nThe files that failed run once more, each alone.")
  const { steadyAlone, unsteady, failed } = await runAgain(xml, (file, path) =>
    runTests([...reporting(path), resolve(file)], env, silenceMs),
  )
  if (unsteady.length > 0) writeFileSync(report, withUnsteady(xml, steadyAlone))
  say(`\n${unsteady.length} unsteady: failed beside other files, and passed when their file ran alone`)
  for (const { file, name } of unsteady) say(`  ${file}: ${name}`)
  for (const line of failed) say(`Not passed alone: ${line}`)
  return failed.length === 0 ? 0 : run.code
}

const code = run.code !== 0 && isRepeated ? await secondRun() : run.code
rmSync(folder, { recursive: true, force: true })
if (!recordingsPresent()) {
  const { tests, cases, countedOn } = recorded
  say(`Skipped for want of recordings: ${tests} tests of ${cases} recorded cases, as counted on ${countedOn}.`)
}
process.exit(code)
