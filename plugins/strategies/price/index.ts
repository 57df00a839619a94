import * as Schema from "effect/Schema"
import { defineStrategy, formatUsd, rankBy, sortPrice } from "headgate/plugin"

/**
 * The cheapest first, by the price of a prompt token and an output token together, less the discount. Unknown prices come
 * last, equal ones are ordered by tag. A failing host keeps its place.
 */
export default defineStrategy({
  id: "price",
  config: Schema.Struct({}),
  load: () => (candidates) => rankBy(candidates),
  why: ({ host }) => {
    const price = sortPrice(host.pricing)
    return { price_usd_per_million: price === null ? null : formatUsd(price * 1_000_000n) }
  },
})
