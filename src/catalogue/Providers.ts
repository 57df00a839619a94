/**
 * Loads the providers: from plugins and the configuration to the providers that can be called and their models.
 * Mistakes in the configuration are reported as problems, all at once. A mistake of a plugin turns its provider off.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { baseModelOf, type Host, type Model, type Privacy } from "../domain/hosts/Host.ts"
import { withLimits } from "../domain/hosts/modelLimits.ts"
import type { Network } from "../domain/hosts/networkReach.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { hint, type Problem, problemsOf, renderPath, sentence } from "../domain/json/Problem.ts"
import { hiding } from "../domain/json/redaction.ts"
import type { LimitReset } from "../domain/keys/limitWindows.ts"
import { withMultiplied } from "../domain/price/CacheMultipliers.ts"
import type { Picodollars } from "../domain/price/money.ts"
import { isUnaryName, type OperationName } from "../domain/request/operations.ts"
import type { CheckedProvider } from "../plugin/checks/checked.ts"
import type { CheckedProtocol } from "../plugin/checks/checkedProtocol.ts"
import { PluginFault } from "../plugin/checks/PluginFault.ts"
import { PluginInvalid, reasonOf } from "../plugin/checks/PluginInvalid.ts"
import { loadProvider } from "../plugin/loading/load.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import type { NamedSecret } from "../plugin/Secret.ts"
import { checkBaseUrl, normalBaseUrl } from "./baseUrl.ts"
import type { Catalogue } from "./catalogueFile.ts"
import { decodeModels, mergeModels, type ProviderFacts, servedBy, withBaseModels } from "./models.ts"

/** One provider as it is configured. `null`: the plugin's default, or the gateway's. */
export interface ProviderSettings {
  readonly slug: string
  /** Id of its plugin. */
  readonly plugin: string
  readonly name: string | null
  readonly baseUrl: string | null
  readonly apiKey: Redacted.Redacted | null
  /** Where the configuration has that key: the variable that it names, or "plain text". Absent: it has none. */
  readonly apiKeySource?: string
  /** Keys to choose from for each call, in place of `apiKey`; `null`: there is only that. */
  readonly apiKeys: ReadonlyArray<ProviderKeySettings> | null
  readonly privacy: Privacy | null
  /** Milliseconds to the first event of a stream. */
  readonly ttfbMs: number | null
  /** Milliseconds of one attempt at a whole answer. */
  readonly attemptMs: number | null
  /** Calls at once. */
  readonly maxConcurrent: number | null
  /** Overrides what its hosts declare. Absent or `null`: their own value applies. */
  readonly billsAfterAbort?: boolean | null
  readonly enabled: boolean
  /** `private`: it may be on this machine or in this network. */
  readonly network: Network | null
  readonly proxy: string | null
  /** Whether its hosts get a `traceparent`. */
  readonly traceparent: boolean | null
  /** Top-level members of requests that pass to its hosts unread, beside those that its plugin names. */
  readonly extraMembers: ReadonlyArray<string>
  /** Marks of its hosts for strategies. */
  readonly tags: ReadonlyArray<string>
  /** Name of the plugin's protocol by which its hosts are called for a chat. */
  readonly api: string | null
  /** The fields that are not the gateway's. The plugin's own schema decodes them. */
  readonly own: JsonObject
}

/** One of several keys of a provider. */
export interface ProviderKeySettings {
  readonly key: NamedSecret
  /** How often it is used in relation to the others. Above 0. */
  readonly weight: number
  /** What it may spend at the provider, in each window of `limitReset`; `null`: no bound. */
  readonly limit: Picodollars | null
  readonly limitReset: LimitReset | null
}

export interface ProviderOptions {
  readonly plugins: ReadonlyArray<ProviderPlugin>
  /** Ids of plugins that could not be loaded. To name one is no mistake in the configuration. */
  readonly brokenPlugins?: ReadonlySet<string>
  /** Providers of the configuration. */
  readonly configured: ReadonlyArray<ProviderSettings>
  /** Providers that are on without configuration. One that cannot be used is off, and is not reported as a problem. */
  readonly discovered?: ReadonlyArray<ProviderSettings>
  /**
   * Servers that the gateway looks for while it runs (`localServers.ts`). A host may name them before they are found.
   */
  readonly local?: ReadonlyArray<ProviderSettings>
  /** Slugs of providers whose configuration could not be decoded. A host may name them. */
  readonly unread?: ReadonlySet<string>
  /** Of those what their plugins can check. */
  readonly halfRead?: ReadonlyArray<ProviderSettings>
  /** In the form of `models` of the configuration. The models of the plugins are added after them. */
  readonly models: ReadonlyArray<unknown>
  /** Lists of models in the place of those that the plugins bring, by the plugin's id. */
  readonly catalogue?: Catalogue
}

