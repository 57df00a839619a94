/**
 * Puts a copy of a database in the place of the one that a gateway uses, while none does. At every moment the place has a whole
 * database, the previous one or the restored one. docs/decisions/0037-backup-and-restore.md
 */
import { Database } from "bun:sqlite"
import { chownSync, closeSync, existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { sqliteCode } from "../failure.ts"
import { copyClosed, syncClosed } from "../files/closedFile.ts"
import { createPrivateFile } from "../files/privateFile.ts"
import { realPath } from "../files/realPath.ts"
import { removeFile, removeUnfinished, restoredBeside } from "./databaseCopy.ts"
import { type Difference, differenceTo, isLoss, noDifference } from "./databaseDifference.ts"
import { type DatabaseFacts, databaseFacts } from "./databaseFacts.ts"
import { applicationId, lockFile, type Refused, refusalFor, refused, refusing, untrusted } from "./sqliteFile.ts"

/** How long to wait for other programs that read the previous database. */
const readersMs = 1000

export interface Restoring {
  /** The copy. It is only read. */
  readonly file: string
  /** The database of the gateway, which may be absent. */
  readonly database: string
  /** Whether to restore although something is lost by it. */
  readonly force: boolean
}

export interface Restored extends DatabaseFacts {
  /** `false`: nothing was changed, since something would be lost. */
  readonly done: boolean
  /** The real path of the database. */
  readonly database: string
  /** Where the previous database is now; `null`: there was none, or it is where it was. */
  readonly kept: string | null
  /** What the previous database has and the copy has not; `undefined`: the previous one cannot be read. */
  readonly lost: Difference | undefined
}

/** `step` is told what is done next, as `copying the backup`, before each change of a file. */
export const restoreDatabase = (
  { file, force, ...target }: Restoring,
  step: (what: string) => void = () => {},
): Effect.Effect<Restored, Refused> => {
  const database = realPath(target.database)
  const restored = Effect.gen(function* () {
    yield* lockFile(database)
    const isThere = existsSync(database) || existsSync(`${database}-wal`)
    const isReadable = isThere && isOurs(database)
    step("checking the backup")
    const facts = yield* databaseFacts(file)
    removeUnfinished(database)
    step("copying the backup")
    const fresh = yield* Effect.acquireRelease(
      Effect.sync(() => restoredBeside(database)),
      (path) => Effect.sync(() => removeFile(path)),
    )
    copyInto(file, fresh)
    const owned = existsSync(database) ? database : dirname(database)
    for (const made of [fresh, `${database}.lock`]) ownAs(owned, made)
    step("comparing the backup with the present database")
    const lost = isReadable ? differenceTo(database, fresh) : isThere ? undefined : noDifference
    const result = { ...facts, done: true, database, kept: null, lost }
    if (!force && (lost === undefined || isLoss(lost))) return { ...result, done: false }
    const now = new Date(yield* Clock.currentTimeMillis).toISOString().replaceAll(/[-:.]/g, "")
    const kept = `${database}.before-${now}`
    if (isReadable) keep(database, kept, step)
    else if (isThere) keepUnread(database, kept, step)
    step("putting the backup in the place of the database")
    renameSync(fresh, database)
    syncFolder(database)
    return { ...result, kept: isThere ? kept : null }
  })
  return restored.pipe(
    Effect.scoped,
    refusing((error) => refusalFor(database, error) ?? fileRefusal(database, error)),
  )
}

const fileRefusal = (path: string, error: unknown): Refused | undefined =>
  error instanceof Error && "syscall" in error ? refused("unwritable", path, error.message) : undefined

/** Whether SQLite can read it. Nothing is written. A database of another program is refused. */
const isOurs = (path: string): boolean => {
  try {
    const db = untrusted(new Database(path, { readonly: true }))
    try {
      const tables = db.query("SELECT 1 FROM sqlite_schema").all().length
      const [owner] = db.query<Record<"application_id", number>, []>("PRAGMA application_id").all()
      if (tables > 0 && owner?.application_id !== applicationId)
        throw refused("corrupt", path, "it belongs to another program")
      return owner?.application_id === applicationId
    } finally {
      db.close()
    }
  } catch (error) {
    if (sqliteCode(error) === undefined || sqliteCode(error)?.startsWith("SQLITE_BUSY") === true) throw error
    return false
  }
}

/** As root a file would belong to root, and the gateway's own user could not open it. */
const ownAs = (like: string, file: string): void => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(like)
  chownSync(file, uid, gid)
}

/** Durable when it returns. Also takes what is in a journal beside the file. */
const copyInto = (file: string, fresh: string): void => {
  closeSync(createPrivateFile(fresh))
  const db = untrusted(new Database(file, { readonly: true }))
  try {
    db.query("VACUUM INTO ?").run(fresh)
  } finally {
    db.close()
  }
  syncClosed(fresh)
}

/** Writes the journal back into the database, so that the file alone is all of it, and gives it a second name. */
const keep = (database: string, kept: string, step: (what: string) => void): void => {
  step("writing back the journal of the present database")
  const db = untrusted(new Database(database, { readwrite: true, create: false }))
  try {
    db.run(`PRAGMA busy_timeout = ${readersMs}`)
    const written = db.query<{ readonly busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()
    if (written?.busy !== 0) throw refused("in-use", database, "another program, which reads it")
  } finally {
    db.close()
  }
  // They are empty. A program that still reads would keep them for itself.
  for (const end of ["-wal", "-shm"]) rmSync(`${database}${end}`, { force: true })
  step("keeping the present database")
  nameAlso(database, kept)
  syncFolder(database)
}

/** One that SQLite cannot open is kept as it is, with its journal, which must not be taken for the restored one's. */
const keepUnread = (database: string, kept: string, step: (what: string) => void): void => {
  step("keeping the present database")
  if (existsSync(database)) nameAlso(database, kept)
  step("keeping its journal")
  if (existsSync(`${database}-wal`)) renameSync(`${database}-wal`, `${kept}-wal`)
  rmSync(`${database}-shm`, { force: true })
  syncFolder(database)
}

/** By a hard link; by a copy where the file system has no such links. */
const nameAlso = (path: string, name: string): void => {
  try {
    linkSync(path, name)
  } catch {
    copyClosed(path, name)
    syncClosed(name)
  }
}

const syncFolder = (path: string): void => syncClosed(dirname(path))
