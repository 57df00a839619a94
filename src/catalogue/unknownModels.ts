/** Hosts whose names say nothing of the model behind them. Pure. */
import type { Model } from "../domain/hosts/Host.ts"
import { shortened } from "./unknownPrices.ts"

/** Those hosts, in a sentence; `undefined` when there are none. */
export const unknownModelWarning = (models: ReadonlyArray<Model>): string | undefined => {
  const unknown = models.flatMap(({ id, hosts }) =>
    hosts.filter(({ isAlias }) => isAlias === true).map(({ tag }) => `${id} at ${tag}`),
  )
  return unknown.length === 0
    ? undefined
    : `a host's name does not say which model it is: ${shortened(unknown)}. Set base_model to the vendor's name of the model: without it thinking, caching and prices may be wrong`
}
