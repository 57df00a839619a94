/** What keys have spent, and what keys of providers were charged, as management lists them. */
import * as Schema from "effect/Schema"
import type { ConfigInForce } from "../../../catalogue/ProviderRegistry.ts"
import type { Spend } from "../../../domain/keys/limitWindows.ts"
import { formatUsd } from "../../../domain/price/money.ts"
import type { ProviderSpend } from "../../../services/storage/Storage.ts"

/** What a key has spent, exact USD as decimal text: in total, and in this UTC day, week and month. */
const Spender = Schema.Struct({
  hash: Schema.String,
  /** The last one of a deleted key; `null`: it is not known. */
  name: Schema.NullOr(Schema.String),
  is_deleted: Schema.Boolean,
  usage: Schema.String,
  usage_daily: Schema.String,
  usage_weekly: Schema.String,
  usage_monthly: Schema.String,
}).annotations({ identifier: "Spender" })

/**
 * What one of several keys of a provider was charged by its vendor, exact USD as decimal text: in total, and in this UTC day,
 * week and month.
 */
const ProviderKeySpend = Schema.Struct({
  /** Its slug. */
  provider: Schema.String,
  /** As in the log, such as `key 2 (OPENAI_KEY_B)`; `null`: it is not configured any more. */
  api_key: Schema.NullOr(Schema.String),
  /** The provider and a hash that only this installation can make: `provider_key` of the ledger. */
  id: Schema.String,
  usage: Schema.String,
  usage_daily: Schema.String,
  usage_weekly: Schema.String,
  usage_monthly: Schema.String,
}).annotations({ identifier: "ProviderKeySpend" })

export const ProviderKeysAnswer = Schema.Struct({ data: Schema.Array(ProviderKeySpend) })

/** `next`: `after` of the next page; `null`: this is the last one. */
export const SpendAnswer = Schema.Struct({ data: Schema.Array(Spender), next: Schema.NullOr(Schema.String) })

const nothingSpent: Spend = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }

export const amountsIn = (spend: Spend) => ({
  usage: formatUsd(spend.total),
  usage_daily: formatUsd(spend.daily),
  usage_weekly: formatUsd(spend.weekly),
  usage_monthly: formatUsd(spend.monthly),
})

/** One of several keys of a provider, as the configuration has it. */
interface ConfiguredKey {
  readonly id: string
  /** Slug. */
  readonly provider: string
  readonly label: string
  readonly place: number
}

/** The keys of providers that have several, by provider and place. A key has an endpoint for each host of its provider. */
export const configuredKeys = (registry: ConfigInForce, installation: string): ReadonlyArray<ConfiguredKey> => {
  const keys = new Map<string, Omit<ConfiguredKey, "id">>()
  for (const { host, keys: several = [] } of registry.current().endpoints.values()) {
    for (const { place, label, idIn } of several)
      keys.set(idIn(installation), { provider: host.provider, label, place })
  }
  return [...keys]
    .map(([id, key]) => ({ id, ...key }))
    .toSorted((a, b) => (a.provider === b.provider ? a.place - b.place : a.provider < b.provider ? -1 : 1))
}

/** What each of these keys was charged, and after them the keys that are not configured any more. */
export const providerKeySpends = (
  configured: ReadonlyArray<ConfiguredKey>,
  spends: ReadonlyArray<ProviderSpend>,
): ReadonlyArray<typeof ProviderKeySpend.Type> => {
  const spendOf = new Map(spends.map(({ providerKey, spend }) => [providerKey, spend]))
  const known = new Set(configured.map(({ id }) => id))
  return [
    ...configured.map(({ id, provider, label }) => ({
      provider,
      api_key: label,
      id,
      ...amountsIn(spendOf.get(id) ?? nothingSpent),
    })),
    ...spends
      .filter(({ providerKey }) => !known.has(providerKey))
      .map(({ providerKey: id, spend }) => ({
        provider: id.slice(0, id.lastIndexOf("/")),
        api_key: null,
        id,
        ...amountsIn(spend),
      })),
  ]
}
