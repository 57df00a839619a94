/**
 * How long the database thread waits for another program's lock. It can do nothing else meanwhile, not even read. So
 * after a write has waited in vain, it waits only briefly until a write succeeds.
 */
import type { Database } from "bun:sqlite"
import type { Hindrance } from "../../services/storage/Outage.ts"
import { sqliteCode } from "../failure.ts"

/** Milliseconds that a write waits. */
export const busyTimeoutMs = 5000
/** The same while another program is known to hold the lock for longer. */
const knownBusyMs = 250

const isBusy = (error: unknown): boolean => sqliteCode(error)?.startsWith("SQLITE_BUSY") === true

export class WriteLock {
  private readonly db: Database
  private readonly nowMs: () => number
  private waits = busyTimeoutMs
  /** When a check first found the lock taken; `undefined`: the last check found it free, or a write succeeded. */
  private takenSince: number | undefined

  /** `nowMs`: a monotonic clock. */
  constructor(db: Database, nowMs: () => number = () => performance.now()) {
    this.db = db
    this.nowMs = nowMs
  }

  /** A write failed. */
  failed(error: unknown): void {
    if (isBusy(error)) this.wait(knownBusyMs)
  }

  /** A write was committed. */
  succeeded(): void {
    this.takenSince = undefined
    if (this.waits !== busyTimeoutMs) this.wait(busyTimeoutMs)
  }

  /**
   * Whether another program blocks all writes: two checks at least five seconds apart found its lock. Does not wait.
   */
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
      // Other obstacles are reported by the connection that writes.
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
