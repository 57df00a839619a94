/** Points over time as charts take them: intervals without a request have no point in an answer, and are filled here. */
import { type Interval, intervalMs, type Span } from "./range.ts"

/** The beginning of each interval of a span, and the point of it, where there is one. */
export const filled = <Point extends { readonly at: string }>(
  points: ReadonlyArray<Point>,
  { from, to }: Span,
  interval: Interval,
): ReadonlyArray<{ readonly at: Date; readonly point: Point | null }> => {
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]))
  const step = intervalMs[interval]
  const first = Math.floor(from.getTime() / step) * step
  const count = Math.max(0, Math.ceil((to.getTime() - first) / step))
  return Array.from({ length: count }, (_, place) => {
    const at = first + place * step
    return { at: new Date(at), point: byTime.get(at) ?? null }
  })
}

/** The change from `before` to `now` in words: "+12 %" (the space does not break), "no change". `null` where there was nothing before. */
export const change = (now: bigint, before: bigint): string | null => {
  if (before <= 0n) return null
  const percent = Number(((now - before) * 1000n) / before) / 10
  if (Math.abs(percent) < 0.5) return "no change"
  const size = Math.abs(percent) < 10 ? Math.abs(percent).toFixed(1) : Math.abs(percent).toFixed(0)
  return `${percent > 0 ? "+" : "−"}${size}\u00a0%`
}

/** The place of the largest value; `null` where there is none above 0. */
export const peakOf = (values: ReadonlyArray<number | null>): number | null => {
  let peak: number | null = null
  for (const [place, value] of values.entries()) {
    if (value !== null && value > 0 && (peak === null || value > (values[peak] ?? 0))) peak = place
  }
  return peak
}
