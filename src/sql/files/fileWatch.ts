/**
 * Notices that an open database file was removed, replaced or cut short. The program that has it open would otherwise go on writing into a
 * file that nobody can open any more.
 */
import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from "node:fs"

interface Identity {
  readonly dev: number
  readonly ino: number
}

const identityOf = (path: string): Identity | undefined => statSync(path, { throwIfNoEntry: false })

const isSame = (a: Identity, b: Identity): boolean => a.dev === b.dev && a.ino === b.ino

/** What is wrong by the header of the file; `undefined`: nothing. https://www.sqlite.org/fileformat.html#the_database_header */
const headerFault = (path: string): string | undefined => {
  const header = Buffer.alloc(100)
  const file = openSync(path, "r")
  try {
    const read = readSync(file, header, 0, 100, 0)
    if (read < 100 || header.toString("latin1", 0, 16) !== "SQLite format 3\u0000")
      return "does not begin as a database"
  } finally {
    closeSync(file)
  }
  const written = header.readUInt16BE(16)
  const pageBytes = written === 1 ? 65_536 : written
  const { size } = statSync(path)
  return size < pageBytes * header.readUInt32BE(28) ? "is shorter than it was" : undefined
}

/**
 * To be called when the database at `path` is open and its journal was written. The returned function says what is wrong now, with the
 * path; `undefined`: nothing. Each call of it makes some five calls of the file system.
 */
export const watchFile = (path: string): (() => string | undefined) => {
  const journal = `${path}-wal`
  const opened = identityOf(path)
  let openedJournal = identityOf(journal)
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
      const ofHeader = headerFault(path)
      return ofHeader && `${path} ${ofHeader}`
    } catch (error) {
      return `${path} cannot be looked at: ${error instanceof Error ? error.message : error}`
    }
  }
}

/** Whether a process has no file open that is at `path` now. `undefined`: its open files cannot be listed (no `/proc`, or no right). */
export const lacksOpen = (pid: number, path: string): boolean | undefined => {
  try {
    const folder = `/proc/${pid}/fd`
    const open = readdirSync(folder).map((name) => {
      try {
        return readlinkSync(`${folder}/${name}`)
      } catch {
        return ""
      }
    })
    return !open.includes(path)
  } catch {
    return undefined
  }
}
