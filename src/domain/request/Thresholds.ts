/** The speed that a caller prefers (`preferred_min_throughput`, `preferred_max_latency`): never a reason to exclude. Pure. */

/** The share of requests, in percent, that must be within the figure. All that are given must hold. */
export const percentiles = [
  ["p50", 50],
  ["p75", 75],
  ["p90", 90],
  ["p99", 99],
] as const

export type Thresholds = { readonly [Name in (typeof percentiles)[number][0]]?: number }

/** Shares of requests for which speeds are known, in percent. */
export type Percentile = 50 | 75 | 90 | 95 | 99

/** What was seen of a host in the last five minutes. `null` without data. */
export interface Speeds {
  /** Milliseconds to the first token that this share of the requests did not exceed. */
  readonly latencyAt: (percent: Percentile) => number | null
  /** Output tokens per second that this share of the requests reached. */
  readonly throughputAt: (percent: Percentile) => number | null
}

/** What a caller prefers for one share of the requests. */
interface PreferredSpeed {
  readonly percent: Percentile
  /** Milliseconds to the first token. */
  readonly longest: number | undefined
  /** Output tokens per second. */
  readonly slowest: number | undefined
}

const none: ReadonlyArray<PreferredSpeed> = []

/** Of the preferences of a request. */
interface SpeedPreferences {
  readonly minThroughput?: Thresholds | undefined
  readonly maxLatencyMs?: Thresholds | undefined
}

/** The speeds that the caller prefers; usually none. */
export const preferredSpeeds = ({ minThroughput, maxLatencyMs }: SpeedPreferences): ReadonlyArray<PreferredSpeed> => {
  if (minThroughput === undefined && maxLatencyMs === undefined) return none
  return percentiles
    .map(([name, percent]) => ({ percent, longest: maxLatencyMs?.[name], slowest: minThroughput?.[name] }))
    .filter(({ longest, slowest }) => longest !== undefined || slowest !== undefined)
}

/** Whether a host is as fast as the caller prefers. One without data is: otherwise it would never get any. */
export const isFastEnough = (preferred: ReadonlyArray<PreferredSpeed>, speeds: Speeds): boolean => {
  for (const { percent, longest, slowest } of preferred) {
    if (longest !== undefined && (speeds.latencyAt(percent) ?? 0) > longest) return false
    if (slowest !== undefined && (speeds.throughputAt(percent) ?? slowest) < slowest) return false
  }
  return true
}
