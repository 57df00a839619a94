/** What a new catalogue changes for an installation. Pure. */
import { endpointKey, type Host, type Model } from "../domain/hosts/Host.ts"
import { priceVersion } from "../domain/price/PriceVersion.ts"
import type { Pricing } from "../domain/price/price.ts"

export interface CatalogueChanges {
  /** Ids. */
  readonly modelsAdded: ReadonlyArray<string>
  readonly modelsRemoved: ReadonlyArray<string>
  readonly hostsAdded: ReadonlyArray<Host>
  readonly hostsRemoved: ReadonlyArray<Host>
  /** Hosts whose price changes, with the new price. */
  readonly repriced: ReadonlyArray<{ readonly host: Host; readonly before: Pricing | null }>
}

export const changesBetween = (before: ReadonlyArray<Model>, after: ReadonlyArray<Model>): CatalogueChanges => {
  const [oldHosts, newHosts] = [hostsOf(before), hostsOf(after)]
  const [oldIds, newIds] = [new Set<string>(before.map(({ id }) => id)), new Set<string>(after.map(({ id }) => id))]
  return {
    modelsAdded: [...newIds].filter((id) => !oldIds.has(id)),
    modelsRemoved: [...oldIds].filter((id) => !newIds.has(id)),
    hostsAdded: [...newHosts].flatMap(([key, host]) => (oldHosts.has(key) ? [] : [host])),
    hostsRemoved: [...oldHosts].flatMap(([key, host]) => (newHosts.has(key) ? [] : [host])),
    repriced: [...newHosts].flatMap(([key, host]) => {
      const old = oldHosts.get(key)
      return old === undefined || samePrice(old.pricing, host.pricing) ? [] : [{ host, before: old.pricing }]
    }),
  }
}

const hostsOf = (models: ReadonlyArray<Model>): ReadonlyMap<string, Host> =>
  new Map(models.flatMap(({ hosts }) => hosts.map((host) => [endpointKey(host), host])))

const samePrice = (one: Pricing | null, other: Pricing | null): boolean =>
  one === null || other === null ? one === other : priceVersion(one).hash === priceVersion(other).hash
