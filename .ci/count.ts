/**
 * Reads a JUnit report and the exit code of the run that made it; closes with `N passed, N failed` and exits with 1 unless
 * everything passed. A file that throws while it loads is left out of the report, so the exit code counts too.
 */
const [report = "", code = "1"] = process.argv.slice(2)

const xml = await Bun.file(report)
  .text()
  .catch(() => "")
const root = /<testsuites\b[^>]*>/.exec(xml)?.[0] ?? ""
const count = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(root)?.[1] ?? 0)

const skipped = count("skipped")
const reported = count("failures") + count("errors")
const passed = count("tests") - reported - skipped
// A check before the tests, or a file that never ran: a failure that no report holds.
const failed = reported === 0 && (code !== "0" || passed <= 0) ? 1 : reported
process.stdout.write(`${skipped} skipped\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 ? 1 : 0)
