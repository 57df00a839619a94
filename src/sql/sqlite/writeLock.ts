/**
 * How long the thread of the database waits for the lock of another program. It can do nothing else meanwhile, reads included, so after one
 * write that has waited in vain it waits little, until a write succeeds.
 */
import type { Database } from "bun:sqlite"
import type { Hindrance } from "../../services/storage/Outage.ts"
import { sqliteCode } from "../failure.ts"

/** Milliseconds that a write waits. */
export const busyTimeoutMs = 5000
/** The same while another program is known to have had the lock for longer. */
const knownBusyMs = 250

const isBusy = (error: unknown): boolean => sqliteCode(error)?.startsWith("SQLITE_BUSY") === true

export class WriteLock {
  private readonly db: Database
  private readonly nowMs: () => number
  private waits = busyTimeoutMs
  /** When a look first found the lock taken; `undefined`: the last one found it free, or a write did. */
  private takenSince: number | undefined

  /** `nowMs`: a clock that never steps back. */
  constructor(db: Database, nowMs: () => number = () => performance.now()) {
    this.db = db
    this.nowMs = nowMs
  }

  /** A write has failed. */
  failed(error: unknown): void {
    if (isBusy(error)) this.wait(knownBusyMs)
  }

  /** A write was committed. */
  succeeded(): void {
    this.takenSince = undefined
    if (this.waits !== busyTimeoutMs) this.wait(busyTimeoutMs)
  }

  /** Whether another program keeps everybody from writing: looks that are five seconds apart have found it so. Waits for nothing. */
  hindrance(): Hindrance | undefined {
    if (this.isFree()) {
      this.succeeded()
      return undefined
    }
    const now = this.nowMs()
    this.takenSince ??= now
    if (now - this.takenSince < busyTimeoutMs) return undefined
    return { kind: "away", cause: "another program has locked the database" }
  }

  private isFree(): boolean {
    if (this.db.inTransaction) return true
    const { waits } = this
    this.wait(0)
    try {
      this.db.run("BEGIN IMMEDIATE")
      this.db.run("ROLLBACK")
      return true
    } catch (error) {
      // What else keeps from writing is met by who writes.
      return !isBusy(error)
    } finally {
      this.wait(waits)
    }
  }

  private wait(ms: number): void {
    this.waits = ms
    this.db.run(`PRAGMA busy_timeout = ${ms}`)
  }
}
