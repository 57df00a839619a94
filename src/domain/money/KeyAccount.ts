/** What one key has spent per window, and the reservations of its requests in flight. */
import { dayMs, type LimitReset, limitResets, type Spend, windowStart } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"

type Windows = Record<LimitReset, { start: number; amount: Picodollars }>

/** The windows at `now`, with `more` added to `spend`. */
const opened = (spend: Spend, now: number, more: Picodollars): Windows => {
  const window = (reset: LimitReset) => ({ start: windowStart(reset, now), amount: spend[reset] + more })
  return { daily: window("daily"), weekly: window("weekly"), monthly: window("monthly") }
}

/**
 * One key's account. Its windows only move forward: a clock that steps back does not reopen one, and amounts spent
 * meanwhile count in the open windows. If the windows are more than a day ahead of the clock, the clock was wrong
 * before, and `reopen` opens them again.
 */
export class KeyAccount {
  reserved: Picodollars = 0n
  /** Requests that are not booked yet. An account with open requests must stay in memory. */
  open = 0
  /** Spent since the key was made. */
  total: Picodollars
  private windows: Windows
  /** Whether the clock was before the open day when it was last read. */
  private isAhead = false

  constructor(spend: Spend, now: number) {
    this.total = spend.total
    this.windows = opened(spend, now, 0n)
  }

  /** Whether a wrong clock opened the windows. */
  isOpenedTooEarly(now: number): boolean {
    return now < this.windows.daily.start - dayMs
  }

  /** `spend`: the ledger's sums for the windows at `now`. */
  reopen(spend: Spend, now: number): void {
    // An amount that only one of the two has belongs to these windows: it was booked just now.
    this.windows = opened(spend, now, this.total - spend.total)
    this.isAhead = false
  }

  take(amount: Picodollars): void {
    this.open += 1
    this.reserved += amount
  }

  /** Adds to a reservation that was taken. */
  addToReservation(amount: Picodollars): void {
    this.reserved += amount
  }

  giveBack(amount: Picodollars): void {
    this.open -= 1
    this.reserved -= amount
  }

  /** Books a cost into the windows in which its request was admitted. */
  spend(amount: Picodollars, admittedAt: number): void {
    this.advance(admittedAt)
    this.total += amount
    // A day lies in one week and one month, so a request of today is one of all three windows.
    const isOfToday = this.isAhead || admittedAt >= this.windows.daily.start
    for (const reset of limitResets) {
      const window = this.windows[reset]
      if (isOfToday || windowStart(reset, admittedAt) === window.start) window.amount += amount
    }
  }

  spendAt(now: number): Spend {
    this.advance(now)
    this.isAhead = now < this.windows.daily.start
    const { daily, weekly, monthly } = this.windows
    return { total: this.total, daily: daily.amount, weekly: weekly.amount, monthly: monthly.amount }
  }

  private advance(now: number): void {
    // The day is the shortest window: while it lasts, the others do.
    if (now < this.windows.daily.start + dayMs) return
    for (const reset of limitResets) {
      const start = windowStart(reset, now)
      if (start > this.windows[reset].start) this.windows[reset] = { start, amount: 0n }
    }
  }
}
