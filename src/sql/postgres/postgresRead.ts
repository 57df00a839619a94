/** Opens a database of PostgreSQL to read it, also while a gateway uses it. Loaded only where PostgreSQL is configured. */
import { SqlClient } from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import type { StorageNotOpened } from "../StorageNotOpened.ts"
import { schemaVersion } from "../tables/migrations.ts"
import { addressOf } from "./postgresAddress.ts"
import { expectTriggers, recognise, refusal, refusalFor } from "./postgresDatabase.ts"
import { clientOf, makeSessionName, openPool, type Patience } from "./postgresPool.ts"

/** Reading a long ledger takes as long as it takes. */
const patience: Patience = { connectMs: 5000, statementMs: 0, silenceMs: 0, appendMs: 0 }

/** The tables are those of this version; no others are read. */
const ofThisVersion = (address: string) =>
  Effect.flatMap(recognise(address), (version) => {
    if (version === schemaVersion) return Effect.void
    if (version === 0) return refusal(address, "unreadable", "has no tables of Headgate")
    const older = `has schema ${version}, which is older than this binary (${schemaVersion}); a start of the gateway updates it`
    return refusal(address, "older", older)
  })

/** Reads the database as it is at one moment, in one transaction that may not write. */
export const readDatabase = <A>(
  url: Redacted.Redacted,
  read: (sql: SqlClient) => Effect.Effect<A, StorageUnavailable>,
): Effect.Effect<A, StorageNotOpened | StorageUnavailable> => {
  const address = addressOf(url)
  const reading = Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`
    yield* ofThisVersion(address)
    yield* expectTriggers(address, sql)
    return yield* read(sql)
  })
  return Effect.gen(function* () {
    const pool = yield* openPool({ url, durability: "process" }, patience, { name: makeSessionName(), max: 1 })
    const sql = yield* clientOf(pool)
    return yield* Effect.provideService(sql.withTransaction(reading), SqlClient, sql)
  }).pipe(
    Effect.scoped,
    Effect.catchAllCause((cause): Effect.Effect<never, StorageNotOpened | StorageUnavailable> => {
      const error = Cause.squash(cause)
      if (error instanceof StorageUnavailable) return Effect.fail(error)
      const refused = refusalFor(address, error)
      return refused === undefined ? Effect.die(error) : Effect.fail(refused)
    }),
  )
}