/** A provider that can be called. */
export interface LoadedProvider {
  readonly callable: true
  readonly settings: ProviderSettings
  readonly plugin: ProviderPlugin
  readonly provider: CheckedProvider
  /** The protocol by which its hosts are called for a chat; `undefined`: they do not chat. */
  readonly protocol: CheckedProtocol | undefined
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly network: Network
}

/** How a host is called for a chat: by the protocol of its own, or that of its provider. `undefined`: not at all. */
export const protocolOf = (host: Host, { protocol, provider }: LoadedProvider): CheckedProtocol | undefined => {
  const { api } = host
  const named =
    api === undefined ? protocol : Object.hasOwn(provider.protocols, api) ? provider.protocols[api] : undefined
  if (named?.native?.isSpokenBy?.(host) !== false) return named
  const { native: _, ...translating } = named
  return translating
}

/**
 * By client form, the protocols by which a host is called for what only hosts of the form can carry, beside its own.
 */
export const otherProtocolsOf = (
  host: Host,
  { settings, provider, protocol }: LoadedProvider,
): ReadonlyMap<string, CheckedProtocol> => {
  // Who names a protocol wants no other.
  if (host.api !== undefined || settings.api !== null) return new Map()
  return new Map(
    Object.values(provider.protocols).flatMap((other) => {
      const { native } = other
      if (native?.ofEveryHost !== true || native.form === protocol?.native?.form) return []
      return native.isSpokenBy?.(host) === false ? [] : [[native.form, other]]
    }),
  )
}

/** The protocol by which a host is called for requests with tools. `undefined`: by that of all others. */
export const protocolWithTools = (host: Host, { settings, provider }: LoadedProvider): CheckedProtocol | undefined => {
  // Who names a protocol wants no other.
  if (host.api !== undefined || settings.api !== null) return undefined
  const name = provider.toolsBy?.(host)
  return name === undefined ? undefined : provider.protocols[name]
}

/** Whether the host can be called for this operation. `undefined`: one that no request can ask for. */
export const serves = (loaded: LoadedProvider, host: Host, operation: OperationName | undefined): boolean =>
  operation !== undefined &&
  (isUnaryName(operation) ? loaded.provider[operation] : protocolOf(host, loaded)) !== undefined

/** A provider that is known and cannot be called. Hosts may name it. */
export interface ProviderOff {
  readonly callable: false
  /** The reason for callers, as said of one of its hosts: `its provider is disabled`. */
  readonly reason: string
}

/** By slug. */
export type Providers = ReadonlyMap<string, LoadedProvider | ProviderOff>

export interface LoadedProviders {
  readonly models: ReadonlyArray<Model>
  readonly providers: Providers
  readonly problems: ReadonlyArray<Problem>
  /** Plugins that turned out to be unusable, once each. */
  readonly off: ReadonlyArray<PluginInvalid>
}

const disabled: ProviderOff = { callable: false, reason: "its provider is disabled" }
/** Of a server on this machine, while nothing answers there. */
export const notFound: ProviderOff = { callable: false, reason: "its server was not found" }
const broken: ProviderOff = { callable: false, reason: "its provider could not be loaded" }

