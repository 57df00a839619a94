/**
 * What there is: loaded provider plugins, configured hosts, the models they serve, and how each host is called. Made
 * once at start out of plain values; nothing in it changes afterwards. Architecture, services.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { BadRequest } from "../domain/Failure.ts"
import type { Host, Model, Privacy } from "../domain/Host.ts"
import type { Auth, Provider, ProviderPlugin } from "../plugin/Provider.ts"
import type { WireForm } from "../wire/Form.ts"
import { decodeModels, mergeModels, type ProviderFacts, servedBy } from "./catalogue.ts"
import { hint, type Problem, problemsOf, renderPath } from "./problems.ts"

/** One provider as the operator wants it. `null` or absent leaves the choice to the plugin, or to the house. */
export interface ProviderSettings {
  readonly slug: string
  /** Id of its plugin. */
  readonly plugin: string
  readonly name?: string | null
  readonly baseUrl?: string | null
  readonly apiKey?: Redacted.Redacted | null
  readonly privacy?: Privacy | null
  /** Milliseconds to the first event of a stream. */
  readonly ttfbMs?: number | null
  readonly enabled?: boolean
  /** `private`: it may be on this machine or in this network. */
  readonly network?: "public" | "private"
  readonly proxy?: string | null
  /** Which of the plugin's wire forms it is called by; `null`: the plugin's first. */
  readonly api?: string | null
  /** What is the plugin's own: decoded by its Schema. */
  readonly own?: unknown
}

export interface RegistryOptions {
  readonly plugins: ReadonlyArray<ProviderPlugin>
  readonly providers: ReadonlyArray<ProviderSettings>
  /** Entries in the form of `models` of the configuration; those of the plugins are added behind them. */
  readonly models?: ReadonlyArray<unknown>
  /** Names that callers may use for a model id. */
  readonly aliases?: ReadonlyMap<string, string>
}

/** Providers or models that cannot be used as they are configured. */
export class ProvidersInvalid extends Data.TaggedError("ProvidersInvalid")<{
  readonly problems: ReadonlyArray<Problem>
}> {
  override get message() {
    return this.problems.map(({ path, message }) => `${path}: ${message}`).join("\n")
  }
}

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
  static readonly layer = (options: RegistryOptions) => Layer.effect(ProviderRegistry, make(options))
}

interface LoadedProvider {
  readonly settings: ProviderSettings
  readonly plugin: ProviderPlugin
  readonly provider: Provider
}

const make = (options: RegistryOptions) =>
  Effect.gen(function* () {
    const plugins = new Map(options.plugins.map((plugin) => [plugin.id, plugin]))
    const providers = options.providers.filter(({ enabled }) => enabled !== false)
    const [problems, loaded] = Arr.separate(providers.map((settings) => loadProvider(settings, plugins)))
    const facts = new Map(
      options.providers.map(
        (settings) => [settings.slug, providerFacts(settings, plugins.get(settings.plugin))] as const,
      ),
    )
    const configured = decodeModels(options.models ?? [], facts)
    const brought = loaded.map(({ settings: { slug }, provider }) =>
      decodeModels(servedBy(provider.models ?? [], slug), facts, ["providers", slug, "models"]),
    )
    const sources = [configured, ...brought]
    const all = [...problems.flat(), ...sources.flatMap((source) => source.problems)]
    if (all.length > 0) return yield* new ProvidersInvalid({ problems: all })
    const models = mergeModels(sources.map((source) => source.models))

    const bySlug = new Map(loaded.map((entry) => [entry.settings.slug, entry]))
    const endpoints = new Map<Host, Endpoint>()
    for (const model of models) {
      for (const host of model.hosts) {
        const entry = bySlug.get(host.provider)
        if (entry !== undefined) endpoints.set(host, endpointOf(host, entry))
      }
    }
    const names = modelNames(models, options.aliases ?? new Map())
    return {
      models,
      resolve: (name: string) => {
        const model = names.get(name)
        return model !== undefined ? Either.right(model) : Either.left(unknownModel(name, models))
      },
      endpoint: (host: Host) => endpoints.get(host),
    }
  })

const loadProvider = (
  settings: ProviderSettings,
  plugins: ReadonlyMap<string, ProviderPlugin>,
): Either.Either<LoadedProvider, ReadonlyArray<Problem>> => {
  const problem = (member: string, message: string) =>
    Either.left([{ path: renderPath(["providers", settings.slug, member]), message }])
  const plugin = plugins.get(settings.plugin)
  if (plugin === undefined) {
    return problem(
      "plugin",
      `expected the id of a loaded plugin, got "${settings.plugin}"${hint(settings.plugin, plugins.keys())}`,
    )
  }
  const provider = plugin.load(settings.own ?? {})
  if (Either.isLeft(provider)) return Either.left(problemsOf(provider.left.issue, ["providers", settings.slug]))
  if (settings.baseUrl == null && plugin.baseUrl === undefined && provider.right.answer === undefined) {
    return problem("base_url", "expected a URL, got nothing: this plugin has no address of its own")
  }
  const forms: ReadonlyArray<string> = Object.keys(provider.right.operations)
  if (settings.api != null && !forms.includes(settings.api)) {
    return problem("api", `expected one of ${forms.join(", ")}, got "${settings.api}"`)
  }
  return Either.right({ settings, plugin, provider: provider.right })
}

const providerFacts = (settings: ProviderSettings, plugin: ProviderPlugin | undefined): ProviderFacts => ({
  // A generic plugin's name would say nothing: whoever gave the provider a slug of its own named it.
  name: settings.name ?? (settings.slug === plugin?.id ? plugin.name : settings.slug),
  privacy: settings.privacy ?? plugin?.privacy ?? { mayTrain: true, retainsPrompts: true },
  local: settings.network === "private",
})

const endpointOf = (host: Host, { settings, plugin, provider }: LoadedProvider): Endpoint => {
  const forms = Object.entries(provider.operations) as ReadonlyArray<readonly [string, WireForm]>
  const [, first] = forms[0] ?? []
  const form = forms.find(([name]) => name === settings.api)?.[1] ?? first
  if (form === undefined) throw new Error(`plugin ${plugin.id} has no operations`)
  return {
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
    secret: settings.apiKey == null ? undefined : Redacted.value(settings.apiKey),
    ttfbMs: settings.ttfbMs === 0 ? Number.POSITIVE_INFINITY : (settings.ttfbMs ?? undefined),
    proxy: settings.proxy ?? undefined,
  }
}

const credentials = (auth: Auth, key: Redacted.Redacted | null | undefined): Record<string, string> => {
  if (key == null || auth._tag === "None") return {}
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
