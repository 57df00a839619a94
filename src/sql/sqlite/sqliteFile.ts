/**
 * Opens the database file, or reports why not. A file of another program is not changed.
 *
 * One gateway per file: the gateway holds the write lock of a second database beside it, `<file>.lock`, while it runs.
 * The kernel releases the lock however the process ends. A file with a process id would not be safe, since in
 * containers every gateway has the same one. SQLite's own exclusive mode would also shut out readers, such as backups
 * and `sqlite3`.
 */
import { Database, type DatabaseOptions } from "bun:sqlite"
import { existsSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Say } from "../../process/withProgress.ts"
import { sqliteCode } from "../failure.ts"
import { isLink, LinkInPlace, makePrivateFile, makePrivateFolder } from "../files/privateFile.ts"
import type { SqliteOpening } from "../opening.ts"
import { migrationsTable, schemaVersion } from "../tables/migrations.ts"
import { makeBallast } from "./Ballast.ts"
import { removeUnfinished } from "./databaseCopy.ts"
import { watchFile } from "./fileWatch.ts"
import { type OpenTables, openTables } from "./openTables.ts"
import { makeClient } from "./sqliteClient.ts"
import { schemaFault } from "./sqliteSchema.ts"
import { busyTimeoutMs } from "./writeLock.ts"

export interface Refusal {
  readonly reason: "in-use" | "unwritable" | "corrupt" | "altered" | "newer" | "older" | "unreadable"
  readonly message: string
}

export class Refused extends Data.TaggedError("Refused")<Refusal> {}

/** "hdgt": tells our files from those of other programs. */
export const applicationId = 0x68646774

/** Milliseconds to wait for the gateway's own lock. If it is held longer, another gateway is running. */
const lockTimeoutMs = 250

export const refused = (reason: Refusal["reason"], path: string, detail: string): Refused => {
  switch (reason) {
    case "in-use":
      return new Refused({ reason, message: `${path} is already in use by ${detail}.` })
    case "unwritable":
      return new Refused({ reason, message: `${path} cannot be opened for writing: ${detail}.` })
    case "corrupt":
      return new Refused({
        reason,
        message: `${path} is damaged or no Headgate database: ${detail}. It was left as it is: restore a backup, or try "sqlite3 ${path} .recover" on a copy.`,
      })
    case "altered":
      return new Refused({
        reason,
        message: `${path} was altered: ${detail}. It was left as it is: undo that with sqlite3, or restore a backup.`,
      })
    case "unreadable":
      return new Refused({ reason, message: `${path} cannot be read: ${detail}.` })
    case "newer":
    case "older":
      return new Refused({ reason, message: `${path}: ${detail}.` })
  }
}

const reasons: ReadonlyArray<readonly [code: string, reason: Refusal["reason"], detail: string]> = [
  ["SQLITE_NOTADB", "corrupt", "it is not a database"],
  ["SQLITE_CORRUPT", "corrupt", "its contents do not hold together"],
  ["SQLITE_BUSY", "in-use", "another program, which has it locked"],
  ["SQLITE_CANTOPEN", "unwritable", "the path is no file, or may not be opened"],
  ["SQLITE_READONLY", "unwritable", "it is read-only"],
  ["SQLITE_PERM", "unwritable", "permission denied"],
  ["SQLITE_IOERR", "unwritable", "the disk answers with an error"],
  ["SQLITE_FULL", "unwritable", "the disk is full"],
]

export const refusalFor = (path: string, error: unknown): Refused | undefined => {
  if (error instanceof Refused) return error
  const code = sqliteCode(error)
  const known = reasons.find(([prefix]) => code?.startsWith(prefix))
  return known === undefined ? undefined : refused(known[1], path, known[2])
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

const makeFolder = (path: string): void => {
  try {
    makePrivateFolder(dirname(path))
  } catch (error) {
    throw refused("unwritable", path, error instanceof Error ? error.message : "its folder cannot be made")
  }
}

const expectDatabase = (path: string): void => {
  // SQLite would take an empty file (or one of a single byte) for a new database and delete the journal.
  if (sizeOf(path) <= 1 && sizeOf(`${path}-wal`) > 0) {
    throw refused("corrupt", path, "it is gone or empty, but its journal is there")
  }
}

/** Writes the holder, commits, and takes the lock again: others can only read a committed holder. */
const takeLock = (path: string): Database => {
  try {
    makePrivateFile(`${path}.lock`)
  } catch (error) {
    throw error instanceof LinkInPlace ? refused("unwritable", path, error.message) : error
  }
  const lock = new Database(`${path}.lock`)
  try {
    lock.run(`PRAGMA busy_timeout = ${lockTimeoutMs}`)
    lock.run("BEGIN IMMEDIATE")
    lock.run(`PRAGMA user_version = ${process.pid}`)
    lock.run("COMMIT")
    lock.run("BEGIN IMMEDIATE")
    return lock
  } catch (error) {
    const busy = sqliteCode(error)?.startsWith("SQLITE_BUSY") === true
    const holder = busy
      ? lock.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version
      : undefined
    lock.close()
    throw busy ? refused("in-use", path, `pid ${holder}`) : error
  }
}

/** The file for this process alone, until the scope closes. Makes its folder where it is absent. */
export const lockFile = (path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      makeFolder(path)
      return takeLock(path)
    }),
    (lock) => Effect.sync(() => lock.close()),
  )

