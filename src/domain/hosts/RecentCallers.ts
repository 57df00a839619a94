/**
 * Whose calls of a host ended in the last 15 to 30 seconds, and for whom the host is failing. It distinguishes a host
 * that fails for most callers from one that fails for a few, however often those few call. See
 * docs/decisions/0099-whose-failures-put-a-host-out.md.
 */

interface Caller {
  /** Calls in the current period and in the previous one. */
  now: number
  before: number
  /** Whether the latest call failed. */
  isFailing: boolean
}

/** Milliseconds of a period. */
const stretchMs = 15_000
/** Number of callers that are counted separately. The others are counted together. */
const mostCallers = 256
const others = ""

/** Times are milliseconds of a monotonic clock. */
export class RecentCallers {
  private readonly callers = new Map<string, Caller>()
  private began = Number.NEGATIVE_INFINITY

  /** Records the end of a call by this caller. */
  add(name: string, isFailing: boolean, now: number): void {
    this.moveTo(now)
    const caller = this.callers.get(name) ?? this.newCaller(name)
    caller.now += 1
    caller.isFailing = isFailing
  }

  /** Whether the callers for whom the host is failing made at least half of its calls. */
  failsForMost(now: number): boolean {
    this.moveTo(now)
    let failing = 0
    let all = 0
    for (const { now: calls, before, isFailing } of this.callers.values()) {
      all += calls + before
      if (isFailing) failing += calls + before
    }
    return 2 * failing >= all
  }

  private newCaller(name: string): Caller {
    if (this.callers.size >= mostCallers) {
      const known = this.callers.get(others)
      if (known !== undefined) return known
    }
    const caller = { now: 0, before: 0, isFailing: false }
    this.callers.set(this.callers.size < mostCallers ? name : others, caller)
    return caller
  }

  private moveTo(now: number): void {
    const passed = now - this.began
    if (passed < stretchMs) return
    const isNext = passed < 2 * stretchMs
    this.began = isNext ? this.began + stretchMs : now
    for (const [name, caller] of this.callers) {
      caller.before = isNext ? caller.now : 0
      caller.now = 0
      if (caller.before === 0) this.callers.delete(name)
    }
  }
}
