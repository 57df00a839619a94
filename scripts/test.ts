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
 *
 * See docs/decisions/0056-how-the-suite-runs.md.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import recorded from "../test/support/recordings/recordedTests.json" with { type: "json" }
import { recordingsPresent } from "../test/support/recordings/recordings.ts"
import { startOnce } from "../test/support/storage/postgresServer.ts"
import { signal, treeOf } from "./processTree.ts"

/** `EX_TEMPFAIL`: the run stood still, and says nothing of the tests. */
const stoodStill = 75

/** More than there are cores, since most of the files that take long wait. Each has up to 1 GB of memory. */
const processes = Math.min(8, 2 * availableParallelism())

const silenceMs = Number(process.env["TEST_SILENCE_S"] ?? "180") * 1000

const postgres = await startOnce()
const say = (line: string) => process.stderr.write(`${line}\n`)

if (typeof postgres === "string") say(`PostgreSQL did not start, so its tests are skipped: ${postgres}`)

/** `test/support/clocks/testFile.ts` notes here which file each process has in hand. */
const notes = mkdtempSync(join(tmpdir(), "headgate-tests-"))
mkdirSync("test-results", { recursive: true })

const run = Bun.spawn(
  [
    ...[process.execPath, "test", `--parallel=${processes}`, "--no-isolate", "--timeout", "120000"],
    ...["--timings", "test/timings.json", ...process.argv.slice(2)],
  ],
  {
    env: {
      ...process.env,
      ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
      TEST_POSTGRES: typeof postgres === "string" ? "off" : String(postgres.port),
      TEST_NOTES: notes,
    },
    stdio: ["ignore", "pipe", "pipe"],
  },
)
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => run.kill(name))

let lastOutput = performance.now()

/** Passes on what is written, and returns the last of it. */
const pass = async (from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<string> => {
  let last = ""
  for await (const bytes of from) {
    lastOutput = performance.now()
    to.write(bytes)
    last = (last + new TextDecoder().decode(bytes)).slice(-500)
  }
  return Bun.stripANSI(last)
}

const filesInHand = (): ReadonlyArray<string> =>
  readdirSync(notes).map((pid) => `  ${readFileSync(join(notes, pid), "utf8")} (process ${pid})`)

const watch = setInterval(() => {
  if (performance.now() - lastOutput < silenceMs) return
  clearInterval(watch)
  say(`\nThe tests stand still: nothing was printed for ${silenceMs / 1000} s. In hand:`)
  say(filesInHand().join("\n") || "  no file")
  for (const pid of treeOf(run.pid).toReversed()) signal(pid, "SIGKILL")
  rmSync(notes, { recursive: true, force: true })
  process.exit(stoodStill)
}, 1000)

const [, last] = await Promise.all([pass(run.stdout, process.stdout), pass(run.stderr, process.stderr)])
// A single file runs in the process of `bun test` itself: one that ends the process ends with the code that it gives.
const isWhole = /^Ran \d+ tests? across /m.test(last)
if (!isWhole) say("The tests ended before they were all run.")
const code = (await run.exited) || (isWhole ? 0 : 1)
clearInterval(watch)
rmSync(notes, { recursive: true, force: true })
if (!recordingsPresent()) {
  const { tests, cases, countedOn } = recorded
  say(`Skipped for want of recordings: ${tests} tests of ${cases} recorded cases, as counted on ${countedOn}.`)
}
process.exit(code)
