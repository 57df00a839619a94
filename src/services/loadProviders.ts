/**
 * From plugins and what the operator wrote to the providers that can be called and the models they serve. What the operator got
 * wrong is a problem, and all of them come at once; what a plugin got wrong turns its provider off and nothing else. G20, G33.
 */
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import * as Struct from "effect/Struct"
import type { Model, Privacy } from "../domain/Host.ts"
import type { JsonObject } from "../domain/Json.ts"
import { hint, type Problem, problemsOf, renderPath, sentence } from "../domain/Problem.ts"
import { guarded, PluginInvalid } from "../plugin/PluginInvalid.ts"
import type { Operations, Provider, ProviderPlugin } from "../plugin/Provider.ts"
import type { WireForm } from "../wire/Form.ts"
import { decodeModels, mergeModels, type ProviderFacts, servedBy } from "./catalogue.ts"

/** One provider as the operator wants it. `null` leaves the choice to the plugin, or to the house. */
export interface ProviderSettings {
  readonly slug: string
  /** Id of its plugin. */
  readonly plugin: string
  readonly name: string | null
  readonly baseUrl: string | null
  readonly apiKey: Redacted.Redacted | null
  readonly privacy: Privacy | null
  /** Milliseconds to the first event of a stream. */
  readonly ttfbMs: number | null
  readonly enabled: boolean
  /** `private`: it may be on this machine or in this network. */
  readonly network: "public" | "private"
  readonly proxy: string | null
  /** Which of the plugin's wire forms it is called by. */
  readonly api: string | null
  /** What is not the house's: for the plugin's own Schema. */
  readonly own: JsonObject
}

export interface ProviderOptions {
  readonly plugins: ReadonlyArray<ProviderPlugin>
  /** Ids of plugins that are off already: whoever names one is not at fault. */
  readonly brokenPlugins?: ReadonlySet<string>
  /** In the operator's own words. */
  readonly configured: ReadonlyArray<ProviderSettings>
  /** On without the operator's having said anything: where that does not do, they are off. */
  readonly discovered?: ReadonlyArray<ProviderSettings>
  /** Slugs of providers of which nothing can be known. A host may name them. */
  readonly unread?: ReadonlySet<string>
  /** In the form of `models` of the configuration; those of the plugins are added behind them. */
  readonly models: ReadonlyArray<unknown>
}

/** One that can be called. */
export interface LoadedProvider {
  readonly settings: ProviderSettings
  readonly plugin: ProviderPlugin
  readonly provider: Provider
  /** The wire form that its hosts are called by. */
  readonly form: WireForm
}

export interface Catalogue {
  readonly models: ReadonlyArray<Model>
  /** By slug. A host of a provider that is not among them cannot be called. */
  readonly providers: ReadonlyMap<string, LoadedProvider>
}

export interface LoadedProviders extends Catalogue {
  readonly problems: ReadonlyArray<Problem>
  /** Plugins that turned out to be unusable, once each. */
  readonly off: ReadonlyArray<PluginInvalid>
}

export const loadProviders = (options: ProviderOptions): LoadedProviders => {
  const { configured, discovered = [], unread = new Set(), brokenPlugins = new Set() } = options
  const plugins = new Map(options.plugins.map((plugin) => [plugin.id, plugin]))
  const facts = new Map([
    ...Array.from([...unread, ...brokenPlugins], (slug) => [slug, { ...factsOfNothing, name: slug }] as const),
    ...[...configured, ...discovered].map(
      (settings) => [settings.slug, factsOf(settings, plugins.get(settings.plugin))] as const,
    ),
  ])
  const written = decodeModels(options.models, facts)
  const sources = [written.models]
  const problems: Array<Problem> = []
  const off = new Map<string, PluginInvalid>()
  const providers = new Map<string, LoadedProvider>()
  for (const settings of [...configured, ...discovered].filter(({ enabled }) => enabled)) {
    const plugin = plugins.get(settings.plugin)
    if (plugin === undefined) {
      if (!brokenPlugins.has(settings.plugin)) problems.push(noSuchPlugin(settings, plugins.keys()))
      continue
    }
    const opened = Either.flatMap(open(settings, plugin, facts), (open) => formed(settings, plugin, open))
    if (Either.isRight(opened)) {
      sources.push(opened.right.models)
      providers.set(settings.slug, opened.right)
    } else if (opened.left instanceof PluginInvalid) {
      off.set(opened.left.message, opened.left)
    } else if (discovered.includes(settings)) {
      const invalid = new PluginInvalid({ plugin: plugin.id, phase: "load", reason: sentence(opened.left) })
      off.set(invalid.message, invalid)
    } else {
      problems.push(...opened.left)
    }
  }
  return {
    models: mergeModels(sources),
    providers,
    problems: [...problems, ...written.problems],
    off: [...off.values()],
  }
}

