/** What was used on a day: sums of ledger rows by UTC day. A row counts on the day on which it was admitted. */
import type { KeyId } from "../ids.ts"
import { dayMs, windowStart } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"

/** How many days before today an overview without a date has. */
export const overviewDays = 30

/** A question for sums. */
export interface SumQuery {
  /** First Unix milliseconds of UTC days. */
  readonly days: ReadonlyArray<number>
  /** A sum for each day, model and host, or for each of those and each key or app. */
  readonly by: "host" | "key" | "app"
  /** Only rows of this key, or of keys that this user created. Not together with `by: "app"`. Absent: of all. */
  readonly key?: KeyId
  readonly creator?: string
}

/**
 * The sum of the ledger rows of one UTC day, model and host, and of one key or app where it was asked for by those; else
 * the members of key or app are "". A row with the outcome `lost` counts with its upstream cost alone, since its request
 * has another row.
 */
export interface DaySum {
  /** First Unix millisecond. */
  readonly day: number
  readonly key: string
  readonly appUrl: string
  readonly appTitle: string
  readonly model: string
  readonly host: string
  readonly provider: string
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** Parts of `promptTokens`. */
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  /** Part of `completionTokens`. */
  readonly reasoningTokens: number
  /** What callers pay, and what hosts charge the operator. */
  readonly cost: Picodollars
  readonly upstreamCost: Picodollars
}

/** The last days that are over at `now` (Unix milliseconds), the newest first. */
export const completedDays = (now: number): ReadonlyArray<number> => {
  const today = windowStart("daily", now)
  return Array.from({ length: overviewDays }, (_, before) => today - (before + 1) * dayMs)
}

/** Today, and after it the days of `completedDays`, each as its first Unix millisecond. */
export const daysWithToday = (now: number): ReadonlyArray<number> => [windowStart("daily", now), ...completedDays(now)]

/** `2028-02-29` of a day. */
export const dateOf = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** The day of a date written as `2028-02-29`; `undefined` for anything else, such as 30 February. */
export const dayOf = (date: string): number | undefined => {
  const day = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(day) && dateOf(day) === date ? day : undefined
}
