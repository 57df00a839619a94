/**
 * What a gateway is built from: a configuration and plugins, held against each other. What is wrong with the configuration is
 * said all at once; a plugin that is wrong is off, with a line on the log. G20, G33.
 */
import { basename } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import { ConfigInvalid, hint, type Problem, problemsOf, sentence } from "../domain/Problem.ts"
import type { Plugin } from "../plugin/discover.ts"
import { guarded, type PluginInvalid } from "../plugin/PluginInvalid.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import type { Rank, StrategyPlugin } from "../plugin/Strategy.ts"
import { type Catalogue, loadProviders } from "../services/loadProviders.ts"
import type { RouterOptions } from "../services/Router.ts"
import { discoverProviders } from "./discoverProviders.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import type { Reading } from "./loadConfig.ts"

export interface Parts {
  /** Providers and strategies: what `discover` finds, or values that an embedder imported. */
  readonly plugins: ReadonlyArray<Plugin>
  /** What `discover` could not use. Each is off, with a line on the log. */
  readonly invalid?: ReadonlyArray<PluginInvalid>
  /** Orders the hosts in place of a strategy plugin. */
  readonly strategy?: Rank
}

export interface Blueprint {
  readonly config: GatewayConfig
  readonly catalogue: Catalogue
  readonly routing: RouterOptions
}

/** Fails with what was wrong with the reading already and with what the plugins show to be wrong. */
export const blueprintOf = (
  { plugins, invalid = [], strategy }: Parts,
  { config, problems: read, unread }: Reading,
): Effect.Effect<Blueprint, ConfigInvalid> =>
  Effect.gen(function* () {
    const providerPlugins = plugins.filter((plugin): plugin is ProviderPlugin => plugin.kind === "provider")
    const loaded = loadProviders({
      ...(yield* discoverProviders(config, providerPlugins)),
      plugins: providerPlugins,
      brokenPlugins: idsOf(invalid),
      unread: new Set(unread.flatMap(([section, slug]) => (section === "providers" ? [String(slug)] : []))),
      // Without any slug every host would seem to name a wrong one.
      models: unread.some(([section, ...more]) => section === "providers" && more.length === 0) ? [] : config.models,
    })
    const ranked = rankings(plugins.filter((plugin): plugin is StrategyPlugin => plugin.kind === "strategy"))
    const off = [...invalid, ...loaded.off, ...ranked.off]
    for (const { message } of off) yield* Effect.logError(message)

    const usable = plugins
      .map(({ id }) => id)
      .filter((id) => ![...loaded.off, ...ranked.off].some((one) => one.plugin === id))
    const strategies = strategy === undefined ? ranked.strategies : ranked.strategies.set("own", strategy)
    const wanted = strategy === undefined ? config.routing.strategy : "own"
    const [first, ...more] = [
      ...read,
      ...missing(config.plugins.required, usable),
      ...loaded.problems,
      ...unknownStrategy(wanted, strategies, idsOf(off)),
    ]
    if (first !== undefined) return yield* new ConfigInvalid({ problems: [first, ...more] })
    return { config, catalogue: loaded, routing: { strategies, strategy: wanted } }
  })

/** A plugin that was found is known by its path, whose end is its id. */
const idsOf = (invalid: ReadonlyArray<PluginInvalid>): ReadonlySet<string> =>
  new Set(invalid.map(({ plugin }) => basename(plugin)))

const missing = (required: ReadonlyArray<string>, usable: ReadonlyArray<string>): ReadonlyArray<Problem> =>
  required.flatMap((id, at) =>
    usable.includes(id)
      ? []
      : [
          {
            path: `plugins.required[${at}]`,
            message: `expected the id of a plugin that loads, got "${id}"${hint(id, usable)}`,
          },
        ],
  )

/** Every strategy that loads, by id. There is nothing to configure about one. */
const rankings = (plugins: ReadonlyArray<StrategyPlugin>) => {
  const strategies = new Map<string, Rank>()
  const off: Array<PluginInvalid> = []
  for (const plugin of plugins) {
    const rank = guarded(plugin.id, () => Either.getOrThrowWith(plugin.load({}), wantsConfiguration))
    if (Either.isRight(rank)) strategies.set(plugin.id, rank.right)
    else off.push(rank.left)
  }
  return { strategies, off }
}

const wantsConfiguration = ({ issue }: ParseError) => new Error(sentence(problemsOf(issue)))

/** Where no strategy works the order of the configuration stands: what an embedder who passes none will expect. */
const unknownStrategy = (
  wanted: string,
  strategies: ReadonlyMap<string, Rank>,
  off: ReadonlySet<string>,
): ReadonlyArray<Problem> => {
  if (strategies.size === 0 || strategies.has(wanted) || off.has(wanted)) return []
  const message = `expected one of ${[...strategies.keys()].join(", ")}, got "${wanted}"`
  return [{ path: "routing.strategy", message }]
}
