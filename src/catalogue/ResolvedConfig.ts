/**
 * The resolved configuration: everything that a request needs, from the configuration and its plugins. The value never
 * changes; a reload replaces it (`catalogue/ProviderRegistry.ts`).
 */

import type { Cooldowns } from "../domain/failures/Verdict.ts"
import type { BreakerRules } from "../domain/hosts/Breaker.ts"
import type { Host, Model } from "../domain/hosts/Host.ts"
import type { ErrorFinish } from "../domain/money/Charge.ts"
import { operationOf } from "../domain/request/operations.ts"
import type { CheckedWhy } from "../plugin/checks/checked.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import type { Rank } from "../plugin/strategy.ts"
import { type Endpoint, endpointOf } from "./endpoints.ts"
import { type ModelNames, modelNames } from "./names.ts"
import { type ProviderSettings, type Providers, serves } from "./Providers.ts"

/** Limits for one request, and for all together. `Infinity`: none. */
export interface Limits {
  /** Milliseconds until a stream's first event; `undefined`: by `domain/hosts/attemptTime.ts`. */
  readonly ttfbMs: number | undefined
  /** Milliseconds of one attempt at a whole answer; `undefined`: by `domain/hosts/attemptTime.ts`. */
  readonly attemptMs: number | undefined
  /** `attemptMs` by the id of the model. It goes before the one of a provider. */
  readonly attemptMsByModel: ReadonlyMap<string, number>
  /** Milliseconds between events of a stream. */
  readonly idleMs: number
  /** Milliseconds between events, while a reasoning model has sent no content. */
  readonly thinkingIdleMs: number
  /** Milliseconds for a non-streaming answer, or until the first event of a stream, across all attempts. */
  readonly deadlineMs: number
  /** Milliseconds for a stream, from its first event on. */
  readonly streamMs: number
  /** Milliseconds after which a stream's status is sent even if no event has come. */
  readonly commitAfterMs: number
  /** Requests at once. */
  readonly maxInFlight: number
  /** Bytes of a request's body, and of a host's whole answer. */
  readonly bodyBytes: number
  /** Bytes of one stream of a host. */
  readonly streamBytes: number
  /** Milliseconds for which a client may read nothing of its stream. */
  readonly clientStallMs: number
  /** The least bytes per second, over a minute, of a host's stream; 0: no limit. */
  readonly minBytesPerSecond: number
  /** Attempts after the first one, as a share of the requests. */
  readonly retries: number
  readonly cooldown: Cooldowns
  readonly breaker: BreakerRules
}

export interface RoutingConfig {
  /** Installed strategies by id: the values of `provider.sort`. */
  readonly strategies: ReadonlyMap<string, Rank>
  /** The strategies that explain themselves, by id. */
  readonly whys: ReadonlyMap<string, CheckedWhy>
  /** Id of the strategy for requests without `sort`. When no strategy is installed, hosts keep the configured order. */
  readonly strategy: string
  readonly hedge: HedgeOptions
}

export interface HedgeOptions {
  /** `false`: never. `"on_request"`: where the request asks for it. `true`: unless the request declines. */
  readonly enabled: boolean | "on_request"
  /** Share of the spend of the last hour that losing calls may cost, 0 to 1. */
  readonly maxCostShare: number
}

/** Requests of a key to free models; 0: any number. */
export interface FreeLimits {
  readonly requestsPerMinute: number
  readonly requestsPerDay: number
}

export interface Billing {
  /** The cost of an answer that its host broke off. */
  readonly errorFinish: ErrorFinish
  readonly freeModels: FreeLimits
}

/** A server to ask for its models while the gateway runs. */
export interface LocalServer {
  readonly settings: ProviderSettings
  readonly plugin: ProviderPlugin
  /** Whether the configuration names it. A server that the gateway found by itself gets no key. */
  readonly isConfigured: boolean
}

export interface ResolvedConfig {
  /** In the order of the listing. May have hosts of providers that cannot be called. */
  readonly models: ReadonlyArray<Model>
  readonly names: ModelNames
  /** A host without an endpoint cannot be called; its provider has the reason. */
  readonly endpoints: ReadonlyMap<Host, Endpoint>
  readonly providers: Providers
  readonly limits: Limits
  readonly routing: RoutingConfig
  readonly billing: Billing
  /** Whether answers are kept for callers who sent an Idempotency-Key. */
  readonly keepsAnswers: boolean
  readonly localServers: ReadonlyArray<LocalServer>
  /** Further names for models, and the models' ids. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Adds what is derived from the rest: names and endpoints. */
export const resolvedConfig = (parts: Omit<ResolvedConfig, "names" | "endpoints">): ResolvedConfig => {
  const endpoints = new Map<Host, Endpoint>()
  for (const { architecture, hosts } of parts.models) {
    const operation = operationOf(architecture)
    const own: Array<Endpoint> = []
    for (const host of hosts) {
      const provider = parts.providers.get(host.provider)
      if (operation !== undefined && provider?.callable === true && serves(provider, host, operation))
        own.push(endpointOf(host, provider, operation))
    }
    const first = own[0]?.host.provider
    const isOneOfSeveral = own.some(({ host, keys }) => keys !== undefined || host.provider !== first)
    for (const endpoint of own)
      endpoints.set(endpoint.host, isOneOfSeveral ? { ...endpoint, isOneOfSeveral } : endpoint)
  }
  return { ...parts, names: modelNames(parts.models, parts.aliases), endpoints }
}
