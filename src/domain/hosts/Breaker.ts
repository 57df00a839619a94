/**
 * The circuit breaker of one endpoint. Closed: calls pass and are counted. Open: no call passes for a while. After that it
 * is half-open: one call passes as a probe, and its outcome closes or opens the breaker. No clock of its own. See
 * docs/guarantees.md#g12.
 */
import { SlidingSums } from "../structures/SlidingSums.ts"

export interface BreakerRules {
  /** Failures in a row that open it; `Infinity`: never. */
  readonly consecutiveFailures: number
  /** Share of failures within 30 seconds that opens it, 0 to 1; `Infinity`: never. */
  readonly errorRate: number
  /** Calls within 30 seconds before the share counts. */
  readonly minRequests: number
  /** Milliseconds that it stays open the first time; 0: it never opens. */
  readonly openMs: number
}

/** The longest time that it stays open, milliseconds. */
const longestOpenMs = 300_000
/** The time that it stays open is longer or shorter by up to this share, so that many breakers do not probe at once. */
const jitter = 0.2
/** Milliseconds after which another call may ask again while a probe runs, whose duration nobody knows. */
const probeWaitMs = 1000

/** Columns of the window of calls. */
const succeeded = 0
const failed = 1

/** Counts the calls of this second and the 29 before it. */
const callWindow = (now: number): SlidingSums => new SlidingSums(30, 1000, 2, now)

/** All times are milliseconds of a clock that never steps back. */
export class Breaker {
  /**
   * Changes whenever it opens or closes. A call remembers the epoch in which it began: its outcome does not count in a
   * later one.
   */
  epoch = 0
  /** May be replaced; they hold from the next failure on. */
  rules: BreakerRules
  /** Numbers in [0, 1). */
  private readonly random: () => number
  private isOpen = false
  private isProbing = false
  private openUntil = 0
  /** How often it opened, less what was forgiven since. */
  private openings = 0
  private closedAt = 0
  /** Whether no call has succeeded since it closed. */
  private isUnproven = false
  private consecutive = 0
  private window = callWindow(0)

  constructor(rules: BreakerRules, random: () => number) {
    this.rules = rules
    this.random = random
  }

  get isClosed(): boolean {
    return !this.isOpen
  }

  /** Whether the probe is under way. */
  get probing(): boolean {
    return this.isProbing
  }

  /** Milliseconds until a call may pass; 0: now. */
  waitMs(now: number): number {
    if (!this.isOpen) return 0
    return Math.max(this.openUntil - now, this.isProbing ? probeWaitMs : 0)
  }

  /** A call passes while the breaker is not closed. It ends with `close`, `failed` or `giveUp`. */
  probe(): void {
    this.isProbing = true
  }

  /** The probe ended without an outcome. Another call may be the probe. */
  giveUp(): void {
    this.isProbing = false
  }

  /**
   * The probe was answered. The first failure after that opens the breaker again, as long as no answer is complete: a host
   * may begin an answer and break off.
   */
  close(now: number): void {
    this.epoch += 1
    this.isOpen = this.isProbing = false
    this.isUnproven = true
    this.closedAt = now
    this.consecutive = 0
    this.window = callWindow(now)
  }

  /** A call succeeded while it was closed. */
  succeeded(now: number): void {
    this.consecutive = 0
    this.window.moveTo(now)
    this.window.add(succeeded)
    if (!this.isUnproven) return
    this.isUnproven = false
    this.openings = Math.max(0, this.openings - 1)
  }

  /**
   * A call failed: the probe, or one that began while it was closed. The failure counts in any case. `mayOpen`: whether it may also open
   * the breaker.
   */
  failed(now: number, mayOpen = true): void {
    if (this.isOpen) {
      this.isProbing = false
      // A probe that went out early, because every host of its model was out, does not prolong the wait.
      if (mayOpen && now >= this.openUntil) this.open(now)
      return
    }
    this.consecutive += 1
    this.window.moveTo(now)
    this.window.add(failed)
    const { consecutiveFailures, errorRate, minRequests } = this.rules
    const failures = this.window.total(failed)
    const calls = failures + this.window.total(succeeded)
    const isOften = calls >= minRequests && failures >= errorRate * calls
    if (!mayOpen) return
    if (this.isUnproven || this.consecutive >= consecutiveFailures || isOften) this.open(now)
  }

  private open(now: number): void {
    const { openMs } = this.rules
    if (openMs === 0) return
    // Each quiet stretch of `openMs` since it closed forgives one opening.
    const forgiven = this.isOpen ? 0 : Math.floor((now - this.closedAt) / openMs)
    this.openings = Math.max(0, this.openings - forgiven) + 1
    const stretched = Math.min(openMs * this.openings, longestOpenMs) * (1 - jitter + 2 * jitter * this.random())
    this.openUntil = now + Math.min(stretched, longestOpenMs)
    this.isOpen = true
    this.isUnproven = false
    this.epoch += 1
  }
}
