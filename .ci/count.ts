/**
 * Reads a JUnit report and the exit code of the run that made it; closes with `N passed, N failed` and exits with 1 unless
 * everything passed. A file that throws while it loads is left out of the report, so the exit code counts too.
 * Tests that failed beside other files and passed alone are in the report as passed, and are named in a line of their own.
 */
import { counted, reportIn, testCases } from "../scripts/testReport.ts"

const [report = "", code = "1"] = process.argv.slice(2)

const xml = reportIn(report)
const skipped = counted(xml, "skipped")
const reported = counted(xml, "failures") + counted(xml, "errors")
const passed = counted(xml, "tests") - reported - skipped
// A check before the tests, or a file that never ran: a failure that no report holds.
const failed = reported === 0 && (code !== "0" || passed <= 0) ? 1 : reported
process.stdout.write(`${skipped} skipped\n`)
const unsteady = testCases(xml).filter(({ isUnsteady }) => isUnsteady)
if (unsteady.length > 0) {
  const named = unsteady.map(({ file, name }) => `${file}: ${name}`).join("; ")
  process.stdout.write(`${unsteady.length} unsteady (failed beside other files, passed alone): ${named}\n`)
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 ? 1 : 0)
