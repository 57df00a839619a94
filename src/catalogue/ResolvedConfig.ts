/**
 * The resolved configuration: everything that a request needs to know, out of the configuration and its plugins. A value
 * that never changes; reloading puts another in its place (`services/ProviderRegistry.ts`).
 */
import type { Cooldowns } from "../domain/Cooldown.ts"
import type { Host, Model } from "../domain/Host.ts"
import type { Rank } from "../plugin/Strategy.ts"
import { type Endpoint, endpointOf } from "./endpoints.ts"
import { type ModelNames, modelNames } from "./names.ts"
import type { Providers } from "./providers.ts"

/** Bounds of one request and of all. `Infinity`: none. */
export interface Limits {
  /** Milliseconds until a stream's first event. */
  readonly ttfbMs: number
  /** Milliseconds between events of a stream. */
  readonly idleMs: number
  /** The same while a model that reasons has sent no content. */
  readonly thinkingIdleMs: number
  /** Milliseconds for a whole request, all attempts together. */
  readonly deadlineMs: number
  /** Milliseconds after which a stream's status is sent although no event came. */
  readonly commitAfterMs: number
  /** Requests at once. */
  readonly maxInFlight: number
  /** Bytes of a request's body, and of a host's whole answer. */
  readonly bodyBytes: number
  /** Bytes of one stream of a host. */
  readonly streamBytes: number
  /** Milliseconds that a caller may take no byte of a stream. */
  readonly clientStallMs: number
  /** Bytes per second, over a minute, that a stream of a host must reach; 0: any. */
  readonly minBytesPerSecond: number
  readonly cooldown: Cooldowns
}

export interface RoutingConfig {
  /** Every strategy that is installed, by id: what `provider.sort` may ask for. */
  readonly strategies: ReadonlyMap<string, Rank>
  /** Id of the one in force where a request asks for none. Not among them where none is installed: the configured order. */
  readonly strategy: string
}

export interface ResolvedConfig {
  /** In the order of the listing. Their hosts may be of providers that cannot be called. */
  readonly models: ReadonlyArray<Model>
  readonly names: ModelNames
  /** A host without one cannot be called; its provider says why. */
  readonly endpoints: ReadonlyMap<Host, Endpoint>
  readonly providers: Providers
  readonly limits: Limits
  readonly routing: RoutingConfig
  /** Names that callers may use, and the ids of the models that they mean. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Adds what follows from the rest: names and endpoints. */
export const resolvedConfig = (parts: Omit<ResolvedConfig, "names" | "endpoints">): ResolvedConfig => {
  const endpoints = new Map<Host, Endpoint>()
  for (const host of parts.models.flatMap(({ hosts }) => hosts)) {
    const provider = parts.providers.get(host.provider)
    if (provider?.callable === true) endpoints.set(host, endpointOf(host, provider))
  }
  return { ...parts, names: modelNames(parts.models, parts.aliases), endpoints }
}
