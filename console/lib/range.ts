/** The span of time that a view shows, as it stands in the address: `range=day`, or `from` and `to`. */
import { dayMs, windowStart } from "../../src/domain/keys/limitWindows.ts"

export interface Span {
  readonly from: Date
  readonly to: Date
}

export type Interval = "hour" | "day"

export interface Range extends Span {
  readonly name: RangeName
  readonly interval: Interval
}

export const rangeNames = ["hour", "day", "week", "month", "custom"] as const
export type RangeName = (typeof rangeNames)[number]

const hourMs = 3_600_000

/** Milliseconds of an interval. */
export const intervalMs: Readonly<Record<Interval, number>> = { hour: hourMs, day: dayMs }

/** The end of the hour or UTC day that contains `at`, always after `at`: at 13:00:00 this is 14:00. */
const endOfRunning = (at: Date, step: number): Date => new Date((Math.floor(at.getTime() / step) + 1) * step)

/** How long each range is. A range ends with the running hour or UTC day, so that its points are whole ones but for the last. */
const lengths: Readonly<Record<Exclude<RangeName, "custom">, { readonly ms: number; readonly step: number }>> = {
  hour: { ms: hourMs, step: hourMs },
  day: { ms: dayMs, step: hourMs },
  week: { ms: 7 * dayMs, step: hourMs },
  month: { ms: 30 * dayMs, step: dayMs },
}

const isNamed = (text: string | null): text is keyof typeof lengths => text !== null && Object.hasOwn(lengths, text)

/** Points by hour up to eight days, by UTC day beyond. */
const intervalOf = ({ from, to }: Span): Interval => (to.getTime() - from.getTime() <= 8 * dayMs ? "hour" : "day")

const timeOf = (text: string | null): Date | null => {
  const at = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : new Date(at)
}

/** The range that `parameters` of an address ask for; the last day where they ask for none, or for one that is none. */
export const rangeOf = (parameters: URLSearchParams, now: Date): Range => {
  const from = timeOf(parameters.get("from"))
  const to = timeOf(parameters.get("to")) ?? endOfRunning(now, hourMs)
  if (from !== null && from < to) return { name: "custom", from, to, interval: intervalOf({ from, to }) }
  const asked = parameters.get("range")
  const name = isNamed(asked) ? asked : "day"
  const { ms, step } = lengths[name]
  const end = endOfRunning(now, step)
  const span = { from: new Date(end.getTime() - ms), to: end }
  return { name, ...span, interval: intervalOf(span) }
}

/** The span of the same length that ends where `span` begins. */
export const before = ({ from, to }: Span): Span => ({
  from: new Date(from.getTime() - (to.getTime() - from.getTime())),
  to: from,
})

/** `from` and `to` for a query. */
export const spanParameters = ({ from, to }: Span) => ({ from: from.toISOString(), to: to.toISOString() })

/** The part of `span` that one point at `at` stands for. */
export const spanOfPoint = (at: Date, interval: Interval, span: Span): Span => {
  const end = new Date(at.getTime() + intervalMs[interval])
  return { from: at < span.from ? span.from : at, to: end > span.to ? span.to : end }
}

/** When the windows of limits began that `now` is in: the UTC day, the week from Monday, the month. */
export const windowsAt = (now: Date): Readonly<Record<"day" | "week" | "month", Date>> => {
  const at = now.getTime()
  return {
    day: new Date(windowStart("daily", at)),
    week: new Date(windowStart("weekly", at)),
    month: new Date(windowStart("monthly", at)),
  }
}

export const rangeWords: Readonly<Record<RangeName, string>> = {
  hour: "this hour",
  day: "the last 24 hours",
  week: "the last 7 days",
  month: "the last 30 days",
  custom: "the chosen time",
}
