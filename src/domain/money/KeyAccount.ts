/** What one key has spent per window, and the reservations of its requests in flight. */
import { dayMs, type LimitReset, limitResets, type Spend, windowStart } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"

/** One key's account. Its windows only move forward: a clock that steps back does not reopen one. */
export class KeyAccount {
  reserved: Picodollars = 0n
  /** Requests that are not booked yet. An account with open requests must stay in memory. */
  open = 0
  /** Spent since the key was made. */
  total: Picodollars
  private readonly windows: Record<LimitReset, { start: number; amount: Picodollars }>

  constructor(spend: Spend, now: number) {
    this.total = spend.total
    const opened = (reset: LimitReset) => ({ start: windowStart(reset, now), amount: spend[reset] })
    this.windows = { daily: opened("daily"), weekly: opened("weekly"), monthly: opened("monthly") }
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
    const isOfToday = admittedAt >= this.windows.daily.start
    for (const reset of limitResets) {
      const window = this.windows[reset]
      if (isOfToday || windowStart(reset, admittedAt) === window.start) window.amount += amount
    }
  }

  spendAt(now: number): Spend {
    this.advance(now)
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
