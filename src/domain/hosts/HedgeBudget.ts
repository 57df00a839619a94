/**
 * Bounds what the losing calls of hedged requests cost, as a share of what answers cost in the last hour. No clock of its
 * own. See docs/hedging.md.
 */
const minutesKept = 60
const minuteMs = 60_000

/** Amounts are picodollars in floating point: a bound needs no exact sum. Times are milliseconds that never step back. */
export class HedgeBudget {
  /** 0 to 1. May be changed. */
  share: number
  private readonly spent = new Float64Array(minutesKept)
  private readonly lost = new Float64Array(minutesKept)
  private newest = 0

  constructor(share: number) {
    this.share = share
  }

  /** An answer was charged. */
  charged(now: number, amount: number): void {
    const slot = this.slotAt(now)
    this.spent[slot] = (this.spent[slot] ?? 0) + amount
  }

  /** Takes what a losing call will cost; `false`: there is not so much left. */
  take(now: number, amount: number): boolean {
    const slot = this.slotAt(now)
    if (sum(this.lost) + amount > this.share * sum(this.spent)) return false
    this.lost[slot] = (this.lost[slot] ?? 0) + amount
    return true
  }

  /** No call was lost after all. */
  giveBack(now: number, amount: number): void {
    const slot = this.slotAt(now)
    this.lost[slot] = (this.lost[slot] ?? 0) - amount
  }

  /** The slot of this minute, after the minutes that left the hour were cleared. */
  private slotAt(now: number): number {
    const minute = Math.floor(now / minuteMs)
    for (let passed = Math.max(this.newest + 1, minute - minutesKept + 1); passed <= minute; passed++) {
      this.spent[passed % minutesKept] = this.lost[passed % minutesKept] = 0
    }
    this.newest = Math.max(this.newest, minute)
    return this.newest % minutesKept
  }
}

const sum = (amounts: Float64Array): number => amounts.reduce((total, amount) => total + amount, 0)
