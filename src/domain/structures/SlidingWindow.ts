/** A rate limit over a sliding window: at most so many admissions in any interval. Exact, and pure but for its state. */

/** At most `requests` in any `intervalSeconds`. */
export interface RateLimit {
  readonly requests: number
  readonly intervalSeconds: number
}

/** The most requests that a limit may have. A window remembers as many admissions, at most 32 bytes each. */
export const mostRequests = 10_000
/** The longest interval: a day. */
export const mostSeconds = 86_400

const smallest = 8

/**
 * The admissions of the last interval, by their times. Times are milliseconds of a clock that never steps back. An
 * admission counts from its own time until one interval later, when it counts no more.
 */
export class SlidingWindow {
  /** A ring buffer. The oldest time is at `first`. */
  private times = new Float64Array(smallest)
  private first = 0
  private count = 0

  /** Admissions that are remembered. */
  get size(): number {
    return this.count
  }

  /** Memory for them. */
  get bytes(): number {
    return this.times.byteLength
  }

  /**
   * Milliseconds until a request is admitted if nothing else is admitted meanwhile; 0: now. Takes nothing. The limit may
   * differ from that of earlier calls: what is remembered counts against the new one.
   */
  waitFor({ requests, intervalSeconds }: RateLimit, now: number): number {
    const interval = intervalSeconds * 1000
    this.forget(now - interval)
    // The request is admitted once fewer than `requests` of the remembered ones count.
    return this.count < requests ? 0 : this.at(this.count - requests) + interval - now
  }

  /** Remembers an admission. Only after `waitFor` has returned 0 at this time. */
  add(now: number): void {
    if (this.count === this.times.length) this.resize(2 * this.count)
    this.times[(this.first + this.count) % this.times.length] = now
    this.count += 1
  }

  /** Forgets one admission that was remembered at this time, since nothing came of it. Returns whether there was one. */
  remove(time: number): boolean {
    let index = this.count - 1
    while (index >= 0 && this.at(index) !== time) index -= 1
    if (index < 0) return false
    for (; index < this.count - 1; index++) {
      this.times[(this.first + index) % this.times.length] = this.at(index + 1)
    }
    this.count -= 1
    return true
  }

  /** Forgets all admissions; returns their times, the oldest first. */
  drain(): ReadonlyArray<number> {
    const times = Array.from({ length: this.count }, (_, index) => this.at(index))
    this.times = new Float64Array(smallest)
    this.first = 0
    this.count = 0
    return times
  }

  private at(index: number): number {
    return this.times[(this.first + index) % this.times.length] ?? 0
  }

  private forget(until: number): void {
    while (this.count > 0 && this.at(0) <= until) {
      this.first = (this.first + 1) % this.times.length
      this.count -= 1
    }
    const { length } = this.times
    if (length > smallest && 4 * this.count <= length) this.resize(Math.max(smallest, 2 * this.count))
  }

  private resize(length: number): void {
    const times = new Float64Array(length)
    for (let index = 0; index < this.count; index++) times[index] = this.at(index)
    this.times = times
    this.first = 0
  }
}
