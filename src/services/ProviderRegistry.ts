/**
 * What there is: loaded provider plugins, configured hosts, the models they serve, and how each host is called. Made
 * once at start out of plain values; nothing in it changes afterwards. Architecture, services.
 */
import * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { BadRequest } from "../domain/Failure.ts"
import type { Host, Model } from "../domain/Host.ts"
import type { Auth, Provider } from "../plugin/Provider.ts"
import type { WireForm } from "../wire/Form.ts"
import type { Catalogue, LoadedProvider } from "./loadProviders.ts"

/** How one host is called. */
export interface Endpoint {
  readonly host: Host
  readonly form: WireForm
  readonly provider: Provider
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** Address and credentials are the house's: a plugin's headers come first and cannot take their place. */
  readonly headers: Readonly<Record<string, string>>
  /** The provider's key, which may not be told to anybody, whatever the host says. G27. */
  readonly secret: string | undefined
  readonly ttfbMs: number | undefined
  readonly proxy: string | undefined
}

export class ProviderRegistry extends Context.Tag("headgate/ProviderRegistry")<
  ProviderRegistry,
  {
    readonly models: ReadonlyArray<Model>
    /** The model of that id, alias, or bare slug that fits exactly one. Fails with near names. */
    readonly resolve: (name: string) => Either.Either<Model, BadRequest>
    readonly endpoint: (host: Host) => Endpoint | undefined
  }
>() {
  /** `aliases`: names that callers may use for a model id. */
  static readonly layer = (catalogue: Catalogue, aliases: ReadonlyMap<string, string> = new Map()) =>
    Layer.sync(ProviderRegistry, () => make(catalogue, aliases))
}

const make = ({ models, providers }: Catalogue, aliases: ReadonlyMap<string, string>) => {
  const endpoints = new Map<Host, Endpoint>()
  for (const host of models.flatMap(({ hosts }) => hosts)) {
    const provider = providers.get(host.provider)
    if (provider !== undefined) endpoints.set(host, endpointOf(host, provider))
  }
  const names = modelNames(models, aliases)
  return ProviderRegistry.of({
    models,
    resolve: (name) => {
      const model = names.get(name)
      return model !== undefined ? Either.right(model) : Either.left(unknownModel(name, models))
    },
    endpoint: (host) => endpoints.get(host),
  })
}

const endpointOf = (host: Host, { settings, plugin, provider, form }: LoadedProvider): Endpoint => ({
  host,
  form,
  provider,
  baseUrl: (settings.baseUrl ?? plugin.baseUrl ?? "http://in.process").replace(/\/+$/, ""),
  headers: {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "accept-encoding": "identity",
    ...credentials(plugin.auth, settings.apiKey),
  },
  secret: settings.apiKey === null ? undefined : Redacted.value(settings.apiKey),
  ttfbMs: settings.ttfbMs === 0 ? Number.POSITIVE_INFINITY : (settings.ttfbMs ?? undefined),
  proxy: settings.proxy ?? undefined,
})

const credentials = (auth: Auth, key: Redacted.Redacted | null): Record<string, string> => {
  if (key === null || auth._tag === "None") return {}
  const secret = Redacted.value(key)
  return auth._tag === "Bearer" ? { authorization: `Bearer ${secret}` } : { [auth.name]: secret }
}

/** Ids, aliases, and every bare slug that only one model has. */
const modelNames = (models: ReadonlyArray<Model>, aliases: ReadonlyMap<string, string>): ReadonlyMap<string, Model> => {
  const names = new Map<string, Model>(models.map((model) => [model.id, model]))
  const slugs = Map.groupBy(models, (model) => model.id.slice(model.id.indexOf("/") + 1))
  for (const [slug, owners] of slugs) {
    const [owner, another] = owners
    if (owner !== undefined && another === undefined && !names.has(slug)) names.set(slug, owner)
  }
  for (const [alias, id] of aliases) {
    const model = names.get(id)
    if (model !== undefined) names.set(alias, model)
  }
  return names
}

const unknownModel = (name: string, models: ReadonlyArray<Model>): BadRequest => {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name
  const near = nearest(name, models)
  const hint = near.length === 0 ? "" : ` (near: ${near.join(", ")})`
  return new BadRequest({
    issues: [{ path: "model", message: `${JSON.stringify(shown)} is not a valid model ID${hint}` }],
  })
}

/** Up to three ids that share the most letter triples with a name. */
const nearest = (name: string, models: ReadonlyArray<Model>): ReadonlyArray<string> => {
  const wanted = triples(name.slice(0, 128))
  return models
    .map((model) => {
      const own = triples(model.id)
      const shared = [...wanted].filter((triple) => own.has(triple)).length
      return { id: model.id, likeness: (2 * shared) / (wanted.size + own.size) }
    })
    .filter(({ likeness }) => likeness > 0.3)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, 3)
    .map(({ id }) => id)
}

const triples = (text: string): ReadonlySet<string> => {
  const lower = text.toLowerCase()
  return new Set(Array.from({ length: Math.max(0, lower.length - 2) }, (_, at) => lower.slice(at, at + 3)))
}
