/** What rankings have in common: sorting by figures, and classes of health. */
import type { Host } from "../domain/hosts/Host.ts"
import type { Picodollars } from "../domain/price/money.ts"
import { sortPrice } from "../domain/price/price.ts"
import type { Candidate, HostSnapshot } from "./strategy.ts"

/** A number by which candidates are sorted, the smallest first; `Infinity` for those without data. */
export type Figure = (candidate: Candidate) => number

// Hosts live as long as their configuration, so their prices are computed once.
const prices = new WeakMap<Host, Picodollars | null>()

const priceOf = (host: Host): Picodollars | null => {
  const before = prices.get(host)
  if (before !== undefined) return before
  const price = sortPrice(host.pricing)
  prices.set(host, price)
  return price
}

interface Entry {
  readonly candidate: Candidate
  readonly values: ReadonlyArray<number>
  readonly price: Picodollars | null
}

const none: ReadonlyArray<number> = []

/**
 * Sorts by figures, the first one first. Where all are equal, the cheaper host comes first (`sortPrice`, unknown prices
 * last), then the one with the smaller tag. Each figure is read once for each candidate.
 */
export const rankBy = (
  candidates: ReadonlyArray<Candidate>,
  ...figures: ReadonlyArray<Figure>
): ReadonlyArray<Candidate> =>
  candidates
    .map((candidate): Entry => {
      const values = figures.length === 0 ? none : figures.map((figure) => figure(candidate))
      return { candidate, values, price: priceOf(candidate.host) }
    })
    .sort(compareEntries)
    .map(({ candidate }) => candidate)

const compareEntries = (one: Entry, other: Entry): number => {
  for (let at = 0; at < one.values.length; at++) {
    const difference = compared(one.values[at] ?? 0, other.values[at] ?? 0)
    if (difference !== 0) return difference
  }
  if (one.price === other.price) return compared<string>(one.candidate.host.tag, other.candidate.host.tag)
  if (one.price === null) return 1
  return other.price === null ? -1 : compared(one.price, other.price)
}

const compared = <A extends number | bigint | string>(one: A, other: A): number =>
  one === other ? 0 : one < other ? -1 : 1

const classes = { normal: 0, degraded: 1, down: 2 }

/**
 * In which order load balancing considers hosts: 0 normal, 1 degraded and 2 down over the last day, 3 with an outage in the
 * last 30 seconds.
 */
export const healthClass = ({ failing, standing }: HostSnapshot): number => (failing ? 3 : classes[standing])

/**
 * Orders candidates by a hash of `text` and each host's model and tag (rendezvous hashing): the same text gives the same order, texts are
 * spread evenly, and a host that comes or goes moves only the texts that were its own. For rankings that are sticky by something.
 */
export const rankByHash = (candidates: ReadonlyArray<Candidate>, text: string): ReadonlyArray<Candidate> => {
  const seed = Bun.hash.rapidhash(text)
  return candidates
    .map((candidate) => ({
      candidate,
      hash: Bun.hash.rapidhash(`${candidate.host.model} ${candidate.host.tag}`, seed),
    }))
    .sort((one, other) => compared(one.hash, other.hash))
    .map(({ candidate }) => candidate)
}
