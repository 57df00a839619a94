/** Sums by hour while the disk is full: the space that is kept for requests in flight is left to them. docs/guarantees.md#g22 */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { ledger } from "../../../src/sql/repositories/ledgerRepository.ts"
import { openTables } from "../../../src/sql/sqlite/openTables.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { sampleRow } from "../samples.ts"

test("no sums are added or removed while the reserved space is in use, and all are afterwards", async () => {
  const db = new Database(":memory:")
  let isFull = false
  const ballast = { release: () => true, isThere: () => !isFull }
  const opening = openTables(db, ballast)
  const { repositories } = await Effect.runPromise(Effect.provideServiceEffect(opening, SqlClient, makeClient(db)))
  const now = sampleRow("r").settledAt
  const rows = Array.from({ length: 5000 }, (_, n) => sampleRow(`r${n}`))
  await Effect.runPromise(repositories.ledger.append(JSON.stringify(rows.map(ledger.valuesOf))))
  const summed = () => db.query("SELECT SUM(requests) AS n FROM hourly_sums WHERE kind = 'all'").get()
  const addUp = () => Effect.runPromise(Effect.repeat(repositories.analytics.addUp(now), { while: (isMore) => isMore }))
  isFull = true
  await addUp()
  expect(await Effect.runPromise(repositories.analytics.prune(now, 100))).toBe(false)
  expect(summed()).toEqual({ n: null })
  isFull = false
  await addUp()
  expect(summed()).toEqual({ n: 4096 })
})
