/** Display names of providers, for rows of the ledger, which have slugs. */
import type { ConfigInForce } from "../../../catalogue/ProviderRegistry.ts"

/** By slug. A provider that is not configured any more has none. */
export const providerNames = (registry: ConfigInForce): ReadonlyMap<string, string> =>
  new Map(
    registry
      .current()
      .models.flatMap(({ hosts }) => hosts.map(({ provider, providerName }) => [provider, providerName] as const)),
  )
