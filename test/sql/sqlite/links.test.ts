/** Symbolic links that somebody has put in the place of files which the gateway makes beside its database. */
import { Database } from "bun:sqlite"
import { afterAll, expect, test } from "bun:test"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { Spool } from "../../../src/sql/spool/Spool.ts"
import { makeBallast } from "../../../src/sql/sqlite/Ballast.ts"
import { makeDatabaseCopies } from "../../../src/sql/sqlite/databaseCopy.ts"
import { sampleRow } from "../samples.ts"
import { openInProcess } from "./openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-links-"))
afterAll(() => rmSync(folder, { recursive: true }))

let made = 0
/** A folder with a file of somebody else, and a link to it with this name. */
const linked = (name: string, content = "theirs") => {
  const own = join(folder, `${made++}`)
  mkdirSync(own)
  const target = join(own, "target")
  writeFileSync(target, content)
  symlinkSync(target, join(own, name))
  return { own, target, path: join(own, "headgate.db"), untouched: () => readFileSync(target, "utf8") === content }
}

const start = (path: string) =>
  Effect.runPromise(
    Effect.either(
      Effect.provide(
        Effect.flatMap(Storage, ({ ledger }) => ledger.append([sampleRow("r1")])),
        openInProcess({ path, durability: "process" }),
      ),
    ),
  )

test("the reserved space was written through a link: the link is replaced, and its target stays as it was", () => {
  const { path, untouched } = linked("headgate.db.ballast")
  const ballast = makeBallast(path)
  expect(untouched()).toBe(true)
  expect(lstatSync(`${path}.ballast`).isFile()).toBe(true)
  expect(ballast.release()).toBe(true)
  expect(untouched()).toBe(true)
})

test("a link in the place of the lock is refused: SQLite would write into its target", async () => {
  const { path, untouched } = linked("headgate.db.lock", "")
  expect(await start(path)).toMatchObject({
    left: { reason: "unwritable", message: expect.stringContaining(`${path}.lock is a symbolic link: remove it`) },
  })
  expect([untouched(), existsSync(path)]).toEqual([true, false])
})

test.each(["headgate.db-wal", "headgate.db-shm"])("a link in the place of %s is not written through", async (name) => {
  const { path, untouched } = linked(name)
  await start(path)
  expect(untouched()).toBe(true)
})

test("copies are not written through links", async () => {
  const { path, untouched } = linked("headgate.db.backup")
  await start(path)
  const { content } = await Effect.runPromise(makeDatabaseCopies(path))
  await new Response(content).arrayBuffer()
  expect(untouched()).toBe(true)
})

test("a link that is named like a spool is left alone: its target got a table", () => {
  const { own, target } = linked("unused")
  rmSync(target)
  const theirs = new Database(target)
  theirs.run("CREATE TABLE theirs (a)")
  theirs.close()
  const link = join(own, "spool-one-x.db")
  symlinkSync(target, link)
  const spool = new Spool({ folder: own, installation: "one", durability: "process" }, () => {})
  spool.adopt()
  spool.close()
  const tables = new Database(target, { readonly: true }).query("SELECT name FROM sqlite_schema").all()
  expect([tables, existsSync(link)]).toEqual([[{ name: "theirs" }], true])
})
