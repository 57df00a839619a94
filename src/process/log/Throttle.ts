/** Lets one line of a kind through each minute, for what would be logged with every request. */

const everyMs = 60_000
/** Kinds that are told apart; beyond that all begin anew. */
const mostKinds = 1000

export class Throttle {
  /** By kind: when it may be logged again, and how often it was not. */
  private readonly kinds = new Map<string, { nextAt: number; unlogged: number }>()
  private readonly nowMs: () => number

  /** `nowMs`: milliseconds of a clock that never steps back. */
  constructor(nowMs: () => number) {
    this.nowMs = nowMs
  }

  /** How many of this kind were not logged since the last one that was; `undefined`: neither is this one. */
  pass(kind: string): number | undefined {
    const now = this.nowMs()
    const known = this.kinds.get(kind)
    if (known !== undefined && now < known.nextAt) {
      known.unlogged += 1
      return undefined
    }
    if (this.kinds.size >= mostKinds) this.kinds.clear()
    this.kinds.set(kind, { nextAt: now + everyMs, unlogged: 0 })
    return known?.unlogged ?? 0
  }
}
