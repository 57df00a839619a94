/** Series that are counted while the gateway runs: each is found by the values of its labels, and then added to. */
import type { Family, HistogramValue, Scrape } from "./Family.ts"

export class Counter {
  value = 0
}

/** Whole picodollars. */
export class MoneyCounter {
  value = 0n
}

export class Histogram {
  private readonly bounds: ReadonlyArray<number>
  private readonly counts: Float64Array
  private sum = 0

  constructor(bounds: ReadonlyArray<number>) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds, counts } = this
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
    counts[at] = (counts[at] ?? 0) + 1
    this.sum += value
  }

  get value(): HistogramValue {
    return { counts: [...this.counts], sum: this.sum }
  }
}

interface Readable {
  readonly value: number | bigint | HistogramValue
}

type Node<S> = Map<string, Node<S> | S>

/** The series of one family by the values of its labels: at most three. */
export class SeriesMap<S extends Readable> {
  readonly family: Family
  private readonly make: () => S
  private readonly root: Node<S> = new Map()
  private readonly all: Array<{ readonly labels: ReadonlyArray<string>; readonly series: S }> = []

  constructor(family: Family, make: () => S) {
    this.family = family
    this.make = make
  }

  /** The series with these values, made when it is first asked for. As many values as the family has labels. */
  of(first: string, second?: string, third?: string): S {
    let node: Node<S> | S | undefined = this.root.get(first)
    if (second !== undefined && node instanceof Map) node = node.get(second)
    if (third !== undefined && node instanceof Map) node = node.get(third)
    return node === undefined || node instanceof Map ? this.add([first, second, third]) : node
  }

  collect(scrape: Scrape): void {
    for (const { labels, series } of this.all) scrape.set(this.family, labels, series.value)
  }

  private add(given: ReadonlyArray<string | undefined>): S {
    const labels = given.filter((label) => label !== undefined)
    let node = this.root
    for (const label of labels.slice(0, -1)) {
      const known = node.get(label)
      const inner: Node<S> = known instanceof Map ? known : new Map()
      node.set(label, inner)
      node = inner
    }
    const series = this.make()
    node.set(labels.at(-1) ?? "", series)
    this.all.push({ labels, series })
    return series
  }
}

export const counters = (family: Family): SeriesMap<Counter> => new SeriesMap(family, () => new Counter())
export const moneyCounters = (family: Family): SeriesMap<MoneyCounter> =>
  new SeriesMap(family, () => new MoneyCounter())
export const histograms = (family: Family): SeriesMap<Histogram> =>
  new SeriesMap(family, () => new Histogram(family.buckets))