/** Loads the providers that are on, concurrently. Of the others only the settings are read. */
export const loadProviders = (options: ProviderOptions): Effect.Effect<LoadedProviders> =>
  Effect.gen(function* () {
    const { configured, discovered = [], local = [], unread = new Set(), brokenPlugins = new Set<string>() } = options
    const { catalogue = new Map() } = options
    const plugins = new Map(options.plugins.map((plugin) => [plugin.id, plugin]))
    const wanted = [...configured, ...discovered]
    const facts = new Map([
      ...Array.from([...unread, ...brokenPlugins], (slug) => [slug, { ...unknownFacts, name: slug }] as const),
      ...[...local, ...wanted].map(
        (settings) => [settings.slug, factsOf(settings, plugins.get(settings.plugin))] as const,
      ),
    ])
    const sources: Array<ReadonlyArray<Model>> = []
    const listed = new Map<string, ReadonlyArray<unknown>>()
    const served = new Map<string, ReadonlyArray<Model>>()
    const problems: Array<Problem> = []
    const off = new Map<string, PluginInvalid>()
    const providers = new Map<string, LoadedProvider | ProviderOff>(
      Array.from(brokenPlugins, (slug) => [slug, broken] as const),
    )
    const opened = yield* Effect.forEach(
      wanted.filter(({ enabled }) => enabled),
      (settings) =>
        Effect.map(Effect.either(open(settings, { plugins, brokenPlugins, facts, catalogue })), (result) => ({
          settings,
          result,
        })),
      { concurrency: "unbounded" },
    )
    for (const { slug, plugin: id, own } of options.halfRead ?? []) {
      const plugin = plugins.get(id)
      const decoded = plugin === undefined ? undefined : yield* Effect.option(loadProvider(plugin, own))
      if (decoded?._tag === "Some" && Either.isLeft(decoded.value))
        problems.push(...problemsOf(decoded.value.left.issue, ["providers", slug]))
    }
    for (const { slug } of local) providers.set(slug, notFound)
    for (const { slug } of wanted) providers.set(slug, disabled)
    for (const { settings, result } of opened) {
      const { slug, plugin } = settings
      if (Either.isRight(result)) {
        sources.push(result.right.models)
        listed.set(slug, result.right.entries)
        served.set(slug, result.right.models)
        providers.set(slug, result.right.loaded)
        continue
      }
      providers.set(slug, broken)
      const wrong = result.left
      if (wrong instanceof PluginInvalid) off.set(wrong.message, wrong)
      else if (!discovered.includes(settings)) problems.push(...wrong)
      else off.set(slug, new PluginInvalid({ plugin, phase: "load", reason: sentence(wrong) }))
    }
    const written = decodeModels(withBaseModels(options.models, listed), facts)
    const own = written.models.map((model) => ({
      ...model,
      hosts: model.hosts.map((host) => limitedBy(withBaseModel(host, served.get(host.provider) ?? []), providers)),
    }))
    const models = mergeModels([own, ...sources]).map((model) => ({
      ...model,
      hosts: model.hosts.map((host) => {
        const priced = withVendorPrices(host, providers)
        if (!(priced instanceof PluginFault)) return withAbilities(priced, providers)
        const { plugin, message } = priced
        providers.set(host.provider, broken)
        off.set(message, new PluginInvalid({ plugin, phase: "load", reason: message }))
        return host
      }),
    }))
    problems.push(...written.problems, ...unknownProtocols(written.models, options.models, providers))
    return { models, providers, problems, off: [...off.values()] }
  })

/** Hosts of the configuration whose provider does not have the protocol that they name. */
const unknownProtocols = (
  models: ReadonlyArray<Model>,
  written: ReadonlyArray<unknown>,
  providers: Providers,
): ReadonlyArray<Problem> =>
  models.flatMap(({ id, hosts }) =>
    hosts.flatMap((host): ReadonlyArray<Problem> => {
      const loaded = providers.get(host.provider)
      if (host.api === undefined || loaded?.callable !== true || protocolOf(host, loaded) !== undefined) return []
      const index = written.findIndex((entry) => isJsonObject(entry) && entry["id"] === id)
      const known = Object.keys(loaded.provider.protocols).join(", ")
      const message = `expected one of ${known} for the host ${host.tag}, got "${host.api}"`
      return [{ path: renderPath(["models", index, "hosts", "api"]), message }]
    }),
  )

/**
 * An operator's deployment of a model that the vendor lists under the same id is that model, whatever its name says.
 */
const withBaseModel = (host: Host, models: ReadonlyArray<Model>): Host => {
  if (host.baseModel !== undefined) return host
  const names = models.find(({ id }) => id === host.model)?.hosts.map(baseModelOf) ?? []
  const [name] = names
  return name === undefined || names.some((known) => host.upstreamModel.includes(known))
    ? host
    : { ...host, baseModel: name }
}

/** The operator's host as its vendor's table has it. */
const limitedBy = (host: Host, providers: Providers): Host => {
  const loaded = providers.get(host.provider)
  if (loaded?.callable !== true) return host
  const { provider, settings } = loaded
  return withLimits(host, provider.limits ?? [], { isListed: false, hasApi: settings.api !== null })
}

interface Opened {
  readonly loaded: LoadedProvider
  readonly models: ReadonlyArray<Model>
  /** What `models` were read from. */
  readonly entries: ReadonlyArray<unknown>
}

