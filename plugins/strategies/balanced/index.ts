import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, formatUsd, type Host, healthClass, sortPrice } from "headgate/plugin"

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
  const sum = sortPrice(host.pricing)
  const price = sum === null ? Number.POSITIVE_INFINITY : Math.max(Number(sum) / 1e12, cheapest)
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
const draw = (candidates: ReadonlyArray<Candidate>, random: () => number): number => {
  let left = random() * candidates.reduce((sum, { host }) => sum + prepare(host).weight, 0)
  return candidates.findIndex(({ host }) => {
    left -= prepare(host).weight
    return left < 0
  })
}

/** The last of the classes of `healthClass`: hosts with an outage in the last 30 seconds. */
const failingClass = 3

/**
 * The default strategy: the first host is drawn at random, weighted by 1/price², from the hosts in the best class of health.
 * The others of the class follow as fallbacks, cheapest first, then the other classes: normal hosts, those that were degraded
 * or down over the last day, and those with an outage in the last 30 seconds, which take part in no draw.
 */
export default defineStrategy({
  id: "balanced",
  config: Schema.Struct({}),
  load:
    () =>
    (candidates, { random }) => {
      const classes: ReadonlyArray<Array<Candidate>> = [[], [], [], []]
      for (const candidate of candidates) insert(classes[healthClass(candidate.stats)] ?? [], candidate)
      const best = classes.findIndex((hosts) => hosts.length > 0)
      const drawn = classes[best] ?? []
      const at = drawn.length < 2 || best === failingClass ? 0 : draw(drawn, random)
      const [first] = at > 0 ? drawn.splice(at, 1) : []
      if (first !== undefined) drawn.unshift(first)
      return drawn.length === candidates.length ? drawn : classes.flat()
    },
  why: ({ host, stats }) => {
    const price = sortPrice(host.pricing)
    return {
      price_usd_per_million: price === null ? null : formatUsd(price * 1_000_000n),
      // Of the price per million, so that it is readable. A failing host takes no part in the draw.
      weight: stats.failing ? 0 : Number((prepare(host).weight / 1e12).toPrecision(4)),
      failing: stats.failing,
      standing: stats.standing,
    }
  },
})
