/**
 * Preloaded by bunfig.toml. Gives the tests of a file that is run alone half an hour each, as `scripts/test.ts` gives
 * all tests: the five seconds of `bun test` are a verdict on how busy the machine is. Notes which test file this
 * process has in hand, for the script that watches the run. The time is that at which the file was seen first.
 */
import { beforeAll, setDefaultTimeout } from "bun:test"
import { writeFileSync } from "node:fs"
import { join, relative } from "node:path"

setDefaultTimeout(1_800_000)

const folder = process.env["TEST_NOTES"]

if (folder !== undefined) {
  let noted = ""
  const note = () => {
    if (Bun.main === noted) return
    noted = Bun.main
    writeFileSync(
      join(folder, String(process.pid)),
      `${relative(process.cwd(), noted)}, since ${new Date().toISOString()}`,
    )
  }
  note()
  beforeAll(note)
  // A file that waits at its top level has no test yet, and `beforeAll` comes after that.
  setInterval(note, 500).unref()
}
