/**
 * Whose calls of a host ended within the last 15 to 30 seconds, and for whom the host fails. It tells a host that fails for most of those
 * who call it from one that fails for a few, however often these call. See docs/decisions/0099-whose-failures-put-a-host-out.md.
 */

interface Caller {
  /** Calls of the present stretch, and of the one before it. */
  now: number
  before: number
  /** Whether the latest call failed. */
  isFailing: boolean
}

/** Milliseconds of a stretch. */
const stretchMs = 15_000
/** Callers that are told apart. Further ones count as one. */
const mostCallers = 256
const others = ""

/** Times are milliseconds of a clock that never steps back. */
export class RecentCallers {
  private readonly callers = new Map<string, Caller>()
  private began = Number.NEGATIVE_INFINITY

  /** A call by this caller ended. */
  add(name: string, isFailing: boolean, now: number): void {
    this.moveTo(now)
    const caller = this.callers.get(name) ?? this.newCaller(name)
    caller.now += 1
    caller.isFailing = isFailing
  }

  /** Whether at least half of the calls are of callers for whom the host fails. */
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
