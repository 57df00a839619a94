/** What may be opened outside SQLite. docs/guarantees.md#g38 */
import { Database } from "bun:sqlite"
import { afterAll, expect, test } from "bun:test"
import { existsSync, linkSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { copyClosed, openClosed, syncClosed } from "../../../src/sql/files/closedFile.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-closed-"))
afterAll(() => rmSync(folder, { recursive: true }))

test.skipIf(!existsSync("/proc/self/fd"))(
  "a file that SQLite has open in this process is not opened beside it, by whatever name; once it is closed it is",
  async () => {
    const path = join(folder, "a.db")
    const other = join(folder, "b.db")
    const db = new Database(path)
    db.run("CREATE TABLE t (a)")
    linkSync(path, other)
    for (const name of [path, other]) {
      await expect(openClosed(name)).rejects.toThrow("is open in this process")
      expect(() => syncClosed(name)).toThrow("is open in this process")
      expect(() => copyClosed(name, join(folder, "c.db"))).toThrow("is open in this process")
    }
    db.close()
    await (await openClosed(path)).close()
    syncClosed(path)
    copyClosed(path, join(folder, "c.db"))
    syncClosed(folder)
  },
)
