/** Snapshots of figures: made of what collectors say, and those of several processes added up. Pure. */
import type { Collector, Family, Figures, HistogramValue, Scrape, Series, Snapshot, Value } from "./Family.ts"

/** What the collectors say now. `onThrown` is called with what one of them throws. */
export const snapshotOf = (collectors: Iterable<Collector>, onThrown: (thrown: unknown) => void): Snapshot => {
  const series = new Map<Family, Array<Series>>()
  const scrape: Scrape = {
    set: (family, labels, value) => {
      const known = series.get(family) ?? []
      series.set(family, known)
      known.push({ labels, value: typeof value === "bigint" ? value.toString() : value })
    },
  }
  for (const collector of collectors) {
    try {
      collector.collect(scrape)
    } catch (thrown) {
      onThrown(thrown)
    }
  }
  return Array.from(series, ([family, all]) => ({ family, series: all }))
}

/** The snapshots of several processes as one. A series that only some have is taken from these. */
export const merged = (snapshots: ReadonlyArray<Snapshot>): Snapshot => {
  const families = new Map<string, { readonly family: Family; readonly series: Map<string, Series> }>()
  for (const { family, series } of snapshots.flat()) {
    const known = families.get(family.name) ?? { family, series: new Map<string, Series>() }
    families.set(family.name, known)
    for (const one of series) {
      const key = JSON.stringify(one.labels)
      const before = known.series.get(key)
      known.series.set(key, before === undefined ? one : { ...one, value: together(family, before.value, one.value) })
    }
  }
  return Array.from(families.values(), ({ family, series }) => ({ family, series: [...series.values()] }))
}

/** What is kept of a process that has ended: its counters and histograms. */
export const countedIn = (snapshot: Snapshot): Snapshot =>
  snapshot.filter(({ family }: Figures) => family.type !== "gauge")

const together = ({ merge, isMoney }: Family, one: Value, next: Value): Value => {
  if (isHistogram(one) || isHistogram(next)) {
    return isHistogram(one) && isHistogram(next) ? addedUp(one, next) : one
  }
  if (isMoney) return String(pick(merge, BigInt(one), BigInt(next)))
  return Number(pick(merge, Number(one), Number(next)))
}

const pick = <A extends number | bigint>(merge: Family["merge"], one: A, next: A): number | bigint => {
  if (merge === "max") return one > next ? one : next
  if (merge === "min") return one < next ? one : next
  return typeof one === "bigint" ? one + BigInt(next) : Number(one) + Number(next)
}

const addedUp = (one: HistogramValue, next: HistogramValue): HistogramValue => ({
  counts: one.counts.map((count, at) => count + (next.counts[at] ?? 0)),
  sum: one.sum + next.sum,
})

export const isHistogram = (value: Value): value is HistogramValue => typeof value === "object"
