/**
 * Bounds the attempts after the first one of all requests together, so that an outage is not amplified by our own retries.
 * One more is allowed while there were fewer than 10 in the last second, or fewer than a share of the requests of the last
 * 10 seconds. No clock of its own. See docs/guarantees.md#g13.
 */

const alwaysPerSecond = 10
const windowSeconds = 10

/** All times are milliseconds of a clock that never steps back. */
export class RetryBudget {
  /** Extra attempts per request; `Infinity`: no bound. */
  private readonly share: number
  private readonly requests = new SecondCounts()
  private readonly extras = new SecondCounts()
  /** When the last ten extra attempts were taken: a ring. */
  private readonly latest = new Float64Array(alwaysPerSecond).fill(Number.NEGATIVE_INFINITY)
  private next = 0

  constructor(share: number) {
    this.share = share
  }

  /** A request makes its first attempt. */
  request(now: number): void {
    this.requests.add(now)
  }

  /** Takes one extra attempt; `false`: there is none left. */
  take(now: number): boolean {
    const tenthLast = this.latest[this.next] ?? Number.NEGATIVE_INFINITY
    const isFree = tenthLast <= now - 1000
    if (!isFree && this.extras.sum(now) + 1 > this.share * this.requests.sum(now)) return false
    this.latest[this.next] = now
    this.next = (this.next + 1) % alwaysPerSecond
    this.extras.add(now)
    return true
  }
}

/** Counts of this second and the nine before it. */
class SecondCounts {
  private readonly counts = new Uint32Array(windowSeconds)
  private newest = 0
  private total = 0

  add(now: number): void {
    const slot = this.advance(now) % windowSeconds
    this.counts[slot] = (this.counts[slot] ?? 0) + 1
    this.total += 1
  }

  sum(now: number): number {
    this.advance(now)
    return this.total
  }

  private advance(now: number): number {
    const second = Math.floor(now / 1000)
    const from = Math.max(this.newest + 1, second - windowSeconds + 1)
    for (let passed = from; passed <= second; passed++) {
      const slot = passed % windowSeconds
      this.total -= this.counts[slot] ?? 0
      this.counts[slot] = 0
    }
    this.newest = Math.max(this.newest, second)
    return this.newest
  }
}
