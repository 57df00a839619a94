/** What those who run the gateway see of each provider. Pure. */
import type { ProviderNote } from "../../catalogue/ProviderNote.ts"
import type { LoadedProvider } from "../../catalogue/Providers.ts"
import { factsOf } from "../../catalogue/Providers.ts"
import type { ResolvedConfig } from "../../catalogue/ResolvedConfig.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { ProviderRecord } from "../hosts/ProviderFailures.ts"
import type { ProviderKeyState } from "../hosts/ProviderKeys.ts"
import type { ProviderSpend } from "../storage/Storage.ts"

/** One of several keys of a provider. */
interface KeyInUse {
  readonly label: string
  /** Why it is passed over; `null`: it may be used. */
  readonly why: string | null
  /** Unix milliseconds; `null`: it may be used, or no time is known. */
  readonly restsUntil: number | null
  /** In all; `null`: not known. */
  readonly spent: Picodollars | null
}

export interface ProviderState extends ProviderNote, ProviderRecord {
  /** `null`: it is off. */
  readonly on: { readonly baseUrlHost: string; readonly network: "public" | "private" } | null
  /** How many hosts it has that can be called, and of how many models. */
  readonly hosts: number
  readonly models: number
  readonly keys: ReadonlyArray<KeyInUse>
}

export interface ProviderSources {
  readonly resolved: Pick<ResolvedConfig, "providers" | "endpoints">
  readonly notes: ReadonlyArray<ProviderNote>
  readonly keys: ReadonlyArray<ProviderKeyState>
  /** `null`: not known. */
  readonly spends: ReadonlyArray<ProviderSpend> | null
  /** `undefined`: not known. */
  readonly failures: { readonly of: (provider: string) => ProviderRecord } | undefined
  /** Unix milliseconds. */
  readonly now: number
}

/** Providers that are on first, then in the order of their slugs. */
export const providerStates = (sources: ProviderSources): ReadonlyArray<ProviderState> => {
  const { resolved, notes, failures } = sources
  const known = new Map(notes.map((note) => [note.slug, note]))
  const counts = countsIn(resolved)
  const slugs = new Set([...known.keys(), ...resolved.providers.keys()])
  const states = Array.from(slugs, (slug): ProviderState => {
    const provider = resolved.providers.get(slug)
    const loaded = provider?.callable === true ? provider : undefined
    const reason = provider?.callable === false ? provider.reason : "it is not configured"
    const note = known.get(slug) ?? noteOf(slug, loaded)
    const { hosts = 0, models } = counts.get(slug) ?? {}
    return {
      ...note,
      why: loaded === undefined ? (note.why ?? reason) : null,
      on: loaded === undefined ? null : { baseUrlHost: hostNameOf(loaded.baseUrl), network: loaded.network },
      hosts,
      models: models?.size ?? 0,
      keys: keysOf(slug, sources),
      ...(failures?.of(slug) ?? { lastError: null, accountRefusedAt: null }),
    }
  })
  const isOff = ({ on }: ProviderState) => (on === null ? 1 : 0)
  return states.toSorted((a, b) => isOff(a) - isOff(b) || (a.slug < b.slug ? -1 : 1))
}

/** Of one that nobody noted. */
const noteOf = (slug: string, loaded: LoadedProvider | undefined): ProviderNote => ({
  slug,
  name: loaded === undefined ? slug : factsOf(loaded.settings, loaded.plugin).name,
  plugin: loaded?.plugin.id ?? slug,
  source: "configuration",
  why: null,
  variables: [],
})

const countsIn = ({ endpoints }: Pick<ResolvedConfig, "endpoints">) => {
  const counts = new Map<string, { hosts: number; readonly models: Set<string> }>()
  for (const { provider, model } of endpoints.keys()) {
    const count = counts.get(provider) ?? { hosts: 0, models: new Set() }
    count.hosts += 1
    count.models.add(model)
    counts.set(provider, count)
  }
  return counts
}

/** Without port, path and what else an address may have. */
const hostNameOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "")

const keysOf = (slug: string, { keys, spends, now }: ProviderSources): ReadonlyArray<KeyInUse> => {
  const spentBy = new Map(spends?.map(({ providerKey, spend }) => [providerKey, spend.total]))
  return keys
    .filter(({ provider }) => provider === slug)
    .map(({ label, id, out }) => ({
      label,
      why: out?.why ?? null,
      restsUntil: out?.retryAfterMs === undefined ? null : now + out.retryAfterMs,
      spent: spends === null ? null : (spentBy.get(id) ?? 0n),
    }))
}
