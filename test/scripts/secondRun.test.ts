/** What failed beside other files runs once more, alone (scripts/test.ts), and what the build counts then (.ci/count.ts). docs/decisions/0056 */
import { afterEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { counted, testCases, withUnsteady } from "../../scripts/testReport.ts"

const root = resolve(import.meta.dir, "../..")

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const start = `import { expect, test } from "bun:test"
import { existsSync, writeFileSync } from "node:fs"
const mark = import.meta.path + ".ran"
const isFirst = !existsSync(mark)
writeFileSync(mark, "")
`
const passes = 'test("passes", () => {})\n'
const failsOnce = `${start}test("by the clock", () => expect(isFirst).toBe(false))\n${passes}`

/** Runs test files with these texts, and counts. */
const runOf = async (files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-second-run-"))
  folders.push(folder)
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.ts`)
    writeFileSync(path, text)
    return path
  })
  const report = join(folder, "junit.xml")
  const run = Bun.spawn(
    [process.execPath, "scripts/test.ts", "--reporter=junit", `--reporter-outfile=${report}`, ...paths],
    {
      cwd: root,
      env: { ...process.env, TEST_POSTGRES: "off", TEST_SILENCE_S: "60", TEST_RETRY: "on", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
  const [out, err] = await Promise.all([run.stdout.text(), run.stderr.text()])
  const code = await run.exited
  const count = Bun.spawn([process.execPath, ".ci/count.ts", report, String(code)], { cwd: root, stdout: "pipe" })
  const lines = (await count.stdout.text()).trim().split("\n")
  return { code, text: Bun.stripANSI(out + err), lines, countCode: await count.exited }
}

describe("a test that failed beside others", () => {
  test("and passes alone is unsteady: it counts as passed, and is named", async () => {
    const { code, text, lines, countCode } = await runOf({ once: failsOnce, other: passes })
    expect(text).toContain("1 unsteady: failed beside other files, and passed when their file ran alone")
    expect(text).toMatch(/^ {2}\S*once\.test\.ts: by the clock$/m)
    expect([code, countCode]).toEqual([0, 0])
    expect(lines).toEqual([
      "0 skipped",
      expect.stringMatching(
        /^1 unsteady \(failed beside other files, passed alone\): \S*once\.test\.ts: by the clock$/,
      ),
      "3 passed, 0 failed",
    ])
  })

  test("and fails alone has failed, also where another file is unsteady", async () => {
    const fails = `import { expect, test } from "bun:test"\ntest("never", () => expect(1).toBe(2))\n`
    const { code, text, lines, countCode } = await runOf({ once: failsOnce, fails })
    expect(text).toMatch(/^Not passed alone: \S*fails\.test\.ts: 1 failed alone as well$/m)
    expect([code, countCode]).toEqual([1, 1])
    expect(lines.at(-2)).toStartWith("1 unsteady ")
    expect(lines.at(-1)).toBe("2 passed, 1 failed")
  })

  const inTurn = (first: string, then: string) => `${start}if (isFirst) {\n${first}\n} else {\n${then}\n}\n`
  const failing = 'test("fails", () => expect(1).toBe(2))'
  test.each([
    ["whose file has fewer tests alone", inTurn(`${failing}\n${passes}`, passes), "1 of its 2 tests ran"],
    ["that is not there alone", inTurn(failing, passes), '"fails" did not run'],
    ["that is skipped alone", inTurn(failing, 'test.skip("fails", () => {})'), "0 of its 1 tests ran"],
    [
      "while another one of its file fails alone",
      inTurn(`${failing}\n${passes}`, 'test("fails", () => {})\ntest("passes", () => expect(1).toBe(2))'),
      "1 failed alone as well",
    ],
    [
      "whose process ends alone",
      inTurn(failing, 'test("fails", () => process.exit(0))'),
      "it ended before all of its tests were run",
    ],
    [
      "whose file throws alone behind its tests",
      inTurn(failing, 'test("fails", () => {})\nthrow new Error("thrown")'),
      expect.anything(),
    ],
  ])("%s has failed", async (_, text, why) => {
    const { code, text: said, lines, countCode } = await runOf({ odd: text, other: passes })
    const line = /^Not passed alone: \S*odd\.test\.ts: (.*)$/m.exec(said)?.[1]
    expect(line).toEqual(why)
    expect([code, countCode]).toEqual([1, 1])
    expect(lines.slice(1)).toEqual([expect.stringMatching(/^\d passed, 1 failed$/)])
  })
})

describe("there is no second run", () => {
  const ends = (how: string) => `${start}test("ends", () => { if (isFirst) ${how} })\n`
  const notRun = /What failed is not run once more|The tests ended before they were all run/

  test.each([
    ["was killed", ends('process.kill(process.pid, "SIGKILL")')],
    ["has ended", ends("process.exit(0)")],
    ["had a fault", ends('process.kill(process.pid, "SIGSEGV")')],
  ])("after a process of the tests %s", async (_, dies) => {
    const { code, text, countCode } = await runOf({ dies, once: failsOnce, other: passes })
    expect(text).toMatch(notRun)
    expect(text).not.toContain("unsteady")
    expect(code).not.toBe(0)
    expect(countCode).toBe(1)
  })

  test("after an error outside of every test", async () => {
    const throws = `${start}if (isFirst) throw new Error("thrown")\n${passes}`
    const { code, text, countCode } = await runOf({ throws, once: failsOnce })
    expect(text).toMatch(notRun)
    expect([code === 0, countCode]).toEqual([false, 1])
  })

  test("of more than five files", async () => {
    const files = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, failsOnce]))
    const { code, text, lines, countCode } = await runOf(files)
    expect(text).toContain("What failed is not run once more: tests of 6 files failed, more than 5.")
    expect([code, countCode, lines]).toEqual([1, 1, ["0 skipped", "6 passed, 6 failed"]])
  })

  test("with TEST_RETRY=off", async () => {
    const { code, text, lines, countCode } = await runOf({ once: failsOnce, other: passes }, { TEST_RETRY: "off" })
    expect(text).not.toContain("once more")
    expect([code, countCode, lines]).toEqual([1, 1, ["0 skipped", "2 passed, 1 failed"]])
  })
})

test.skipIf(process.platform !== "linux")(
  "a second run that stands still is a failure, and does not let the whole run be tried again",
  async () => {
    const stops = `${start}test("stops", () => { if (!isFirst) process.kill(process.pid, "SIGSTOP"); expect(isFirst).toBe(false) })\n`
    const { code, text, countCode } = await runOf({ stops, other: passes }, { TEST_SILENCE_S: "20" })
    expect(text).toMatch(/^Not passed alone: \S*stops\.test\.ts: it stood still$/m)
    expect([code, countCode]).toEqual([1, 1])
  },
)

test("only the failures of the files that passed alone are taken out of a report, and out of every count above them", () => {
  const failure = '<failure type="AssertionError" message="a &lt; b" />'
  const xml = `<?xml version="1.0"?>
<testsuites name="bun test" tests="4" assertions="4" failures="3" skipped="0">
  <testsuite name="a" file="a.ts" tests="3" failures="2">
    <testsuite name="block" file="a.ts" tests="2" failures="2">
      <testcase name="&quot;x&quot;" classname="block" file="a.ts">${failure}</testcase>
      <testcase name="y" classname="block" file="a.ts"><failure type="Error">text</failure></testcase>
    </testsuite>
    <testcase name="z" file="a.ts" />
  </testsuite>
  <testsuite name="b" file="b.ts" tests="1" failures="1">
    <testcase name="w" file="b.ts">${failure}</testcase>
  </testsuite>
</testsuites>`
  const changed = withUnsteady(xml, new Set(["a.ts"]))
  expect(counted(changed, "failures")).toBe(1)
  expect(Array.from(changed.matchAll(/ failures="(\d)"/g), ([, count]) => count)).toEqual(["1", "0", "0", "1"])
  expect(testCases(changed).map(({ name, outcome, isUnsteady }) => [name, outcome, isUnsteady])).toEqual([
    ['block > "x"', "passed", true],
    ["block > y", "passed", true],
    ["z", "passed", false],
    ["w", "failed", false],
  ])
  expect(withUnsteady(xml, new Set())).toBe(xml)
})