/** Version of the tables in our file: 0 without any, `undefined` in an empty file. */
export const versionOf = (path: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const tables = yield* sql<{ readonly name: string }>`SELECT name FROM sqlite_schema WHERE type = 'table'`
    if (tables.length === 0) return undefined
    const [owner] = yield* sql<{ readonly application_id: number }>`PRAGMA application_id`
    if (owner?.application_id !== applicationId) {
      return yield* refused("corrupt", path, "it belongs to another program")
    }
    if (!tables.some((table) => table.name === migrationsTable)) return 0
    const [last] = yield* sql<{ readonly version: number | null }>`
      SELECT MAX(migration_id) AS version FROM ${sql(migrationsTable)}`
    const version = last?.version ?? 0
    if (version > schemaVersion) {
      return yield* refused("newer", path, `database schema ${version} is newer than this binary (${schemaVersion})`)
    }
    return version
  })

/** Checks, before anything else is written, that the file is ours and readable. Marks an empty one as ours. Its version. */
const recognise = (path: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const version = yield* versionOf(path)
    if (version === undefined) yield* sql.unsafe(`PRAGMA application_id = ${applicationId}`)
    return version
  })

/** Copies a file with tables of an earlier version before they are changed: `<file>.schema-<version>`. */
const keepCopy = (path: string, version: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const copy = `${path}.schema-${version}`
    const unfinished = `${copy}.part`
    yield* Effect.sync(() => {
      rmSync(unfinished, { force: true })
      makePrivateFile(unfinished)
    })
    yield* sql`VACUUM INTO ${unfinished}`
    yield* Effect.sync(() => renameSync(unfinished, copy))
  })

/** Settings of the connection, before the first transaction. Keeps a copy of a file that will be migrated. */
const configure = ({ path, durability }: SqliteOpening, db: Database, say: Say) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    const version = yield* recognise(path)
    if (version !== undefined && version > 0) yield* expectSchema(path, db, version)
    const [journal] = yield* sql<{ readonly journal_mode: string }>`PRAGMA journal_mode = WAL`
    if (journal?.journal_mode !== "wal") {
      return yield* refused("unwritable", path, "its file system cannot carry a write-ahead log")
    }
    yield* sql.unsafe(`PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`)
    if (version === undefined || version === 0 || version === schemaVersion) return
    const change = `the tables of the database are brought from schema ${version} to ${schemaVersion}`
    say(`${change}: first it is copied`)
    yield* keepCopy(path, version)
    say(change)
  })

/** Functions with effects do not run in views and triggers of the file, which anybody may have made. */
export const untrusted = (db: Database): Database => {
  db.run("PRAGMA trusted_schema = OFF")
  return db
}

/** Fails where the file has other tables, indexes, triggers or views than the migrations up to `version` make. */
export const expectSchema = (path: string, db: Database, version: number) =>
  Effect.suspend(() => {
    const fault = schemaFault(db, version)
    return fault === undefined ? Effect.void : Effect.fail(refused("altered", path, fault))
  })

export const openDatabase = (path: string, options?: DatabaseOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => untrusted(new Database(path, options))),
    (db) => Effect.sync(() => db.close()),
  )

export interface OpenFile extends OpenTables {
  /** The only connection that writes, and the one that the repositories read from. */
  readonly db: Database
}

/** The file, until the scope closes. Everything runs on the calling thread and blocks it. `say` is told what may take long. */
export const openFile = (opening: SqliteOpening, say: Say = () => {}): Effect.Effect<OpenFile, Refused, Scope.Scope> =>
  Effect.gen(function* () {
    const { path } = opening
    yield* lockFile(path)
    yield* Effect.sync(() => {
      expectDatabase(path)
      removeUnfinished(path)
      // The operator may have made a link to where the database is to be.
      if (!isLink(path)) makePrivateFile(path)
    })
    const db = yield* openDatabase(path)
    const tables = yield* Effect.provideServiceEffect(
      Effect.zipRight(
        configure(opening, db, say),
        Effect.flatMap(openDatabase(path, { readonly: true }), (reader) =>
          openTables(db, makeBallast(path), () => watchFile(path, db, reader)),
        ),
      ),
      SqlClient,
      makeClient(db),
    )
    return { ...tables, db }
  }).pipe(refusing((error) => refusalFor(opening.path, error)))

/**
 * A file that a gateway may be using, to read it as it is now: everything runs in one transaction, which the end of the
 * scope closes. Nothing is written. The file must have the tables of this version.
 */
export const openToRead = (path: string): Effect.Effect<SqlClient, Refused, Scope.Scope> =>
  Effect.gen(function* () {
    if (!existsSync(path)) return yield* refused("unreadable", path, "there is no such file")
    const db = yield* openDatabase(path, { readonly: true })
    const sql = yield* makeClient(db)
    yield* sql.unsafe(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    yield* sql.unsafe("BEGIN")
    const version = yield* Effect.provideService(versionOf(path), SqlClient, sql)
    if (version === schemaVersion) return yield* Effect.as(expectSchema(path, db, version), sql)
    const older = `database schema ${version ?? 0} is older than this binary (${schemaVersion}); a start of the gateway updates it`
    return yield* refused("older", path, older)
  }).pipe(
    refusing((error) => {
      const refusal = refusalFor(path, error)
      return refusal?.reason === "unwritable" || refusal?.reason === "in-use"
        ? refused("unreadable", path, "it or its folder may not be opened, or another program has it locked")
        : refusal
    }),
  )

/**
 * Turns errors into refusals where there is one; the others are defects. bun:sqlite throws when it opens a file, and the
 * migrator dies when a step fails. SQLite's code tells the reason in both cases.
 */
export const refusing = (refusalOf: (error: unknown) => Refused | undefined) =>
  Effect.catchAllCause((cause: Cause.Cause<unknown>) => {
    const error = Cause.squash(cause)
    const refusal = refusalOf(error)
    return refusal === undefined ? Effect.die(error) : Effect.fail(refusal)
  })
