import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, formatUsd, type Host } from "headgate/plugin"

/** The price in USD that counts for free hosts. They get almost all traffic, evenly among themselves. */
const cheapest = 1e-9

interface Prepared {
  /** USD for a prompt token and an output token together; infinite when unknown. A float, since it is only a weight. */
  readonly price: number
  /** Its share of the draws, relative to the others: 1/price². */
  readonly weight: number
}

/** Hosts live as long as the configuration, so their prices are converted once. */
const prepared = new WeakMap<Host, Prepared>()

const prepare = (host: Host): Prepared => {
  const before = prepared.get(host)
  if (before !== undefined) return before
  const { pricing } = host
  const price =
    pricing === null ? Number.POSITIVE_INFINITY : Math.max(Number(pricing.prompt + pricing.completion) / 1e12, cheapest)
  const made = { price, weight: price ** -2 }
  prepared.set(host, made)
  return made
}

/** Inserts a candidate after all that are not more expensive. Cheap for few candidates that are mostly in order. */
const insert = (sorted: Array<Candidate>, candidate: Candidate): void => {
  const { price } = prepare(candidate.host)
  let at = sorted.length
  for (; at > 0; at--) {
    const before = sorted[at - 1]
    if (before === undefined || prepare(before.host).price <= price) break
  }
  if (at === sorted.length) sorted.push(candidate)
  else sorted.splice(at, 0, candidate)
}

/** Index of a random candidate, weighted; -1 when no candidate has a weight. */
const draw = (candidates: ReadonlyArray<Candidate>, total: number, random: () => number): number => {
  let left = random() * total
  return candidates.findIndex(({ host }) => {
    left -= prepare(host).weight
    return left < 0
  })
}

/**
 * The default strategy: the first host is drawn at random from those that are not failing, weighted by 1/price². The
 * others follow as fallbacks, cheapest first, then those that are failing.
 */
export default defineStrategy({
  id: "balanced",
  config: Schema.Struct({}),
  load:
    () =>
    (candidates, { random }) => {
      const working: Array<Candidate> = []
      const failing: Array<Candidate> = []
      let total = 0
      for (const candidate of candidates) {
        if (candidate.stats.failing) insert(failing, candidate)
        else {
          insert(working, candidate)
          total += prepare(candidate.host).weight
        }
      }
      const at = working.length < 2 ? 0 : draw(working, total, random)
      const [first] = at > 0 ? working.splice(at, 1) : []
      if (first !== undefined) working.unshift(first)
      return failing.length === 0 ? working : working.concat(failing)
    },
  why: ({ host, stats }) => {
    const { pricing } = host
    return {
      price_usd_per_million: pricing === null ? null : formatUsd((pricing.prompt + pricing.completion) * 1_000_000n),
      // Of the price per million, so that it is readable. A failing host takes no part in the draw.
      weight: stats.failing ? 0 : Number((prepare(host).weight / 1e12).toPrecision(4)),
      failing: stats.failing,
    }
  },
})
