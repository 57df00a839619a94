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

interface Entry extends Prepared {
  readonly candidate: Candidate
  readonly health: number
}

const entryOf = (candidate: Candidate): Entry => {
  const { price, weight } = prepare(candidate.host)
  return { candidate, health: healthClass(candidate.stats), price, weight }
}

const candidateOf = ({ candidate }: Entry): Candidate => candidate

/** Healthy ones first, then cheap ones. Equal ones keep the given order. */
const compare = (one: Entry, other: Entry): number => {
  if (one.health !== other.health) return one.health - other.health
  return one.price === other.price ? 0 : one.price < other.price ? -1 : 1
}

/** Index of a random one of the first `count`, weighted; 0 when none has a weight. */
const draw = (entries: ReadonlyArray<Entry>, count: number, random: number): number => {
  let total = 0
  for (let at = 0; at < count; at++) total += entries[at]?.weight ?? 0
  let left = random * total
  for (let at = 0; at < count; at++) {
    left -= entries[at]?.weight ?? 0
    if (left < 0) return at
  }
  return 0
}

/** The last of the classes of `healthClass`: hosts with an outage in the last 30 seconds. */
const failingClass = 3

/** How many of the sorted entries take part in the draw. */
const drawableCount = (entries: ReadonlyArray<Entry>): number => {
  const best = entries[0]?.health ?? failingClass
  if (best === failingClass) return 0
  let count = 0
  while (entries[count]?.health === best) count++
  return count
}

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
      const entries = candidates.map(entryOf)
      entries.sort(compare)
      const drawable = drawableCount(entries)
      const at = drawable < 2 ? 0 : draw(entries, drawable, random())
      const ranking = entries.map(candidateOf)
      const first = ranking[at]
      if (at === 0 || first === undefined) return ranking
      // The drawn one goes to the front, those before it a place back.
      ranking.copyWithin(1, 0, at)
      ranking[0] = first
      return ranking
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
