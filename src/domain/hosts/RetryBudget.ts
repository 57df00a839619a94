/**
 * Bounds the attempts after the first one of all requests together, so that an outage is not amplified by our own retries.
 * One more is allowed while there were fewer than 10 in the last second, or fewer than a share of the requests of the last
 * 10 seconds. No clock of its own. See docs/guarantees.md#g13.
 */
import { SlidingSums } from "../structures/SlidingSums.ts"

const alwaysPerSecond = 10

/** Columns of the window. */
const requests = 0
const extras = 1

/** All times are milliseconds of a clock that never steps back. */
export class RetryBudget {
  /** Extra attempts per request; `Infinity`: no bound. May be changed. */
  share: number
  /** Requests and extra attempts of this second and the nine before it. */
  private readonly window = new SlidingSums(10, 1000, 2, 0)
  /** When the last ten extra attempts were taken: a ring. */
  private readonly latest = new Float64Array(alwaysPerSecond).fill(Number.NEGATIVE_INFINITY)
  private next = 0

  constructor(share: number) {
    this.share = share
  }

  /** A request makes its first attempt. */
  request(now: number): void {
    this.window.moveTo(now)
    this.window.add(requests)
  }

  /** Takes one extra attempt; `false`: there is none left. */
  take(now: number): boolean {
    const tenthLast = this.latest[this.next] ?? Number.NEGATIVE_INFINITY
    const isFree = tenthLast <= now - 1000
    this.window.moveTo(now)
    if (!isFree && this.window.total(extras) + 1 > this.share * this.window.total(requests)) return false
    this.latest[this.next] = now
    this.next = (this.next + 1) % alwaysPerSecond
    this.window.add(extras)
    return true
  }
}
