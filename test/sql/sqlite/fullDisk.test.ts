/** The ledger on a full disk, and the reserved space. docs/guarantees.md#g22 */

import { Database } from "bun:sqlite"
import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { storageOf } from "../../../src/sql/repositories/repositories.ts"
import { makeBallast } from "../../../src/sql/sqlite/Ballast.ts"
import { openTables } from "../../../src/sql/sqlite/openTables.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { alice, sampleRow } from "../samples.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-full-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** A database that may not grow. `spare`: pages that the release of the ballast frees, 0 for none. */
const fullDatabase = async (spare: number) => {
  const db = new Database(":memory:")
  let pages = 0
  let isThere = true
  const ballast = {
    release: () => {
      if (!isThere || spare === 0) return false
      isThere = false
      db.run(`PRAGMA max_page_count = ${pages + spare}`)
      return true
    },
    isThere: () => isThere,
  }
  const { installation, repositories } = await Effect.runPromise(
    Effect.provideServiceEffect(openTables(db, ballast), SqlClient, makeClient(db)),
  )
  pages = db.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0
  db.run(`PRAGMA max_page_count = ${pages}`)
  return storageOf(installation, repositories)
}

const many = (prefix: string) => Array.from({ length: 40 }, (_, at) => sampleRow(`${prefix}${at}`, { cost: 1n }))

test("on a full disk the ballast lets a batch be booked, and says that no new requests should start", async () => {
  const { ledger } = await fullDatabase(20)
  expect(await Effect.runPromise(ledger.takesRequests())).toBe(true)
  await Effect.runPromise(ledger.append(many("r")))
  expect(await Effect.runPromise(ledger.takesRequests())).toMatchObject({ kind: "full" })
  expect(await Effect.runPromise(ledger.rows(alice, 99))).toHaveLength(40)
  expect((await Effect.runPromise(ledger.spend(alice, 0))).total).toBe(40n)
})

test.each([
  ["no ballast", 0],
  ["a ballast that is too small", 1],
])("%s: nothing of the batch is booked, and it can be tried again", async (_name, spare) => {
  const { ledger } = await fullDatabase(spare)
  const failure = await Effect.runPromise(Effect.flip(ledger.append(many("r"))))
  expect(failure).toMatchObject({ _tag: "StorageUnavailable", refused: false })
  expect(await Effect.runPromise(ledger.rows(alice, 99))).toEqual([])
  expect((await Effect.runPromise(ledger.spend(alice, 0))).total).toBe(0n)
})

test("the ballast takes 16 MiB beside the database, until it is released", () => {
  const path = join(folder, "headgate.db")
  const file = `${path}.ballast`
  const ballast = makeBallast(path)
  const { size, blocks } = statSync(file)
  expect([size, blocks * 512 >= size]).toEqual([16 * 1024 * 1024, true])
  expect(ballast.isThere()).toBe(true)
  expect([ballast.release(), ballast.release()]).toEqual([true, false])
  expect(ballast.isThere()).toBe(false)
  expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined()
})
