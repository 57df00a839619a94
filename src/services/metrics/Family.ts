/** What a family of series is, and what its figures are at one moment: plain data, which processes send each other. */

export type FamilyType = "counter" | "gauge" | "histogram"

/** How figures of several processes become one. A gauge that is added up is a number of things; others are the greatest or the least. */
export type Merge = "sum" | "max" | "min"

/** Series of one name. */
export interface Family {
  /** A counter ends with `_total`. A unit stands before that, or at the end: `seconds`, `bytes`, `usd`, `rows`. */
  readonly name: string
  readonly type: FamilyType
  readonly labels: ReadonlyArray<string>
  readonly help: string
  readonly merge: Merge
  /** Its values are whole picodollars, and shown as USD. */
  readonly isMoney: boolean
  /** Upper bounds of a histogram, ascending, without the infinite one. */
  readonly buckets: ReadonlyArray<number>
}

type Rest = Partial<Pick<Family, "merge" | "isMoney" | "buckets">>

export const family = (
  type: FamilyType,
  name: string,
  labels: ReadonlyArray<string>,
  help: string,
  { merge = "sum", isMoney = false, buckets = [] }: Rest = {},
): Family => ({ name, type, labels, help, merge, isMoney, buckets })

/** `counts`: of each bucket alone, the infinite one last. */
export interface HistogramValue {
  readonly counts: ReadonlyArray<number>
  readonly sum: number
}

/** Money is picodollars in decimal digits, since a number is exact only up to 9,007 USD, and JSON has no larger ones. */
export type Value = number | string | HistogramValue

export interface Series {
  /** Values of the labels, in the order of `Family.labels`. */
  readonly labels: ReadonlyArray<string>
  readonly value: Value
}

export interface Figures {
  readonly family: Family
  readonly series: ReadonlyArray<Series>
}

/** All figures of a gateway at one moment. */
export type Snapshot = ReadonlyArray<Figures>

/** Receives the figures of a moment. */
export interface Scrape {
  readonly set: (family: Family, labels: ReadonlyArray<string>, value: number | bigint | HistogramValue) => void
}

/**
 * Figures that are read when somebody asks for all. `collect` must not wait; what it throws is logged, and its figures are
 * left out. A service below this folder offers such a value, and `app` registers it.
 */
export interface Collector {
  readonly collect: (scrape: Scrape) => void
}

/** A collector of one counter that somebody else counts, such as lines of the log that were dropped. */
export const counterOf = (name: string, help: string, read: () => number): Collector => {
  const counted = family("counter", name, [], help)
  return { collect: (scrape) => scrape.set(counted, [], read()) }
}
