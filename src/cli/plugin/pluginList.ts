/** What plugins a gateway that is started here would have, and why some of them are off. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { loadProviders, type ProviderSettings } from "../../catalogue/Providers.ts"
import { discoverPlugins } from "../../config/discoverPlugins.ts"
import { discoverProviders } from "../../config/discoverProviders.ts"
import { loadConfig } from "../../config/loadConfig.ts"
import { problemsOf, sentence } from "../../domain/json/Problem.ts"
import type { PluginInvalid } from "../../plugin/checks/PluginInvalid.ts"
import type { Discovered, Plugin } from "../../plugin/loading/discover.ts"
import { watchImports } from "../../plugin/loading/importWatch.ts"
import { loadStrategy } from "../../plugin/loading/load.ts"
import { unheard } from "../../plugin/PluginLog.ts"
import type { ProviderPlugin } from "../../plugin/Provider.ts"
import type { StrategyPlugin } from "../../plugin/strategy.ts"
import { layerLogger } from "../../process/log/logger.ts"
import { badConfig, type CommandFailed } from "../CommandFailed.ts"

export interface ListedPlugin {
  readonly id: string
  readonly kind: Plugin["kind"]
  /** Path of its folder, or name of its package. */
  readonly from: string
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
  const { off } = yield* loadProviders({ plugins: providers, ...settings, models: [] })
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
    return { id, kind, from: found.origins.get(plugin) ?? "", ...state }
  })
  return [...listed, ...invalidOnes(found)]
}).pipe(
  Effect.scoped,
  Effect.mapError(({ problems }) => badConfig(problems)),
  Effect.provide(layerLogger),
)

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
  invalid.map(({ plugin, phase, reason }: PluginInvalid) => ({
    id: plugin.slice(plugin.lastIndexOf("/") + 1),
    kind: /(^|\/)strategies\/[^/]+$/.test(plugin) ? "strategy" : "provider",
    from: plugin,
    ...stateOff(`${phase}: ${reason}`),
  }))
