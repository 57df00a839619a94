/**
 * Detects that an open database file was removed, replaced, truncated or overwritten. Otherwise the gateway would
 * keep writing into a file that nobody can open. It never opens the files (see `closedFile.ts`): it checks them by
 * path, and reads their content through SQLite.
 */
import type { Database } from "bun:sqlite"
import { statSync } from "node:fs"
import { sqliteCode } from "../failure.ts"

interface Identity {
  readonly dev: number
  readonly ino: number
}

const identityOf = (path: string): Identity | undefined => statSync(path, { throwIfNoEntry: false })

const isSame = (a: Identity, b: Identity): boolean => a.dev === b.dev && a.ino === b.ino

const numberOf = (db: Database, pragma: string): number => Number(db.query(`PRAGMA ${pragma}`).values()[0]?.[0])

/** Returns a check of the file's size. */
const watchSize = (path: string, db: Database): (() => string | undefined) => {
  /** The least size of the file in bytes, unless another program shrinks it: `db` itself never does. */
  let least = 0
  /** Changes with each commit of another program. */
  let version = numberOf(db, "data_version")
  let isCut = false
  return () => {
    const { size } = statSync(path)
    const now = numberOf(db, "data_version")
    // Another program may have shrunk the file with VACUUM, which commits.
    isCut = size < least && (isCut || now === version)
    if (isCut) return "is shorter than it was"
    // Pages that are only in the journal are not in the file yet, and pages that a VACUUM freed will leave it.
    const due = Math.min(size, numberOf(db, "page_count") * numberOf(db, "page_size"))
    least = now === version ? Math.max(least, due) : due
    version = now
    return undefined
  }
}

/**
 * Returns a check of the beginning of the file. `reader` is a separate connection whose page cache is emptied for
 * each check; `db` would have to read its own pages again.
 */
const watchHeader = (reader: Database): (() => string | undefined) => {
  reader.run("PRAGMA busy_timeout = 0")
  return () => {
    try {
      // This pragma runs when it is prepared, so the statement cannot be reused.
      reader.run("PRAGMA shrink_memory")
      numberOf(reader, "schema_version")
      return undefined
    } catch (error) {
      const code = sqliteCode(error)
      if (code === undefined) throw error
      // Locks and disk errors are reported by the connection that writes.
      return /^SQLITE_(NOTADB|CORRUPT)/.test(code) ? "does not begin as a database" : undefined
    }
  }
}

/**
 * Returns a check that says what is wrong with the database at `path`; `undefined`: nothing. Call this when both
 * connections are open and the journal was written. Each check takes about 40 µs.
 */
export const watchFile = (path: string, db: Database, reader: Database): (() => string | undefined) => {
  const journal = `${path}-wal`
  const opened = identityOf(path)
  let openedJournal = identityOf(journal)
  const sizeFault = watchSize(path, db)
  const headerFault = watchHeader(reader)
  const faultOf = (name: string, known: Identity): string | undefined => {
    const now = identityOf(name)
    if (now === undefined) return `${name} is gone`
    return isSame(now, known) ? undefined : `another file is at ${name}`
  }
  return () => {
    try {
      if (opened === undefined) return `${path} is gone`
      const fault = faultOf(path, opened)
      if (fault !== undefined) return fault
      openedJournal ??= identityOf(journal)
      const ofJournal = openedJournal && faultOf(journal, openedJournal)
      if (ofJournal !== undefined) return ofJournal
      const ofContent = sizeFault() ?? headerFault()
      return ofContent && `${path} ${ofContent}`
    } catch (error) {
      return `${path} cannot be looked at: ${error instanceof Error ? error.message : error}`
    }
  }
}
