/**
 * The configuration in force: models, how each host is called, limits, routing, billing. One cell holds an immutable value, so
 * that a reload replaces everything at once.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Endpoint } from "../catalogue/endpoints.ts"
import { type FoundServer, withServers } from "../catalogue/localServers.ts"
import { resolveName } from "../catalogue/names.ts"
import type { ResolvedConfig } from "../catalogue/ResolvedConfig.ts"
import type { BadRequest } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { WantedModel } from "../domain/routing/variants.ts"

export interface ConfigInForce {
  /** Read it anew for each request. */
  readonly current: () => ResolvedConfig
}

/** What the path of a request asks of each host. */
export interface Endpoints {
  /** How the host is called; `undefined`: it cannot be called, and `unavailable` has the reason. */
  readonly endpoint: (host: Host) => Endpoint | undefined
  /** Why the host cannot be called, for callers: `its provider is disabled`; `undefined`: it can. */
  readonly unavailable: (host: Host) => string | undefined
}

export interface ModelNames {
  /** The model with that id, alias or unique bare slug, and the variants in the name. Fails with similar names. */
  readonly resolve: (name: string) => Either.Either<WantedModel, BadRequest>
}

export class ProviderRegistry extends Context.Tag("headgate/ProviderRegistry")<
  ProviderRegistry,
  ConfigInForce &
    Endpoints &
    ModelNames & {
      /**
       * Puts another configuration in force. Requests that were planned before keep their hosts and prices. Servers that were
       * found stay.
       */
      readonly replace: (next: ResolvedConfig) => void
      /** Adds the models of servers that list them, in place of those that were found before. */
      readonly found: (servers: ReadonlyArray<FoundServer>) => void
      /** Calls the listener after each `replace`, until the scope is closed. For what is not read anew for each request. */
      readonly onReplaced: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
    }
>() {
  static readonly layer = (resolved: ResolvedConfig): Layer.Layer<ProviderRegistry> =>
    Layer.sync(ProviderRegistry, () => make(resolved))
}

const make = (first: ResolvedConfig) => {
  let configured = first
  let servers: ReadonlyArray<FoundServer> = []
  let resolved = first
  const listeners = new Set<() => void>()
  // Also has hosts of replaced configurations, while a request has them in its plan.
  const endpoints = new WeakMap<Host, Endpoint>()
  const remember = () => {
    for (const [host, endpoint] of resolved.endpoints) endpoints.set(host, endpoint)
  }
  remember()
  const merge = () => {
    resolved = withServers(configured, servers)
    remember()
  }
  return ProviderRegistry.of({
    current: () => resolved,
    replace: (next) => {
      configured = next
      merge()
      for (const listener of listeners) listener()
    },
    found: (next) => {
      servers = next
      merge()
    },
    onReplaced: (listener) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener)),
        ),
      ),
    resolve: (name) => resolveName(name, resolved.names),
    endpoint: (host) => endpoints.get(host),
    unavailable: (host) => {
      if (endpoints.has(host)) return undefined
      const provider = resolved.providers.get(host.provider)
      if (provider === undefined) return "its provider is not configured"
      return provider.callable ? "its provider does not serve this kind of model" : provider.reason
    },
  })
}
