import * as Schema from "effect/Schema"
import { type Candidate, defineStrategy, formatUsd } from "headgate/plugin"

/** Picodollars for a prompt token and an output token together; hosts with an unknown price come last. */
const price = ({ host: { pricing } }: Candidate): bigint | undefined =>
  pricing === null ? undefined : pricing.prompt + pricing.completion

const cheaper = (one: Candidate, other: Candidate): number => {
  const [a, b] = [price(one), price(other)]
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined || a < b ? -1 : 1
}

/** Cheapest first; equal prices keep the given order. */
export default defineStrategy({
  id: "price",
  config: Schema.Struct({}),
  load: () => (candidates) => candidates.toSorted(cheaper),
  why: (candidate) => {
    const sum = price(candidate)
    return { price_usd_per_million: sum === undefined ? null : formatUsd(sum * 1_000_000n) }
  },
})
