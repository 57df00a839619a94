/**
 * Runs the tests in several processes of `bun test`, and ends the run when it stands still. Arguments go to `bun test`.
 *
 *     bun scripts/test.ts [TEST...]
 *
 * - One PostgreSQL is started before the tests, for all of them (test/support/storage/postgresServer.ts).
 * - The files that take longest start first (test/timings.json). `--update-timings` writes anew how long each takes.
 * - The run fails when nothing is printed for `TEST_SILENCE_S` seconds (600): the script names the files in progress
 *   and ends every process of the run. No time limit of a test covers the top level of a file (oven-sh/bun#14951), and
 *   the runtime may lose the exit notice of a child process (oven-sh/bun#43697).
 *
 * No failed test is run again. See docs/decisions/0056-how-the-suite-runs.md.
 */
import { mkdirSync } from "node:fs"
import { availableParallelism } from "node:os"
import recorded from "../test/support/recordings/recordedTests.json" with { type: "json" }
import { recordingsPresent } from "../test/support/recordings/recordings.ts"
import { startOnce } from "../test/support/storage/postgresServer.ts"
import { isWhole, runTests } from "./testRun.ts"

/** More than there are cores, since most of the files that take long wait. Each has up to 1 GB of memory. */
const processes = Math.min(8, 3 * availableParallelism())

const silenceMs = Number(process.env["TEST_SILENCE_S"] ?? "600") * 1000

const postgres = await startOnce()
const say = (line: string) => process.stderr.write(`${line}\n`)

if (typeof postgres === "string") say(`PostgreSQL did not start, so its tests are skipped: ${postgres}`)

mkdirSync("test-results", { recursive: true })

const run = await runTests(
  [`--parallel=${processes}`, "--no-isolate", "--timings", "test/timings.json", ...process.argv.slice(2)],
  { TEST_POSTGRES: typeof postgres === "string" ? "off" : String(postgres.port) },
  silenceMs,
)
if (run.stoodStill !== undefined) {
  say(`\nThe tests stand still: nothing was printed for ${silenceMs / 1000} s. In hand:`)
  say(run.stoodStill.map((line) => `  ${line}`).join("\n") || "  no file")
} else if (!isWhole(run)) say("The run ended before all tests had run.")
if (!recordingsPresent()) {
  const { tests, cases, countedOn } = recorded
  say(`Skipped for want of recordings: ${tests} tests of ${cases} recorded cases, as counted on ${countedOn}.`)
}
process.exit(run.code)
