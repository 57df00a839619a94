/**
 * Opens a database of PostgreSQL, or reports why not: connects, migrates, and makes the repositories. Loaded only where PostgreSQL is configured.
 */
import { existsSync } from "node:fs"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { parametersFault } from "../../domain/json/postgresUrl.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { Say } from "../../process/withProgress.ts"
import { makeEffectRunner } from "../../services/request/EffectRunner.ts"
import { type Hindrance, Outage } from "../../services/storage/Outage.ts"
import { type DataAtRest, NoCopy } from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { isCausedBy, readOnly, reasonOf, sqlState } from "../failure.ts"
import type { PostgresOpening } from "../opening.ts"
import { withEncodedEntries } from "../repositories/journalRepository.ts"
import { makeLedgerReads } from "../repositories/ledgerRepository.ts"
import { sharedRepositories } from "../repositories/repositories.ts"
import { withEncodedRecords } from "../repositories/requestRepository.ts"
import { StorageNotOpened } from "../StorageNotOpened.ts"
import { withSpool } from "../spool/withSpool.ts"
import { installationId } from "../tables/installation.ts"
import { migrate, migrationsTable, schemaVersion } from "../tables/migrations.ts"
import { query } from "../tables/query.ts"
import { addressOf } from "./postgresAddress.ts"
import { makeAppend } from "./postgresAppend.ts"
import { certificateEnd } from "./postgresCertificate.ts"
import { makeEvents, writeNothing } from "./postgresEvents.ts"
import { makeLeaseRepository } from "./postgresLeases.ts"
import { makeLiveRepository } from "./postgresLive.ts"
import { Unasked, whileMigrating } from "./postgresLock.ts"
import { type Connecting, clientOf, makeSessionName, openPool, type Patience, schema } from "./postgresPool.ts"
import { SessionsDoNotLast } from "./postgresPooler.ts"
import { makeRateShareRepository } from "./postgresRates.ts"
import { triggerFault } from "./postgresSchema.ts"
import { makeSliceRepository } from "./postgresSlices.ts"
import { makeCountRows } from "./postgresSums.ts"

/** Connections at once. Reads are rare, since keys and their spend are in memory, and one batch of rows runs at a time. */
const connections = 8

const defaultPatience: Patience = {
  connectMs: 5000,
  statementMs: 10_000,
  silenceMs: 15_000,
  appendMs: 3000,
}

export const refusal = (address: string, reason: StorageNotOpened["reason"], detail: string) =>
  new StorageNotOpened({ reason, message: `storage: ${address} ${detail}.` })

/** Classes and codes of SQLSTATE. */
const refusals: ReadonlyArray<readonly [state: RegExp, reason: StorageNotOpened["reason"], detail: string]> = [
  [/^28|^3D000|^42501/, "misconfigured", "does not let the gateway in"],
  [new RegExp(`^${readOnly}`), "unwritable", "is read-only"],
  [/^08|^53|^57/, "unreachable", "cannot be reached"],
]

const pooled =
  "is a pooler in transaction mode, which gives each transaction another session of the server, and the gateway needs sessions that last: give it the address of the server itself, or of a pool in session mode"

/** Of the driver, and of a server that asks for it in clear text. */
const lacksPassword = /client password must be a|empty password returned by client/

export const refusalFor = (address: string, error: unknown): StorageNotOpened | undefined => {
  if (error instanceof StorageNotOpened) return error
  if (isCausedBy(error, (cause) => cause instanceof SessionsDoNotLast)) return refusal(address, "misconfigured", pooled)
  const reason = reasonOf(error)
  if (lacksPassword.test(reason)) return refusal(address, "misconfigured", "asks for a password: set PGPASSWORD")
  const state = sqlState(error)
  // What fails without an answer of the server has failed on the way to it.
  if (state === undefined && (error instanceof Unasked || error instanceof SqlError))
    return refusal(address, "unreachable", `cannot be reached: ${reason}`)
  const known = refusals.find(([pattern]) => pattern.test(state ?? ""))
  return known === undefined ? undefined : refusal(address, known[1], `${known[2]}: ${reason}`)
}

