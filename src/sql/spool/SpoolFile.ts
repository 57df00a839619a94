/**
 * A file of entries that the database could not take yet: see Spool.ts. One process holds it, by SQLite's own lock, which the
 * kernel releases however the process ends. Everything here blocks, and throws SQLite's errors.
 */
import { Database } from "bun:sqlite"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { sqliteCode } from "../failure.ts"
import { isLink, makePrivateFile, makePrivateFolder } from "../files/privateFile.ts"

export interface SpoolEntry {
  /** An entry whose id is in the file already is skipped. */
  readonly id: string
  readonly kind: string
  readonly content: string
}

/** `seq`: its place in the order of arrival. */
export interface StoredEntry extends SpoolEntry {
  readonly seq: number
}

export interface SpoolOptions {
  /** Made where it is absent. */
  readonly folder: string
  /** Whose rows they are: several databases may have their files in one folder. */
  readonly installation: string
  /** `full`: what was put survives a loss of power. `process`: it survives the end of the process. */
  readonly durability: "full" | "process"
}

const prefixOf = (installation: string): string => `spool-${installation}-`

const suffix = ".db"

/** Opens the file and holds it. Fails with SQLITE_BUSY when another process does. */
const hold = (path: string, create: boolean, durability: SpoolOptions["durability"]): Database => {
  const db = new Database(path, { readwrite: true, create })
  try {
    db.run("PRAGMA busy_timeout = 0")
    // Taken with the first access, and kept.
    db.run("PRAGMA locking_mode = EXCLUSIVE")
    db.run("PRAGMA journal_mode = WAL")
    db.run(`PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`)
    db.run(
      "CREATE TABLE IF NOT EXISTS entries (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, content TEXT NOT NULL)",
    )
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** None where there is no such folder, or none that may be read: then there is no spool, of which the first use tells. */
const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export class SpoolFile {
  readonly path: string
  private readonly db: Database
  /** Entries that are not removed. */
  private entries: number
  /** The last one that was removed. */
  private removed = 0

  private constructor(path: string, db: Database) {
    this.path = path
    this.db = db
    this.entries =
      db.query<{ readonly entries: number }, []>("SELECT COUNT(*) AS entries FROM entries").get()?.entries ?? 0
  }

  /** A new file. */
  static create({ folder, installation, durability }: SpoolOptions): SpoolFile {
    makePrivateFolder(folder)
    const path = join(folder, `${prefixOf(installation)}${crypto.randomUUID()}${suffix}`)
    makePrivateFile(path)
    const file = new SpoolFile(path, hold(path, true, durability))
    // Another process has taken it for one that was left, before it was held.
    if (!existsSync(path)) throw new Error(`${path} was removed`)
    return file
  }

  /** Paths of all files of the installation: this process's, those of others, and those that ended processes have left. */
  static paths({ folder, installation }: SpoolOptions): ReadonlyArray<string> {
    const names = namesIn(folder)
    const ours = names.filter((name) => name.startsWith(prefixOf(installation)) && name.endsWith(suffix))
    // A link could name a database of another program, which would be changed.
    return ours.map((name) => join(folder, name)).filter((path) => !isLink(path))
  }

  /** A file that an ended process has left; `undefined`: it is in use, or gone. */
  static take(path: string, durability: SpoolOptions["durability"]): SpoolFile | undefined {
    try {
      return new SpoolFile(path, hold(path, false, durability))
    } catch (error) {
      if (sqliteCode(error)?.startsWith("SQLITE_BUSY") === true || !existsSync(path)) return undefined
      throw error
    }
  }

  get isEmpty(): boolean {
    return this.entries === 0
  }

  get size(): number {
    return this.entries
  }

  /** All or none, durable when it returns. */
  put(entries: ReadonlyArray<SpoolEntry>): void {
    const add = this.db.query<never, [string, string, string]>(
      "INSERT INTO entries (id, kind, content) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
    )
    const added = this.db.transaction(() => {
      let count = 0
      for (const { id, kind, content } of entries) count += add.run(id, kind, content).changes
      return count
    })
    this.entries += added.immediate()
  }

  /** The oldest entries, at most `limit`. */
  first(limit: number): ReadonlyArray<StoredEntry> {
    return this.db
      .query<StoredEntry, [number, number]>(
        "SELECT seq, id, kind, content FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
      )
      .all(this.removed, limit)
  }

  /**
   * Removes the first entries, up to the last of these. Where the disk does not allow it, `first` and `isEmpty` leave them out
   * all the same, until the file is opened again.
   */
  remove(entries: ReadonlyArray<StoredEntry>): void {
    this.entries = Math.max(0, this.entries - entries.length)
    this.removed = entries.at(-1)?.seq ?? this.removed
    try {
      this.db.query<never, [number]>("DELETE FROM entries WHERE seq <= ?").run(this.removed)
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
    }
  }

  /** Lets go of the file, and removes an empty one. */
  close(): void {
    // While it is held, so that nobody else removes it after having written into it.
    if (this.isEmpty) for (const end of ["-wal", ""]) rmSync(`${this.path}${end}`, { force: true })
    this.db.close()
  }
}
