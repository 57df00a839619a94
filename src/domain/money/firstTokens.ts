/**
 * How long answers took to their first token, as counts by range. Counts of any two spans of time add up to those of both, which
 * percentiles do not. The ranges grow with the time: each is 9.1 % (2^(1/8)) wide, so a percentile is at most 4.5 % off. Pure.
 */

/** How many answers, by the number of their range: the first 200 or so. */
export type FirstTokens = ReadonlyArray<number>

export interface FirstTokenFigures {
  /** Milliseconds, rounded. */
  readonly p50: number
  readonly p99: number
  /** Answers. */
  readonly count: number
}

const rangesOfDoubling = 8

/** The number of the range of a time; times below a millisecond are in the first one. */
const rangeOf = (ms: number): number => (ms > 1 ? Math.floor(Math.log2(ms) * rangesOfDoubling) : 0)

/** The time in the middle of a range. */
const middleOf = (range: number): number => 2 ** ((range + 0.5) / rangesOfDoubling)

/** Counts that grow. */
export class FirstTokenCounts {
  private readonly counts: Array<number> = []

  get all(): FirstTokens {
    return this.counts
  }

  /** One answer. */
  count(ms: number): void {
    this.addTo(rangeOf(ms), 1)
  }

  add(others: FirstTokens): void {
    for (const [range, count] of others.entries()) this.addTo(range, count)
  }

  /** What `writtenFirstTokens` wrote. */
  addWritten(written: string): void {
    const numbers: unknown = JSON.parse(written)
    if (!Array.isArray(numbers)) return
    for (let at = 0; at + 1 < numbers.length; at += 2) this.addTo(Number(numbers[at]), Number(numbers[at + 1]))
  }

  private addTo(range: number, count: number): void {
    while (this.counts.length <= range) this.counts.push(0)
    this.counts[range] = (this.counts[range] ?? 0) + count
  }
}

/** `null` where there are none. */
export const firstTokenFigures = (counts: FirstTokens): FirstTokenFigures | null => {
  const count = counts.reduce((all, n) => all + n, 0)
  if (count === 0) return null
  const within = (share: number): number => {
    const rank = Math.ceil(share * count)
    let before = 0
    const range = counts.findIndex((n) => {
      before += n
      return before >= rank
    })
    return Math.round(middleOf(range))
  }
  return { p50: within(0.5), p99: within(0.99), count }
}

/** Range, count, range, count and so on, without ranges that have none. */
export const writtenFirstTokens = (counts: FirstTokens): string =>
  JSON.stringify(counts.flatMap((count, range) => (count === 0 ? [] : [range, count])))