/** Checks, before anything is written, that the tables are ours and not newer than this program: their version, 0 without any. */
export const recognise = (address: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [server] = yield* sql<{ readonly server_encoding: string }>`SHOW server_encoding`
    if (server?.server_encoding !== "UTF8")
      return yield* refusal(address, "misconfigured", `has the encoding ${server?.server_encoding}: make it with UTF8`)
    const tables = yield* sql<{ readonly name: string }>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = ${schema}`
    if (tables.length === 0) return 0
    if (!tables.some(({ name }) => name === migrationsTable))
      return yield* refusal(address, "corrupt", `has a schema "${schema}" of another program, which was left as it is`)
    const [last] = yield* sql<{ readonly version: number | null }>`
      SELECT MAX(migration_id) AS version FROM ${sql(migrationsTable)}`
    const version = last?.version ?? 0
    if (version > schemaVersion) {
      const detail = `has schema ${version}, which is newer than this binary (${schemaVersion})`
      return yield* refusal(address, "newer", detail)
    }
    return version
  })

/** Runs the missing steps, one process at a time, on connections without time-outs. */
export const migrateDatabase = (connecting: Connecting, name: string, patience: Patience) =>
  Effect.gen(function* () {
    const pool = yield* openPool(connecting, { ...patience, statementMs: 0, silenceMs: 0 }, { name, max: 2 })
    const steps = Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* recognise(addressOf(connecting.url))
      yield* sql`CREATE SCHEMA IF NOT EXISTS ${sql(schema)}`
      yield* migrate
    })
    const sql = yield* clientOf(pool)
    yield* whileMigrating(pool, Effect.provideService(steps, SqlClient, sql))
  }).pipe(Effect.scoped)

/**
 * Whether steps may be missing. Where none is, a start takes no lock and has time-outs: the migrator's locks wait for every
 * reader of its table, such as a dump of the database. While another process migrates, the question times out.
 */
const mayMissSteps = (address: string) =>
  recognise(address).pipe(
    Effect.map((version) => version < schemaVersion),
    Effect.catchIf(
      (error) => sqlState(error) === queryCanceled,
      () => Effect.succeed(true),
    ),
  )

/** Fails where ledger and audit log are not kept append-only by the triggers of the migrations, or there are others. */
export const expectTriggers = (address: string, sql: SqlClient) =>
  Effect.flatMap(triggerFault(sql), (fault) =>
    fault === undefined ? Effect.void : refusal(address, "altered", `was altered: it ${fault}`),
  )

/** Checks that the session may write, without changing a row. Fails with `readOnly` if it may not. */
const takesWrites = (sql: SqlClient): Effect.Effect<true | Hindrance, StorageUnavailable> =>
  query(sql.unsafe(writeNothing)).pipe(
    Effect.as(true as const),
    Effect.catchIf(
      ({ refusedBy }) => refusedBy === "session",
      ({ reason }) => Effect.succeed({ kind: "away" as const, cause: reason }),
    ),
  )

/** SQLSTATE of a statement that took too long. */
const queryCanceled = "57014"

/** The storage, until the scope closes. `say` is told what is done that may take long. */
export const openDatabase = (
  { spoolFolder, ...connecting }: PostgresOpening,
  patience: Patience = defaultPatience,
  say: Say = () => {},
): Effect.Effect<DataAtRest, StorageNotOpened, Scope.Scope> => {
  const address = addressOf(connecting.url)
  const name = makeSessionName()
  return Effect.gen(function* () {
    const fault = parametersFault(Redacted.value(connecting.url), existsSync)
    if (fault !== undefined) return yield* refusal(address, "misconfigured", `cannot be used: ${fault}`)
    const pool = yield* openPool(connecting, patience, { name, max: connections })
    const sql = yield* clientOf(pool)
    if (yield* Effect.provideService(mayMissSteps(address), SqlClient, sql)) {
      say(`the tables of the database are brought to schema ${schemaVersion}`)
      yield* migrateDatabase(connecting, name, patience)
    }
    yield* expectTriggers(address, sql)
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const countRows = makeCountRows(pool, (cause) =>
      runner.run(logEvent("sums_behind", { because: reasonOf(cause) }), () => {}),
    )
    const installation = yield* Effect.provideService(installationId, SqlClient, sql)
    const { journal, requests, ...shared } = sharedRepositories(sql, installation)
    const where = () => ({ database: address })
    const storage = {
      installation,
      kind: "postgres" as const,
      ...shared,
      where,
      outage: new Outage({ where }),
      certificate: certificateEnd(connecting.url, patience.connectMs),
      copy: new NoCopy({ instead: "is PostgreSQL, which has its own tool: pg_dump --schema=headgate" }),
      journal: withEncodedEntries(journal),
      requests: withEncodedRecords(requests),
      ledger: {
        ...makeLedgerReads(sql),
        append: makeAppend(pool, runner, patience.appendMs, countRows),
        takesRequests: () => takesWrites(sql),
      },
      shared: {
        leases: makeLeaseRepository(sql),
        slices: makeSliceRepository(sql),
        rates: makeRateShareRepository(sql),
        live: makeLiveRepository(sql),
        on: yield* makeEvents(pool),
      },
    }
    if (spoolFolder === undefined) return storage
    const { durability } = connecting
    const spooling = { folder: spoolFolder, installation, durability, patienceMs: patience.appendMs }
    return yield* withSpool(storage, spooling)
  }).pipe(
    // The migrator dies when a step fails.
    Effect.catchAllCause((cause) => {
      const error = Cause.squash(cause)
      const refused = refusalFor(address, error)
      return refused === undefined ? Effect.die(error) : Effect.fail(refused)
    }),
  )
}
