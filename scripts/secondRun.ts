/**
 * Runs the files whose tests failed once more, each alone: a test that goes by the machine's clock may fail beside others, and says nothing
 * of the code then. What is not such a case stays failed. See docs/decisions/0056-how-the-suite-runs.md.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { counted, reportIn, type TestCase, testCases } from "./testReport.ts"
import { isWhole, type TestRun } from "./testRun.ts"

/** Where tests of more files fail, it is not the machine. */
const mostFiles = 5

/** The name of the test that `bun test` adds to a file whose process has ended. */
const crashed = "(worker crashed)"

export interface SecondRun {
  /** The files that failed beside others, and of which all tests passed alone. */
  readonly steadyAlone: ReadonlySet<string>
  /** The tests that failed in those files. */
  readonly unsteady: ReadonlyArray<TestCase>
  /** The files that failed, and did not pass alone, each with why. Empty: no test has failed twice. */
  readonly failed: ReadonlyArray<string>
}

/** Why there is no second run of what failed in this one; `undefined`: there is one. */
export const refusal = (run: TestRun, report: string): string | undefined => {
  const failed = testCases(report).filter(({ outcome }) => outcome === "failed")
  const files = new Set(failed.map(({ file }) => file))
  if (!isWhole(run)) return "the tests ended before they were all run"
  if (failed.some(({ name }) => name.endsWith(crashed))) return "a process of the tests has ended"
  if (/^ *[1-9]\d* errors?$/m.test(run.last)) return "an error came outside of every test"
  const said = Number(/^ *(\d+) fail$/m.exec(run.last)?.[1] ?? 0)
  if (said === 0 || said !== failed.length || said !== counted(report, "failures") + counted(report, "errors"))
    return "the report does not hold every failure"
  return files.size > mostFiles ? `tests of ${files.size} files failed, more than ${mostFiles}` : undefined
}

/** `runAlone`: runs this file in a process of its own, and writes its report there. */
export const runAgain = async (
  report: string,
  runAlone: (file: string, report: string) => Promise<TestRun>,
): Promise<SecondRun> => {
  const first = testCases(report)
  const files = [...new Set(first.filter(({ outcome }) => outcome === "failed").map(({ file }) => file))]
  const folder = mkdtempSync(join(tmpdir(), "headgate-tests-alone-"))
  const steadyAlone = new Set<string>()
  const failed: Array<string> = []
  for (const [at, file] of files.entries()) {
    const path = join(folder, `${at}.xml`)
    const run = await runAlone(file, path)
    const why = notPassed(run, ofFile(first, file), testCases(reportIn(path)))
    if (why === undefined) steadyAlone.add(file)
    else failed.push(`${file}: ${why}`)
  }
  rmSync(folder, { recursive: true, force: true })
  const unsteady = first.filter(({ file, outcome }) => outcome === "failed" && steadyAlone.has(file))
  return { steadyAlone, unsteady, failed }
}

const ofFile = (cases: ReadonlyArray<TestCase>, of: string) => cases.filter(({ file }) => file === of)

/** Why a file has not passed alone. It must have run every test that it ran beside others, and each that failed has passed. */
const notPassed = (
  run: TestRun,
  before: ReadonlyArray<TestCase>,
  alone: ReadonlyArray<TestCase>,
): string | undefined => {
  if (run.stoodStill !== undefined) return "it stood still"
  if (!isWhole(run)) return "it ended before all of its tests were run"
  const failing = alone.filter(({ outcome }) => outcome === "failed").length
  if (failing > 0) return `${failing} failed alone as well`
  if (run.code !== 0) return `it ended with ${run.code}`
  const ran = (cases: ReadonlyArray<TestCase>) => cases.filter(({ outcome }) => outcome !== "skipped")
  const [earlier, now] = [ran(before), ran(alone)]
  if (now.length < earlier.length) return `${now.length} of its ${earlier.length} tests ran`
  const passed = new Set(now.map(({ name }) => name))
  const missing = earlier.find(({ outcome, name }) => outcome === "failed" && !passed.has(name))
  return missing === undefined ? undefined : `"${missing.name}" did not run`
}
