/**
 * Notices that an open database file was removed, replaced, cut short or overwritten. The program that has it open would otherwise go on
 * writing into a file that nobody can open any more. Its files are never opened for that (see `closedFile.ts`): the file system is asked
 * by path, and SQLite for what is in them.
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

/** Says what is wrong with the size of the file now. */
const watchSize = (path: string, db: Database): (() => string | undefined) => {
  /** Bytes that the file has not less of, unless another program shortens it: `db` itself never does. */
  let least = 0
  /** Changes with each commit of another program. */
  let version = numberOf(db, "data_version")
  let isCut = false
  return () => {
    const { size } = statSync(path)
    const now = numberOf(db, "data_version")
    // Another program may have shortened it by VACUUM, which commits.
    isCut = size < least && (isCut || now === version)
    if (isCut) return "is shorter than it was"
    // What is only in the journal yet is not in the file, and what a VACUUM has freed will leave it.
    const due = Math.min(size, numberOf(db, "page_count") * numberOf(db, "page_size"))
    least = now === version ? Math.max(least, due) : due
    version = now
    return undefined
  }
}

/**
 * Says what is wrong with the beginning of the file. `reader` is a connection of its own, since it must not have kept what it has read
 * before, which another one would have to read again.
 */
const watchHeader = (reader: Database): (() => string | undefined) => {
  reader.run("PRAGMA busy_timeout = 0")
  return () => {
    try {
      // It acts when it is prepared, so it cannot be kept as a statement.
      reader.run("PRAGMA shrink_memory")
      numberOf(reader, "schema_version")
      return undefined
    } catch (error) {
      const code = sqliteCode(error)
      if (code === undefined) throw error
      // A lock, or a disk that fails, is met by who writes.
      return /^SQLITE_(NOTADB|CORRUPT)/.test(code) ? "does not begin as a database" : undefined
    }
  }
}

/**
 * To be called when the database at `path` is open in both connections and its journal was written. The returned function says what is
 * wrong now, with the path; `undefined`: nothing. Each call of it takes some 40 µs.
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
