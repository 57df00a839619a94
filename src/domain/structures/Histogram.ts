/**
 * A histogram over buckets of equal relative width. A percentile that it gives is at most 5 % off the exact one.
 * Histograms add: the sum of two has the counts of both, so the sums of several processes are those of all their samples.
 */

/** Width of a bucket: its upper bound divided by its lower one. */
const width = 1.05 / 0.95
const perLog = 1 / Math.log(width)

/** Values below are counted as this one. */
const least = 0.1
const bucketCount = 163
/** Values above are counted as this one: a bit more than 1,000,000. */
const greatest = least * width ** (bucketCount - 1)

const bucketOf = (value: number): number => {
  if (!(value > least)) return 0
  return value >= greatest ? bucketCount - 1 : Math.ceil(Math.log(value / least) * perLog)
}

/** The value whose relative distance to both bounds of its bucket is the same. */
const valueOf = (bucket: number): number => (bucket === 0 ? least : (least * width ** bucket * 2) / (1 + width))

const none = new Uint32Array(0)

/** The first bucket that counts anything, then the counts from there on; empty without samples. */
export type EncodedHistogram = ReadonlyArray<number>

export class Histogram {
  /** Number of samples. */
  size = 0
  /** Counts of the buckets from `first` on: as many as the samples span, so that a narrow spread takes little memory. */
  private counts = none
  private first = 0

  /** Values that are no number count as the least. */
  add(value: number): void {
    this.increase(bucketOf(value), 1)
  }

  addAll(other: Histogram): void {
    const { counts, first } = other
    for (let at = 0; at < counts.length; at++) {
      const count = counts[at] ?? 0
      if (count > 0) this.increase(first + at, count)
    }
  }

  /** Takes away what was added before with `addAll`. */
  subtractAll({ counts, first, size }: Histogram): void {
    const shift = first - this.first
    for (let at = 0; at < counts.length; at++) {
      const count = counts[at] ?? 0
      if (count > 0) this.counts[at + shift] = (this.counts[at + shift] ?? 0) - count
    }
    this.size -= size
  }

  /** The value that this percent of the samples, from 0 to 100, do not exceed; `null` without samples. */
  percentile(percent: number): number | null {
    if (this.size === 0) return null
    let left = Math.max(1, Math.ceil((percent / 100) * this.size))
    for (let at = 0; at < this.counts.length; at++) {
      left -= this.counts[at] ?? 0
      if (left <= 0) return valueOf(this.first + at)
    }
    return null
  }

  encode(): EncodedHistogram {
    let end = this.counts.length
    while (end > 0 && this.counts[end - 1] === 0) end -= 1
    let begin = 0
    while (begin < end && this.counts[begin] === 0) begin += 1
    return begin === end ? [] : [this.first + begin, ...this.counts.subarray(begin, end)]
  }

  /** `undefined` for anything that `encode` does not write. */
  static decode(encoded: unknown): Histogram | undefined {
    if (!Array.isArray(encoded) || !encoded.every(isCount)) return undefined
    const histogram = new Histogram()
    const [first, ...counts] = encoded
    if (first === undefined) return histogram
    if (first + counts.length > bucketCount) return undefined
    for (const [at, count] of counts.entries()) if (count > 0) histogram.increase(first + at, count)
    return histogram
  }

  private increase(bucket: number, by: number): void {
    const at = bucket - this.first
    if (at < 0 || at >= this.counts.length) this.grow(bucket)
    const place = bucket - this.first
    this.counts[place] = (this.counts[place] ?? 0) + by
    this.size += by
  }

  /** Extends the range of counts to a bucket, and a few buckets further. */
  private grow(bucket: number): void {
    const slack = 4
    const length = this.counts.length
    const isFirst = length === 0
    const first = Math.max(0, isFirst ? bucket - slack : Math.min(this.first, bucket - slack))
    const end = Math.min(bucketCount, isFirst ? bucket + slack + 1 : Math.max(this.first + length, bucket + slack + 1))
    const counts = new Uint32Array(end - first)
    counts.set(this.counts, isFirst ? 0 : this.first - first)
    this.counts = counts
    this.first = first
  }
}

/** A count that 32 bits hold. */
export const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32
