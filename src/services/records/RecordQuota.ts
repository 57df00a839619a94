/**
 * Limits how many records the requests of one kind get in a minute, for example those of one key with one outcome, so
 * that a flood from one key evicts no record of another. Further requests share one record per minute, which says how
 * many they are. Each process counts its own.
 */

const minuteMs = 60_000

/** A request that gets a record, and how many it stands for: 1, or itself and those of its minute that came after it. */
export interface Recorded<End> {
  readonly end: End
  readonly requests: number
}

interface Counted<End> {
  /** Requests that got a record. */
  single: number
  /** The first of those beyond, and how many they are. */
  beyond: { readonly end: End; requests: number } | undefined
}

export class RecordQuota<End> {
  private readonly mostOfMinute: number
  private readonly kindOf: (end: End) => string
  private minute = 0
  /** Counts of the current minute, by kind. */
  private counted = new Map<string, Counted<End>>()
  /** Of minutes that are over. */
  private over: Array<Recorded<End>> = []

  /** `mostOfMinute`: records of single requests, for each kind. The number of kinds must be small. */
  constructor(mostOfMinute: number, kindOf: (end: End) => string) {
    this.mostOfMinute = mostOfMinute
    this.kindOf = kindOf
  }

  /** Whether it gets a record of its own; else it is counted. `now`: Unix milliseconds. */
  admits(end: End, now: number): boolean {
    this.turn(now)
    const place = this.kindOf(end)
    const count = this.counted.get(place)
    if (count === undefined) {
      this.counted.set(place, { single: 1, beyond: undefined })
      return true
    }
    if (count.single < this.mostOfMinute) {
      count.single += 1
      return true
    }
    if (count.beyond === undefined) count.beyond = { end, requests: 1 }
    else count.beyond.requests += 1
    return false
  }

  /** What is beyond the bound in minutes that are over at `now`. It is not kept here any longer. */
  take(now: number): ReadonlyArray<Recorded<End>> {
    this.turn(now)
    const { over } = this
    if (over.length > 0) this.over = []
    return over
  }

  /** The same, and of the minute that is not over. */
  takeAll(): ReadonlyArray<Recorded<End>> {
    return this.take(Number.POSITIVE_INFINITY)
  }

  private turn(now: number): void {
    const minute = Math.floor(now / minuteMs)
    if (minute === this.minute) return
    this.minute = minute
    for (const { beyond } of this.counted.values()) if (beyond !== undefined) this.over.push(beyond)
    this.counted.clear()
  }
}
