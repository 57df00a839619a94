/** What a key has spent, and the windows in which a limit counts it. All of them begin at 00:00 UTC. Pure. */
import type { Picodollars } from "../price/money.ts"

/** How often a limit may start anew. */
export const limitResets = ["daily", "weekly", "monthly"] as const

export type LimitReset = (typeof limitResets)[number]

/** What a key has spent: in all, and in the current UTC day, week (from Monday) and month. */
export interface Spend {
  readonly total: Picodollars
  readonly daily: Picodollars
  readonly weekly: Picodollars
  readonly monthly: Picodollars
}

/** Milliseconds of a day. UTC has no longer or shorter ones. */
export const dayMs = 86_400_000

/** Start of the UTC window that contains `now` (Unix milliseconds). See docs/guarantees.md#g7. */
export const windowStart = (reset: LimitReset, now: number): number => {
  const midnight = now - (now % dayMs)
  switch (reset) {
    case "daily":
      return midnight
    case "weekly":
      // The epoch was a Thursday, three days after a Monday.
      return midnight - ((midnight / dayMs + 3) % 7) * dayMs
    case "monthly": {
      const at = new Date(now)
      return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)
    }
  }
}

/** When the next window begins, Unix milliseconds; `null` for a limit that never resets. */
export const nextReset = (reset: LimitReset | null, now: number): number | null => {
  if (reset === null) return null
  const start = windowStart(reset, now)
  if (reset === "daily") return start + dayMs
  if (reset === "weekly") return start + 7 * dayMs
  const at = new Date(start)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
}

/** The part of `spend` that counts against a limit with this reset. */
export const spentInWindow = (spend: Spend, reset: LimitReset | null): Picodollars =>
  reset === null ? spend.total : spend[reset]
