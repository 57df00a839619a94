/** The spool of this process: a file of its own, and those of ended processes that it has taken over. */
import type * as Effect from "effect/Effect"
import { LoggedState } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { Streak } from "../../services/storage/Outage.ts"
import { type SpoolEntry, SpoolFile, type SpoolOptions } from "./SpoolFile.ts"

export class Spool {
  private readonly options: SpoolOptions
  private readonly log: (line: Effect.Effect<void>) => void
  private own: SpoolFile | undefined
  private readonly left: Array<SpoolFile> = []
  /** Files that cannot be read, each reported once. */
  private readonly unreadable = new Set<string>()
  private readonly opening = new Streak()
  private readonly putting = new Streak()
  private readonly inUse = new LoggedState()

  constructor(options: SpoolOptions, log: (line: Effect.Effect<void>) => void) {
    this.options = options
    this.log = log
  }

  get isEmpty(): boolean {
    return this.left.length === 0 && (this.own === undefined || this.own.isEmpty)
  }

  /** Entries of all files. */
  get size(): number {
    return this.files.reduce((sum, { size }) => sum + size, 0)
  }

  /** The rows that were left are the older ones. */
  get files(): ReadonlyArray<SpoolFile> {
    return this.own === undefined ? this.left : [...this.left, this.own]
  }

  /** Whether there is a file to write into: it is made where there is none. */
  open(): boolean {
    try {
      this.own ??= SpoolFile.create(this.options)
      this.opening.ended()
      return true
    } catch (cause) {
      this.log(this.opening.failed(logEvent("spool_not_opened", { folder: this.options.folder }, cause)))
      return false
    }
  }

  /** Whether they are durable now. */
  put(entries: ReadonlyArray<SpoolEntry>): boolean {
    if (!this.open() || this.own === undefined) return false
    const wasEmpty = this.isEmpty
    try {
      this.own.put(entries)
      this.putting.ended()
    } catch (cause) {
      this.log(this.putting.failed(logEvent("spool_not_written", { file: this.own.path }, cause)))
      return false
    }
    if (wasEmpty) this.log(this.inUse.begin(logEvent("spool_in_use", { file: this.own.path })))
    return true
  }

  /** Takes over what ended processes have left. */
  adopt(): void {
    const known = new Set(this.files.map(({ path }) => path))
    for (const path of SpoolFile.paths(this.options)) {
      if (known.has(path) || this.unreadable.has(path)) continue
      try {
        const file = SpoolFile.take(path, this.options.durability)
        if (file === undefined) continue
        if (file.isEmpty) file.close()
        else this.left.push(file)
      } catch (cause) {
        this.unreadable.add(path)
        this.log(logEvent("spool_unreadable", { file: path }, cause))
      }
    }
  }

  /** Everything was written into the database. */
  get replayed(): Effect.Effect<void> {
    return this.inUse.hasBegun
      ? this.inUse.end((lastedS) => logEvent("spool_replayed", { lastedS }))
      : logEvent("spool_replayed")
  }

  /** Lets go of a file that was left, once it is empty. */
  finished(file: SpoolFile): void {
    const at = this.left.indexOf(file)
    if (at === -1) return
    this.left.splice(at, 1)
    file.close()
  }

  close(): void {
    for (const file of this.files) file.close()
  }
}
