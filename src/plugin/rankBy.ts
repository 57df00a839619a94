/** What rankings have in common: sorting by figures, and classes of health. */
import type { Host } from "../domain/Host.ts"
import { sortPrice } from "../domain/Price.ts"
import type { Candidate, HostSnapshot } from "./Strategy.ts"

/** A number by which candidates are sorted, the smallest first; `Infinity` for those without data. */
export type Figure = (candidate: Candidate) => number

/**
 * Sorts by figures, the first one first. Where all are equal, the cheaper host comes first (`sortPrice`, unknown prices
 * last), then the one with the smaller tag. Each figure is read once for each candidate.
 */
export const rankBy = (
  candidates: ReadonlyArray<Candidate>,
  ...figures: ReadonlyArray<Figure>
): ReadonlyArray<Candidate> =>
  candidates
    .map((candidate) => ({ candidate, values: figures.map((figure) => figure(candidate)) }))
    .sort((one, other) => {
      for (const [at, value] of one.values.entries()) {
        const difference = compared(value, other.values[at] ?? value)
        if (difference !== 0) return difference
      }
      return byPriceAndTag(one.candidate.host, other.candidate.host)
    })
    .map(({ candidate }) => candidate)

const compared = <A extends number | bigint | string>(one: A, other: A): number =>
  one === other ? 0 : one < other ? -1 : 1

const byPriceAndTag = (one: Host, other: Host): number => {
  const [price, otherPrice] = [sortPrice(one.pricing), sortPrice(other.pricing)]
  if (price === otherPrice) return compared<string>(one.tag, other.tag)
  if (price === null) return 1
  return otherPrice === null ? -1 : compared(price, otherPrice)
}

const classes = { normal: 0, degraded: 1, down: 2 }

/**
 * In which order load balancing considers hosts: 0 normal, 1 degraded and 2 down over the last day, 3 with an outage in the
 * last 30 seconds.
 */
export const healthClass = ({ failing, standing }: HostSnapshot): number => (failing ? 3 : classes[standing])
