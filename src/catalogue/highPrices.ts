/** Prices that look as if they were written per million tokens. Pure. */
import type { Model } from "../domain/hosts/Host.ts"
import { shortened } from "./unknownPrices.ts"

/** Picodollars per token above which a price was probably meant per million tokens: 0.001 USD, 1,000 per million. */
const mostLikely = 1_000_000_000n

/** Hosts whose prices are above all that vendors ask, in a sentence; `undefined` when there are none. */
export const highPriceWarning = (models: ReadonlyArray<Model>): string | undefined => {
  const high = models.flatMap(({ id, hosts }) =>
    hosts
      .filter(({ pricing }) => pricing !== null && (pricing.prompt > mostLikely || pricing.completion > mostLikely))
      .map(({ tag }) => `${id} at ${tag}`),
  )
  return high.length === 0
    ? undefined
    : `a token costs more than 0.001 USD (1,000 per million): ${shortened(high)}. Prices are USD per token, so 0.40 per million is "0.0000004"`
}
