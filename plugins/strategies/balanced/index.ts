import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy } from "headgate/plugin"

/** Free hosts take almost all traffic, evenly among themselves: their price counts as this, USD. Reference 14.4. */
const cheapest = 1e-9

/** USD for a prompt token and an output token together. A float: it only weighs, it bills nothing. */
const price = ({ host: { pricing } }: Candidate): number =>
  pricing === null ? Number.POSITIVE_INFINITY : Math.max(Number(pricing.prompt + pricing.completion) / 1e12, cheapest)

const byPrice = (one: Candidate, other: Candidate): number =>
  price(one) < price(other) ? -1 : price(one) > price(other) ? 1 : 0

/** One candidate by chance, each with the weight 1/price². */
const pick = (candidates: ReadonlyArray<Candidate>, random: () => number): Candidate | undefined => {
  const weights = candidates.map((candidate) => price(candidate) ** -2)
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0)
  return candidates.find((_, at) => {
    left -= weights[at] ?? 0
    return left < 0
  })
}

/**
 * The default: one of the hosts that work is picked by chance, the cheaper the likelier; the others follow as fallbacks,
 * cheapest first; then those that lately failed. Reference 14.4.
 */
export default defineStrategy({
  id: "balanced",
  config: Schema.Struct({}),
  load:
    () =>
    (candidates, { random }) => {
      const failing = candidates.filter(({ seen }) => seen.failing).toSorted(byPrice)
      const working = candidates.filter(({ seen }) => !seen.failing).toSorted(byPrice)
      const first = pick(working, random)
      return first === undefined
        ? [...working, ...failing]
        : [first, ...working.filter((candidate) => candidate !== first), ...failing]
    },
})