/** Loads one provider. Fails with the plugin's mistake, or with the problems of its part of the configuration. */
const open = (
  settings: ProviderSettings,
  { plugins, brokenPlugins, facts, catalogue }: Known,
): Effect.Effect<Opened, PluginInvalid | ReadonlyArray<Problem>> =>
  Effect.gen(function* () {
    const plugin = plugins.get(settings.plugin)
    // A plugin that is broken was reported already.
    if (plugin === undefined)
      return yield* Effect.fail(brokenPlugins.has(settings.plugin) ? [] : [noSuchPlugin(settings, plugins.keys())])
    const loaded = yield* openWithoutModels(settings, plugin)
    return { loaded, ...(yield* modelsOf(loaded, facts, catalogue)) }
  })

/** Loads one provider without its models: those of a server on this machine are what the server lists. */
export const openWithoutModels = (
  settings: ProviderSettings,
  plugin: ProviderPlugin,
): Effect.Effect<LoadedProvider, PluginInvalid | ReadonlyArray<Problem>> =>
  Effect.gen(function* () {
    const decoded = yield* loadProvider(plugin, settings.own, keysOf(settings))
    const provider = yield* Either.mapLeft(decoded, ({ issue }) => problemsOf(issue, ["providers", settings.slug]))
    return yield* withAddress(settings, plugin, provider)
  })

const keysOf = ({ apiKey, apiKeys }: ProviderSettings): ReadonlyArray<string> =>
  [apiKey ?? [], (apiKeys ?? []).map(({ key }) => key.secret)].flat().map(Redacted.value)

interface Known {
  readonly plugins: ReadonlyMap<string, ProviderPlugin>
  readonly brokenPlugins: ReadonlySet<string>
  readonly facts: ReadonlyMap<string, ProviderFacts>
  readonly catalogue: Catalogue
}

const noSuchPlugin = ({ slug, plugin }: ProviderSettings, ids: Iterable<string>): Problem => ({
  path: renderPath(["providers", slug, "plugin"]),
  message: `expected the id of a loaded plugin, got "${plugin}"${hint(plugin, ids)}`,
})

/** Adds the base URL and the protocol of its hosts. */
const withAddress = (
  settings: ProviderSettings,
  plugin: ProviderPlugin,
  provider: CheckedProvider,
): Either.Either<LoadedProvider, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  const at = (...member: ReadonlyArray<string>) => renderPath(["providers", settings.slug, ...member])
  const network = networkOf(settings, plugin)
  const inProcess = provider.transport === undefined ? undefined : "http://in.process"
  const baseUrl = settings.baseUrl ?? provider.baseUrl ?? plugin.baseUrl ?? inProcess
  if (baseUrl === undefined) {
    const message = "expected a URL, got nothing: this plugin has no address of its own"
    problems.push({ path: at("base_url"), message })
  }
  const made = [provider.baseUrl, ...Object.values(provider.protocols).map((each) => each.baseUrl)]
  for (const address of settings.baseUrl === null ? made : []) {
    const why = address === undefined ? undefined : checkBaseUrl(address, network)
    if (why !== undefined) problems.push({ path: at(), message: `its plugin makes an address out of it: ${why}` })
  }
  const protocols = Object.entries(provider.protocols)
  // The first one is the default.
  const [, protocol] = protocols.find(([name]) => settings.api === null || name === settings.api) ?? []
  if (protocol === undefined && (protocols.length > 0 || settings.api !== null)) {
    const message = `expected one of ${protocols.map(([name]) => name).join(", ")}, got "${settings.api}"`
    problems.push({ path: at("api"), message })
  }
  if (baseUrl === undefined || problems.length > 0) return Either.left(problems)
  const loaded = { callable: true, settings, plugin, provider, protocol, network } as const
  return Either.right({ ...loaded, baseUrl: normalBaseUrl(baseUrl) })
}

/**
 * Whether a provider is a server of the operator's own, which has what was installed there, and not what the vendor of
 * the plugin serves.
 */
export const isOwnServer = (settings: ProviderSettings, plugin: ProviderPlugin): boolean =>
  plugin.local !== undefined && networkOf(settings, plugin) === "private"

const networkOf = (settings: ProviderSettings, plugin: ProviderPlugin | undefined): Network =>
  settings.network ?? plugin?.network ?? "public"

/**
 * The plugin's own models, or those of the catalogue file in their place, with the hosts that can be called. An invalid
 * one, and more than 5 seconds, turn the provider off.
 */
