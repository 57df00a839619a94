/** What plugins a gateway that is started here would have, and why some of them are off. */
import { basename, dirname, isAbsolute } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { loadProviders, type ProviderSettings } from "../../catalogue/Providers.ts"
import { discoverPlugins } from "../../config/discoverPlugins.ts"
import { discoverProviders } from "../../config/discoverProviders.ts"
import { loadConfig } from "../../config/loadConfig.ts"
import { problemsOf, sentence } from "../../domain/json/Problem.ts"
import type { PluginInvalid } from "../../plugin/checks/PluginInvalid.ts"
import type { Discovered, Origin, Plugin } from "../../plugin/loading/discover.ts"
import { watchImports } from "../../plugin/loading/importWatch.ts"
import { loadStrategy } from "../../plugin/loading/load.ts"
import { unheard } from "../../plugin/PluginLog.ts"
import type { ProviderPlugin } from "../../plugin/Provider.ts"
import type { StrategyPlugin } from "../../plugin/strategy.ts"
import { layerLogger } from "../../process/log/logger.ts"
import { badConfig, type CommandFailed } from "../CommandFailed.ts"

export interface ListedPlugin {
  readonly id: string
  /** `null`: it is not known, since it could not be imported. */
  readonly kind: Plugin["kind"] | null
  /** `gateway`: it comes with the gateway. */
  readonly source: Origin["kind"]
  /** Path of its folder, name of its package, or member of the configuration. */
  readonly from: string
  /** The version of the contract that it was made for; `null`: not known. */
  readonly contract: number | null
  /** The slugs of its providers that are on, and how many models they serve. A strategy: none. */
  readonly serves: { readonly providers: ReadonlyArray<string>; readonly models: number }
  readonly state: "on" | "off"
  readonly why: string
}

/** In the order in which they were found; those that could not be used at the end. */
export const listPlugins: Effect.Effect<ReadonlyArray<ListedPlugin>, CommandFailed> = Effect.gen(function* () {
  const { problems, ...reading } = yield* loadConfig()
  const { config } = reading
  const importing = yield* watchImports
  const found = yield* discoverPlugins(reading, importing)
  const providers = found.plugins.filter((plugin): plugin is ProviderPlugin => plugin.kind === "provider")
  const settings = yield* discoverProviders(config, providers)
  const { off, models } = yield* loadProviders({ plugins: providers, ...settings, models: config.models })
  const inUse = [...settings.configured, ...settings.discovered]
  const listed = found.plugins.map((plugin): ListedPlugin => {
    const { id, kind } = plugin
    const broken = off.find((each) => each.plugin === id)
    const state =
      broken !== undefined
        ? stateOff(`${broken.phase}: ${broken.reason}`)
        : plugin.kind === "provider"
          ? providerState(plugin, inUse, new Set(config.providers.keys()))
          : strategyState(plugin, config.routing)
    const { kind: source = "folder", path: from = "", overrides = false } = found.origins.get(plugin) ?? {}
    const why = overrides ? `${state.why}; in place of the gateway's own` : state.why
    const slugs = new Set(
      state.state === "off" ? [] : inUse.flatMap((one) => (one.plugin === id && one.enabled ? [one.slug] : [])),
    )
    const served = models.filter(({ hosts }) => hosts.some(({ provider }) => slugs.has(provider)))
    const serves = kind === "provider" ? { providers: [...slugs], models: served.length } : nothing
    return { id, kind, source, from, contract: plugin.contract, serves, ...state, why }
  })
  return [...listed, ...invalidOnes(found)]
}).pipe(
  Effect.scoped,
  Effect.mapError(({ problems }) => badConfig(problems)),
  Effect.provide(layerLogger),
)

const nothing: ListedPlugin["serves"] = { providers: [], models: 0 }

type State = Pick<ListedPlugin, "state" | "why">

const stateOn = (why: string): State => ({ state: "on", why })
const stateOff = (why: string): State => ({ state: "off", why })

const providerState = (
  plugin: ProviderPlugin,
  inUse: ReadonlyArray<ProviderSettings>,
  configured: ReadonlySet<string>,
): State => {
  const entries = inUse.filter((settings) => settings.plugin === plugin.id)
  const enabled = entries.filter((settings) => settings.enabled)
  if (enabled.length > 0) {
    const slugs = enabled.map(({ slug }) => slug)
    if (slugs.some((slug) => configured.has(slug))) return stateOn(`configured as ${slugs.join(", ")}`)
    return stateOn(plugin.always === true ? "needs no configuration" : "its environment variables are set")
  }
  if (entries.length > 0) return stateOff("disabled in the configuration")
  const variables = plugin.discoveredBy?.map((set) => set.join(" and ")) ?? [plugin.keyVariable ?? []].flat()
  return stateOff(
    variables.length === 0 ? "not configured" : `not configured, and no ${variables.join(" or ")} in the environment`,
  )
}

interface RoutingPart {
  readonly strategy: string
  readonly strategies: Readonly<Record<string, unknown>>
}

const strategyState = (plugin: StrategyPlugin, { strategy, strategies }: RoutingPart): State => {
  const loaded = loadStrategy(plugin, strategies[plugin.id] ?? {}, () => unheard)
  if (Either.isLeft(loaded)) return stateOff(loaded.left.reason)
  if (Either.isLeft(loaded.right)) return stateOff(sentence(problemsOf(loaded.right.left.issue)))
  return stateOn(plugin.id === strategy ? "routing.strategy" : "where provider.sort asks for it")
}

const invalidOnes = ({ invalid }: Discovered): ReadonlyArray<ListedPlugin> =>
  invalid.map(({ plugin, phase, reason }: PluginInvalid) => {
    const isFolder = isAbsolute(plugin)
    return {
      id: basename(plugin),
      kind: isFolder ? kindIn(plugin) : null,
      source: isFolder ? "folder" : plugin.startsWith("plugins.inline") ? "configuration" : "package",
      from: plugin,
      contract: null,
      serves: nothing,
      ...stateOff(`${phase}: ${reason}`),
    }
  })

/** By the folder that it is in. */
const kindIn = (path: string): Plugin["kind"] => (basename(dirname(path)) === "strategies" ? "strategy" : "provider")
