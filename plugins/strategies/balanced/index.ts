import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, type Host } from "headgate/plugin"

/** Free hosts take almost all traffic, evenly among themselves: their price counts as this, USD. */
const cheapest = 1e-9

interface Prepared {
  /** USD for a prompt token and an output token together; infinite where it is not known. A float: it only weighs, it bills nothing. */
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

/** Puts a candidate behind all that are not dearer. Few and often in order already: nothing is moved then. */
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

/** Place of one candidate by chance, each with its weight; -1 where none has any. */
const draw = (candidates: ReadonlyArray<Candidate>, total: number, random: () => number): number => {
  let left = random() * total
  return candidates.findIndex(({ host }) => {
    left -= prepare(host).weight
    return left < 0
  })
}

/**
 * The default: one of the hosts that work is drawn by chance, the cheaper the likelier; the others follow as fallbacks,
 * cheapest first; then those that lately failed.
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
})
