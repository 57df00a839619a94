/** Which hosts count as free, so that the limits of `billing.free_models` hold for their requests. */
import type { Host } from "./Host.ts"
import { maximumPrices } from "./Price.ts"

const known = new WeakMap<Host, boolean>()

/**
 * Whether a request to this host counts as one to a free model: the model's id ends in `:free`, or nothing costs anything
 * there and the provider is not on the operator's own network. A host without known prices is not free.
 */
export const isFree = (host: Host): boolean => {
  const before = known.get(host)
  if (before !== undefined) return before
  const { model, pricing, local } = host
  const costsNothing = pricing !== null && Object.values(maximumPrices(pricing)).every((price) => price === 0n)
  const free = model.endsWith(":free") || (costsNothing && !local)
  known.set(host, free)
  return free
}
