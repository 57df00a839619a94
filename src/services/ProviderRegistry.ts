/**
 * The configuration in force: models, how each host is called, limits and routing. One cell that holds a value which
 * never changes, so that a request reads properties and a reload exchanges everything at once.
 */
import * as Context from "effect/Context"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Endpoint } from "../catalogue/endpoints.ts"
import { type ResolvedModel, resolveName } from "../catalogue/names.ts"
import type { ResolvedConfig } from "../catalogue/ResolvedConfig.ts"
import type { BadRequest } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"

export class ProviderRegistry extends Context.Tag("headgate/ProviderRegistry")<
  ProviderRegistry,
  {
    /** Read it anew for each request. */
    readonly current: () => ResolvedConfig
    /** Puts another configuration in force. Requests that were planned before keep the hosts that they have. */
    readonly replace: (next: ResolvedConfig) => void
    /** The model of that id, alias, or bare slug that fits exactly one. Fails with near names. */
    readonly resolve: (name: string) => Either.Either<ResolvedModel, BadRequest>
    /** How the host is called; `undefined`: not at all, and `unavailable` says why. */
    readonly endpoint: (host: Host) => Endpoint | undefined
    /** Why the host cannot be called, for callers: `its provider is disabled`; `undefined`: it can. */
    readonly unavailable: (host: Host) => string | undefined
  }
>() {
  static readonly layer = (resolved: ResolvedConfig) => Layer.sync(ProviderRegistry, () => make(resolved))
}

const make = (first: ResolvedConfig) => {
  let resolved = first
  // Also the hosts of configurations that were replaced, for as long as a request has them in its plan.
  const endpoints = new WeakMap<Host, Endpoint>()
  const remember = () => {
    for (const [host, endpoint] of resolved.endpoints) endpoints.set(host, endpoint)
  }
  remember()
  return ProviderRegistry.of({
    current: () => resolved,
    replace: (next) => {
      resolved = next
      remember()
    },
    resolve: (name) => resolveName(name, resolved.names, resolved.models),
    endpoint: (host) => endpoints.get(host),
    unavailable: (host) => {
      if (endpoints.has(host)) return undefined
      const provider = resolved.providers.get(host.provider)
      return provider?.callable === false ? provider.reason : "its provider is not configured"
    },
  })
}
