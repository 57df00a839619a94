/** The speed that a caller prefers (`preferred_min_throughput`, `preferred_max_latency`): never a reason to exclude. Pure. */
import type { Preferences } from "./Preferences.ts"

/** The share of requests, in percent, that must be within the figure. All that are given must hold. */
export const percentiles = [
  ["p50", 50],
  ["p75", 75],
  ["p90", 90],
  ["p99", 99],
] as const

export type Thresholds = { readonly [Percentile in (typeof percentiles)[number][0]]?: number }

/** Shares of requests for which speeds are known, in percent. */
export type SpeedShare = 50 | 75 | 90 | 95 | 99

/** What was seen of a host in the last five minutes. `null` without data. */
export interface Speeds {
  /** Milliseconds to the first token that this share of the requests did not exceed. */
  readonly latencyAt: (percent: SpeedShare) => number | null
  /** Output tokens per second that this share of the requests reached. */
  readonly throughputAt: (percent: SpeedShare) => number | null
}

export const hasThresholds = ({ minThroughput, maxLatencyMs }: Preferences): boolean =>
  minThroughput !== undefined || maxLatencyMs !== undefined

/** Whether a host is as fast as the caller prefers. One without data is: otherwise it would never get any. */
export const isFastEnough = ({ minThroughput, maxLatencyMs }: Preferences, speeds: Speeds): boolean => {
  for (const [name, percent] of percentiles) {
    const longest = maxLatencyMs?.[name]
    if (longest !== undefined && (speeds.latencyAt(percent) ?? 0) > longest) return false
    const slowest = minThroughput?.[name]
    if (slowest !== undefined && (speeds.throughputAt(percent) ?? slowest) < slowest) return false
  }
  return true
}
