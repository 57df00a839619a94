/**
 * Reads a JUnit report and the exit code of the run that made it; closes with `N passed, N failed` and exits with 1 unless
 * everything passed. A file that throws while it loads is left out of the report, so the exit code counts too.
 */
import { existsSync, readFileSync } from "node:fs"

const [report = "", code = "1"] = process.argv.slice(2)

/** The first tag of the report, which has the counts; "" where no report was written. */
const root = existsSync(report) ? (/<testsuites\b[^>]*>/.exec(readFileSync(report, "utf8"))?.[0] ?? "") : ""
const counted = (name: string): number => Number(new RegExp(`\\s${name}="(\\d+)"`).exec(root)?.[1] ?? 0)

const skipped = counted("skipped")
const reported = counted("failures") + counted("errors")
const passed = counted("tests") - reported - skipped
// A check before the tests, or a file that never ran: a failure that no report holds.
const failed = reported === 0 && (code !== "0" || passed <= 0) ? 1 : reported
process.stdout.write(`${skipped} skipped\n`)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 ? 1 : 0)
