/** A red test is red: nothing runs twice (scripts/test.ts), and the build counts it (.ci/count.ts). docs/decisions/0056 */
import { afterEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dir, "../..")

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const passes = `import { expect, test } from "bun:test"\ntest("passes", () => {})\n`
/** Passes when it runs for the second time. */
const failsOnce = `import { expect, test } from "bun:test"
import { existsSync, writeFileSync } from "node:fs"
const mark = import.meta.path + ".ran"
const isFirst = !existsSync(mark)
writeFileSync(mark, "")
test("by the clock", () => expect(isFirst).toBe(false))
`

/** Runs test files with these texts, and counts. */
const runOf = async (files: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-red-"))
  folders.push(folder)
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.ts`)
    writeFileSync(path, text)
    return path
  })
  const report = join(folder, "junit.xml")
  const run = Bun.spawn(
    [process.execPath, "scripts/test.ts", "--reporter=junit", `--reporter-outfile=${report}`, ...paths],
    { cwd: root, env: { ...process.env, TEST_POSTGRES: "off" }, stdio: ["ignore", "ignore", "ignore"] },
  )
  const code = await run.exited
  const count = Bun.spawn([process.execPath, ".ci/count.ts", report, String(code)], { cwd: root, stdout: "pipe" })
  const lines = (await count.stdout.text()).trim().split("\n")
  return { code, lines, countCode: await count.exited }
}

test("a test that would pass alone, or the second time, has failed", async () => {
  const { code, lines, countCode } = await runOf({ once: failsOnce, other: passes })
  expect([code, countCode, lines]).toEqual([1, 1, ["0 skipped", "1 passed, 1 failed"]])
})

test("what has passed is counted", async () => {
  const { code, lines, countCode } = await runOf({ one: passes, other: `${passes}test.skip("later", () => {})\n` })
  expect([code, countCode, lines]).toEqual([0, 0, ["1 skipped", "2 passed, 0 failed"]])
})

test.each([
  ["was killed", `test("ends", () => process.kill(process.pid, "SIGKILL"))`],
  ["has ended", `test("ends", () => process.exit(0))`],
  ["had a fault", `test("ends", () => process.kill(process.pid, "SIGSEGV"))`],
  ["threw outside of every test", `throw new Error("thrown")`],
])("a file whose process %s has failed, whatever the report says", async (_, dies) => {
  const { code, countCode } = await runOf({ dies: passes + dies, other: passes })
  expect([code === 0, countCode]).toEqual([false, 1])
})
