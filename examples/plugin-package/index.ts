/** Steady: hosts by their price, those in trouble last. `routing.strategies.steady` configures it. */
import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, sortPrice } from "headgate/plugin"

const Config = Schema.Struct({
  /** Hosts with a lower uptime stand behind the others, percent. Default 95. */
  least_uptime: Schema.optionalWith(Schema.Number, { default: () => 95 }),
})

/** By the price of a prompt token and an output token together; hosts without a known price come last. */
const byPrice = (a: Candidate, b: Candidate): number => {
  const [first, second] = [sortPrice(a.host.pricing), sortPrice(b.host.pricing)]
  if (first === second) return 0
  if (first === null) return 1
  if (second === null) return -1
  return first < second ? -1 : 1
}

export default defineStrategy({
  id: "steady",
  config: Config,
  load: ({ least_uptime: least }) => {
    const isInTrouble = ({ stats }: Candidate): boolean => stats.failing || (stats.uptime ?? 100) < least
    return (candidates) =>
      candidates.toSorted((a, b) => Number(isInTrouble(a)) - Number(isInTrouble(b)) || byPrice(a, b))
  },
  // What a caller of /route/explain sees of each host.
  why: ({ stats }) => ({ uptime: stats.uptime, failing: stats.failing }),
})
