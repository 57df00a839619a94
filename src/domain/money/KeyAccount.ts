/** What one key has spent per window, and the reservations of its requests in flight. */
import { dayMs, type LimitReset, limitResets, type Spend, windowStart } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"

type Windows = Record<LimitReset, { start: number; amount: Picodollars }>

/** The windows of `now`, with `more` than `spend` has. */
const opened = (spend: Spend, now: number, more: Picodollars): Windows => {
  const window = (reset: LimitReset) => ({ start: windowStart(reset, now), amount: spend[reset] + more })
  return { daily: window("daily"), weekly: window("weekly"), monthly: window("monthly") }
}

/**
 * One key's account. Its windows only move forward: a clock that steps back does not reopen one, and what is spent meanwhile counts in the
 * windows that are open. Where they are more than a day ahead of the clock, that was wrong before, and they are opened anew (`reopen`).
 */
export class KeyAccount {
  reserved: Picodollars = 0n
  /** Requests that are not booked yet. An account with open requests must stay in memory. */
  open = 0
  /** Spent since the key was made. */
  total: Picodollars
  private windows: Windows
  /** Whether the clock, when it was last asked, was before the day that is open. */
  private isAhead = false

  constructor(spend: Spend, now: number) {
    this.total = spend.total
    this.windows = opened(spend, now, 0n)
  }

  /** Whether a clock that was wrong has opened the windows. */
  isOpenedTooEarly(now: number): boolean {
    return now < this.windows.daily.start - dayMs
  }

  /** `spend`: what the ledger has for the windows of `now`. */
  reopen(spend: Spend, now: number): void {
    // What is booked in one of the two only is of these windows: it was booked just now.
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