const modelsOf = (
  loaded: LoadedProvider,
  facts: ReadonlyMap<string, ProviderFacts>,
  catalogue: Catalogue,
): Effect.Effect<Omit<Opened, "loaded">, PluginInvalid> => {
  const { settings, plugin, provider, baseUrl } = loaded
  if (isOwnServer(settings, plugin)) return Effect.succeed({ models: [], entries: [] })
  const { slug } = settings
  const limits = { isListed: true, hasApi: settings.api !== null }
  // An error may repeat a key, such as one in the query of the list's address.
  const hide = hiding([...provider.secrets.all(), ...Object.values(provider.credentials ?? {}).map(Redacted.value)])
  const invalid = (reason: string) => new PluginInvalid({ plugin: plugin.id, phase: "load", reason: hide(reason) })
  return Effect.tryPromise({
    try: async () => {
      const entries = catalogue.get(plugin.id) ?? (await provider.models?.()) ?? []
      const { models, problems } = decodeModels(servedBy(entries, slug), facts)
      if (problems.length > 0) throw new Error(sentence(problems))
      const limited = models.map((model) => ({
        ...model,
        hosts: model.hosts.map((host) => withLimits(host, provider.limits ?? [], limits)),
      }))
      // A table may name a protocol that this configuration does without.
      const isCalled = (host: Host): boolean =>
        (host.api === undefined || protocolOf(host, loaded) !== undefined) &&
        (provider.canCall?.({ model: host.upstreamModel, baseUrl }) ?? true)
      return { models: callable(limited, isCalled), entries }
    },
    catch: (cause) => invalid(reasonOf(cause)),
  }).pipe(
    Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => invalid("its models did not come in 5 seconds") }),
  )
}

/** The models with the hosts that can be called, where there are any. */
const callable = (models: ReadonlyArray<Model>, canCall: (host: Host) => boolean): ReadonlyArray<Model> =>
  models.map((model) => ({ ...model, hosts: model.hosts.filter(canCall) })).filter(({ hosts }) => hosts.length > 0)

/**
 * Adds the prices that the catalogue does not list, by the rules of its vendor: of its prompt cache, and of its
 * regions. A host whose price is unknown, or that cannot be called, stays as it is.
 */
const withVendorPrices = (host: Host, providers: Providers): Host | PluginFault => {
  const loaded = providers.get(host.provider)
  if (host.pricing === null || loaded?.callable !== true) return host
  const { provider, baseUrl } = loaded
  const multipliers = provider.cacheMultipliers?.({ model: baseModelOf(host), baseUrl })
  if (multipliers instanceof PluginFault) return multipliers
  const { regionMultipliers: regions } = provider
  if (multipliers === undefined && regions === undefined) return host
  return {
    ...host,
    ...(multipliers === undefined ? {} : { pricing: withMultiplied(host.pricing, multipliers) }),
    ...(regions === undefined ? {} : { regionMultipliers: new Map(Object.entries(regions)) }),
  }
}

/** Adds what the host can be sent beyond its own entry: by its protocol, and by its provider's configuration. */
const withAbilities = (host: Host, providers: Providers): Host => {
  const loaded = providers.get(host.provider)
  return loaded?.callable === true ? abilitiesOf(host, loaded) : host
}

const abilitiesOf = (host: Host, loaded: LoadedProvider): Host => {
  const protocol = protocolOf(host, loaded)
  const searches = host.pricesSearch === true ? protocol?.searchesAt?.(host) : undefined
  const ownForm = protocol?.native?.form
  const otherForms = protocol === undefined ? [] : [...otherProtocolsOf(host, loaded).keys()]
  const { extraMembers } = loaded.settings
  if (searches === undefined && ownForm === undefined && otherForms.length === 0 && extraMembers.length === 0)
    return host
  return {
    ...host,
    ...(searches === undefined ? {} : { searches }),
    ...(ownForm === undefined ? {} : { ownForm }),
    ...(otherForms.length === 0 ? {} : { otherForms }),
    ...(extraMembers.length === 0 ? {} : { extraMembers }),
  }
}

/** Assumed of a provider of which nothing is known. */
const unknownFacts = { privacy: { mayTrain: true, retainsPrompts: true }, local: false }

export const factsOf = (settings: ProviderSettings, plugin: ProviderPlugin | undefined): ProviderFacts => ({
  // Under another slug the plugin's name may mean several providers, so the slug is the name.
  name: settings.name ?? (settings.slug === plugin?.id ? plugin.name : settings.slug),
  privacy: settings.privacy ?? plugin?.privacy ?? unknownFacts.privacy,
  local: networkOf(settings, plugin) === "private",
  authors: [settings.slug, ...(plugin === undefined ? [] : (plugin.authors ?? [plugin.id]))],
  ...(settings.tags.length === 0 ? {} : { tags: settings.tags }),
})
