/** What was used: sums of ledger rows by UTC day or hour. A row counts where it was admitted. */
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

/** A question for sums of the rows of a span of time, each of which is read. */
export interface SpanQuery {
  /** Unix milliseconds of the admission: from the first on, before the second. */
  readonly from: number
  readonly to: number
  /** Of which there is a sum each. */
  readonly interval: "day" | "hour"
  readonly by: SumQuery["by"] | "user"
  /** Only rows of this key, of keys that this user created, or of this end user (`userHash`). */
  readonly key?: KeyId
  readonly creator?: string
  readonly userHash?: string
}

/**
 * What ledger rows of one model and host add up to, and of one key or app where it was asked for by those; else the
 * members of key or app are "". A row with the outcome `lost` counts with its upstream cost alone, since its request has another row.
 */
export interface UsageSum {
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

/** Of one UTC day. */
export interface DaySum extends UsageSum {
  /** First Unix millisecond. */
  readonly day: number
}

/** Of one UTC hour or day, whichever was asked for, and of one end user where it was asked for by those; else `userHash` is "". */
export interface SpanSum extends UsageSum {
  readonly userHash: string
  /** First Unix millisecond. */
  readonly start: number
}

export const hourMs = 3_600_000

/** Milliseconds of an interval. */
export const intervalMs: Readonly<Record<SpanQuery["interval"], number>> = { day: dayMs, hour: hourMs }

/** The first moment of the UTC hour of a moment, Unix milliseconds. */
export const hourOf = (ms: number): number => ms - (ms % hourMs)

/** Sums of parts of a span, added up further. */
export class SpanSums {
  private readonly sums = new Map<string, SpanSum>()

  /** How many there are. */
  get size(): number {
    return this.sums.size
  }

  add(one: SpanSum): void {
    const place = JSON.stringify([one.start, ...namesInOrder.map((name) => one[name])])
    const before = this.sums.get(place)
    this.sums.set(place, before === undefined ? one : { ...one, ...figuresOfBoth(before, one) })
  }

  /** The newest first, then by model, host, key, user and app. */
  get all(): ReadonlyArray<SpanSum> {
    return [...this.sums.values()].toSorted(inOrder)
  }
}

const figuresOfBoth = (a: SpanSum, b: SpanSum) => ({
  requests: a.requests + b.requests,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  cost: a.cost + b.cost,
  upstreamCost: a.upstreamCost + b.upstreamCost,
})

const namesInOrder = ["model", "host", "provider", "key", "userHash", "appUrl", "appTitle"] as const

const inOrder = (a: SpanSum, b: SpanSum): number => {
  if (a.start !== b.start) return b.start - a.start
  for (const name of namesInOrder) if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  return 0
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
