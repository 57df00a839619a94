/**
 * What one of several processes has of a rate limit: so many permits, each for one request in any interval. The permits of
 * all processes together are never more than the limit, so neither are the requests in any window. See
 * docs/decisions/0027-shared-rate-limits.md. Times are milliseconds of a clock that never steps back.
 */
import { type RateLimit, SlidingWindow } from "../structures/SlidingWindow.ts"

/** As many times are kept as they were; of more, those in one part of the interval are taken as one, the last. */
const exactTimes = 64

/** How long a share may be used before it is renewed. A killed process's share is free an interval later. */
export const shareLeaseMs = ({ intervalSeconds }: RateLimit): number =>
  Math.min(10_000, Math.max(250, intervalSeconds * 250))

/**
 * How many permits a process had better take at once: what could be used until it asks four times again. Those that it has not used
 * when it is killed count as used.
 */
export const preferredPermits = (limit: RateLimit): number =>
  Math.ceil((4 * limit.requests * shareLeaseMs(limit)) / (1000 * limit.intervalSeconds))

export class RateShare {
  /** So many requests in any interval. */
  permits = 0
  /** Not used from then on, unless it was renewed. */
  until = Number.NEGATIVE_INFINITY
  private readonly window = new SlidingWindow()

  /** Requests that are remembered. */
  get size(): number {
    return this.window.size
  }

  /** Milliseconds until a permit is free, 0: now; infinite without permits. Not whether it may be used then. */
  waitFor({ requests, intervalSeconds }: RateLimit, now: number): number {
    const permits = Math.min(this.permits, requests)
    return permits > 0 ? this.window.waitFor({ requests: permits, intervalSeconds }, now) : Number.POSITIVE_INFINITY
  }

  /** Counts a request, if a permit is free and may be used. */
  take(limit: RateLimit, now: number): boolean {
    if (now >= this.until || this.waitFor(limit, now) > 0) return false
    this.window.add(now)
    return true
  }

  /** Takes back `take` at this time. */
  untake(time: number): void {
    this.window.remove(time)
  }

  /** Ends the share: what it has counted, by age. */
  end(
    { intervalSeconds }: RateLimit,
    now: number,
  ): ReadonlyArray<{ readonly ageMs: number; readonly requests: number }> {
    const ages = this.window.drain().map((time) => Math.max(0, Math.floor(now - time)))
    this.permits = 0
    this.until = Number.NEGATIVE_INFINITY
    const part = ages.length <= exactTimes ? 1 : Math.ceil((intervalSeconds * 1000) / exactTimes)
    const counted = new Map<number, number>()
    for (const age of ages) {
      const rounded = age - (age % part)
      counted.set(rounded, (counted.get(rounded) ?? 0) + 1)
    }
    return Array.from(counted, ([ageMs, requests]) => ({ ageMs, requests }))
  }

  /** Whether `end` would keep every time as it is. */
  get isExact(): boolean {
    return this.size <= exactTimes
  }
}