const noSuchPlugin = ({ slug, plugin }: ProviderSettings, ids: Iterable<string>): Problem => ({
  path: renderPath(["providers", slug, "plugin"]),
  message: `expected the id of a loaded plugin, got "${plugin}"${hint(plugin, ids)}`,
})

interface Opened {
  readonly provider: Provider
  readonly forms: ReadonlyArray<readonly [string, WireForm]>
  readonly models: ReadonlyArray<Model>
}

/** What the plugin makes of its part of the configuration. Its own mistakes are thrown, as it might do itself. */
const open = (
  { slug, own }: ProviderSettings,
  plugin: ProviderPlugin,
  facts: ReadonlyMap<string, ProviderFacts>,
): Either.Either<Opened, PluginInvalid | ReadonlyArray<Problem>> => {
  const opened = guarded(plugin.id, () =>
    Either.mapBoth(plugin.load(own), {
      onLeft: ({ issue }) => problemsOf(issue, ["providers", slug]),
      onRight: (provider) => {
        const forms = formsOf(provider.operations)
        if (forms.length === 0) throw new Error("it has no operations: nothing can be asked of it")
        const { models, problems } = decodeModels(servedBy(provider.models ?? [], slug), facts)
        if (problems.length > 0) throw new Error(sentence(problems))
        return { provider, forms, models }
      },
    }),
  )
  return Either.isLeft(opened) ? Either.left(opened.left) : opened.right
}

/** In the order in which the plugin gives them: the first one is the default. */
const formsOf = (operations: Operations): ReadonlyArray<readonly [string, WireForm]> =>
  Struct.entries(operations).flatMap(([name, form]) => (form === undefined ? [] : [[name, form] as const]))

const formed = (
  settings: ProviderSettings,
  plugin: ProviderPlugin,
  { provider, forms, models }: Opened,
): Either.Either<LoadedProvider & Pick<Opened, "models">, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  const at = (member: string) => renderPath(["providers", settings.slug, member])
  if (settings.baseUrl === null && plugin.baseUrl === undefined && provider.answer === undefined) {
    const message = "expected a URL, got nothing: this plugin has no address of its own"
    problems.push({ path: at("base_url"), message })
  }
  const [, form] = forms.find(([name]) => settings.api === null || name === settings.api) ?? []
  if (form === undefined) {
    const message = `expected one of ${forms.map(([name]) => name).join(", ")}, got "${settings.api}"`
    problems.push({ path: at("api"), message })
  }
  return form === undefined || problems.length > 0
    ? Either.left(problems)
    : Either.right({ settings, plugin, provider, form, models })
}

const factsOfNothing = { privacy: { mayTrain: true, retainsPrompts: true }, local: false }

const factsOf = (settings: ProviderSettings, plugin: ProviderPlugin | undefined): ProviderFacts => ({
  // A generic plugin's name would say nothing: whoever gave the provider a slug of its own named it.
  name: settings.name ?? (settings.slug === plugin?.id ? plugin.name : settings.slug),
  privacy: settings.privacy ?? plugin?.privacy ?? factsOfNothing.privacy,
  local: settings.network === "private",
})
