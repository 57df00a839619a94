/**
 * From a configuration and plugins to the resolved configuration. All problems of the configuration are reported at
 * once. A plugin that cannot be used is off, with a line in the log.
 */

import { basename, dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import type { Catalogue } from "../catalogue/catalogueFile.ts"
import { highPriceWarning } from "../catalogue/highPrices.ts"
import { nearModels } from "../catalogue/names.ts"
import type { ProviderNote } from "../catalogue/ProviderNote.ts"
import { type LoadedProviders, loadProviders } from "../catalogue/Providers.ts"
import { type Limits, type ResolvedConfig, resolvedConfig } from "../catalogue/ResolvedConfig.ts"
import { unknownModelWarning } from "../catalogue/unknownModels.ts"
import { deniedWarning, unpricedWarning, withUnknownPrices } from "../catalogue/unknownPrices.ts"
import { isJsonObject } from "../domain/json/json.ts"
import { ConfigInvalid, hint, type Path, type Problem, renderPath } from "../domain/json/Problem.ts"
import type { PluginInvalid } from "../plugin/checks/PluginInvalid.ts"
import type { Plugin } from "../plugin/loading/discover.ts"
import { ofThisContract } from "../plugin/loading/load.ts"
import { pluginContexts } from "../plugin/PluginLog.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import type { Rank, StrategyPlugin } from "../plugin/strategy.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { discoverProviders, furtherServers, localServers } from "./discoverProviders.ts"
import { providerMembers } from "./fields/providerFields.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import type { Reading } from "./loadConfig.ts"
import { providerNotes } from "./providerNotes.ts"
import { providerSecretWarnings } from "./secretWarnings.ts"
import { loadStrategies } from "./strategies.ts"

export interface Parts {
  /** Providers and strategies: what `discover` finds, or values that an embedder imported. */
  readonly plugins: ReadonlyArray<Plugin>
  /** Plugins that `discover` could not use. Each is off, with a line in the log. */
  readonly invalid?: ReadonlyArray<PluginInvalid>
  /** Orders the hosts in place of a strategy plugin. */
  readonly strategy?: Rank
  /** Lists of models in the place of those that the plugins bring, by the plugin's id: `installedCatalogue`. */
  readonly catalogue?: Catalogue
}

/** What a gateway is built from. */
export interface Setup {
  /** What is settled once at start: addresses, storage. */
  readonly config: GatewayConfig
  /** What requests read. */
  readonly resolved: ResolvedConfig
  /** Plugins that are off because they cannot be used. */
  readonly invalid: ReadonlyArray<PluginInvalid>
  /** What was logged of the configuration: a sentence each, without secrets. */
  readonly warnings: ReadonlyArray<string>
  /** All providers that are known, for those who run the gateway. */
  readonly notes: ReadonlyArray<ProviderNote>
}

/** Fails with the problems of the reading and those that are found with the plugins. */
export const resolveConfig = (
  { plugins: given, invalid: notFound = [], strategy, catalogue = new Map() }: Parts,
  { config, problems: read, unread, halfRead, folder, placed = unplaced }: Reading,
): Effect.Effect<Setup, ConfigInvalid> =>
  Effect.gen(function* () {
    const { usable: plugins, refused } = ofThisContract(given)
    const invalid = [...notFound, ...refused]
    const providerPlugins = plugins.filter((plugin): plugin is ProviderPlugin => plugin.kind === "provider")
    const strategyPlugins = plugins.filter((plugin): plugin is StrategyPlugin => plugin.kind === "strategy")
    const found = yield* discoverProviders(config, providerPlugins, folder, halfRead)
    const local = localServers(config, providerPlugins, found.configured)
    const loaded = yield* loadProviders({
      ...found,
      local: local.flatMap(({ settings, isConfigured }) => (isConfigured ? [] : settings)),
      plugins: providerPlugins,
      catalogue,
      brokenPlugins: brokenBeside("strategies", invalid),
      unread: new Set(unread.flatMap(([section, slug]) => (section === "providers" ? [String(slug)] : []))),
      // Without slugs every host would be reported for naming an unknown provider.
      models: unread.some(([section, ...more]) => section === "providers" && more.length === 0) ? [] : config.models,
    })
    const { strategies, whys, ...ranked } = loadStrategies(strategyPlugins, {
      configured: config.routing.strategies,
      inForce: strategy === undefined ? config.routing.strategy : undefined,
      brokenPlugins: brokenBeside("providers", invalid),
      contextOf: yield* pluginContexts,
    })
    const unusable = [...invalid, ...loaded.off, ...ranked.off]
    for (const { message: text, plugin } of unusable) yield* logEvent("plugin_off", { text, plugin })

    const off = new Set([...loaded.off, ...ranked.off].map(({ plugin }) => plugin))
    const usable = plugins.map(({ id }) => id).filter((id) => !off.has(id))
    const aliases = aliasesOf(config, loaded, unread)
    const [first, ...more] = [
      ...read,
      ...found.problems,
      ...[
        ...missing(config.plugins.required, usable),
        ...loaded.problems.map(withNearMember),
        ...ranked.problems,
        ...aliases.problems,
      ].map(placed),
    ]
    if (first !== undefined) return yield* new ConfigInvalid({ problems: [first, ...more] })

    const { providers } = loaded
    const further = furtherServers(config, providers)
    const models = withUnknownPrices(loaded.models, config.billing.unknownPrice)
    const ofModels = [
      ...[unpricedWarning(models), deniedWarning(config.models, models), highPriceWarning(models)],
      unknownModelWarning(models),
    ]
    const warnings = [
      ...aliases.warnings,
      ...further.unasked,
      ...ofModels.filter((text) => text !== undefined),
      ...providerSecretWarnings(providers),
    ]
    for (const text of warnings) yield* logEvent("configuration_warning", { text })
    const { hedge } = config.routing
    const routing =
      strategy === undefined
        ? { strategies, whys, strategy: config.routing.strategy, hedge }
        : { strategies: new Map([...strategies, ["own", strategy]]), whys, strategy: "own", hedge }
    const resolved = resolvedConfig({
      models,
      providers,
      routing,
      billing: config.billing,
      limits: limitsOf(config.limits),
      keepsAnswers: config.privacy.idempotencyBodies,
      localServers: [...local, ...further.servers],
      aliases: config.aliases,
    })
    const notes = providerNotes({ config, resolved, invalid: unusable }, providerPlugins, process.env)
    return { config, resolved, invalid: unusable, warnings, notes }
  })

const unplaced = (problem: Problem): Problem => problem

/** A plugin refuses a member that it does not know, and knows no near one where the gateway's own was meant. */
const withNearMember = (problem: Problem): Problem => {
  const { path, message } = problem
  const member = /^providers(?:\.[\w-]+|\["[^"]+"\])\.([\w-]+)$/.exec(path)?.[1]
  const isUnknown = message === "unknown field" || message.startsWith("expected no field")
  return member === undefined || !isUnknown ? problem : { path, message: `${message}${hint(member, providerMembers)}` }
}

/**
 * Ids of plugins that could not be used, without those of the other kind. Their paths are `<folder>/<kind>/<id>`. The
 * plugin of the package `headgate-acme` is taken to be `acme`.
 */
const brokenBeside = (otherKind: string, invalid: ReadonlyArray<PluginInvalid>): ReadonlySet<string> =>
  new Set(
    invalid
      .map(({ plugin }) => plugin)
      .filter((path) => basename(dirname(path)) !== otherKind)
      .flatMap((path) => [basename(path), basename(path).replace(/^headgate-/, "")]),
  )

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

/**
 * Aliases of unknown models. The models of a provider that is off or was not read are not known, and an alias may mean
 * one of them. Then it is a warning and not a problem.
 */
const aliasesOf = (
  { aliases, models: written }: GatewayConfig,
  { models, providers }: LoadedProviders,
  unread: ReadonlyArray<Path>,
) => {
  const ids = new Set<unknown>([...written, ...models].map((model) => (isJsonObject(model) ? model["id"] : undefined)))
  const unknown = [...aliases].filter(([, id]) => !ids.has(id))
  const isPartial =
    unread.some(([section]) => section === "providers") || [...providers.values()].some(({ callable }) => !callable)
  const pathOf = (alias: string) => renderPath(["aliases", alias])
  const meant = (id: string) => {
    const near = nearModels(id, models).map((name) => JSON.stringify(name))
    return near.length === 0 ? "" : `, did you mean ${near.join(" or ")}?`
  }
  if (isPartial) {
    const warnings = unknown.map(
      ([alias, id]) => `${pathOf(alias)}: no model is known as "${id}" while providers are off${meant(id) || "."}`,
    )
    return { problems: [], warnings }
  }
  const problems = unknown.map(([alias, id]) => ({
    path: pathOf(alias),
    message: `expected the id of a known model, got "${id}"${meant(id)}`,
  }))
  return { problems, warnings: [] }
}

/** The limits as requests read them: 0, which switches a limit off, becomes infinity. */
const limitsOf = ({
  breaker,
  cooldown,
  minBytesPerSecond,
  ttfbMs,
  attemptMs,
  attemptMsByModel,
  ...bounds
}: GatewayConfig["limits"]): Limits => ({
  ...Record.map(bounds, orNone),
  ttfbMs: ttfbMs === null ? undefined : orNone(ttfbMs),
  attemptMs: attemptMs === null ? undefined : orNone(attemptMs),
  attemptMsByModel: new Map(Object.entries(attemptMsByModel).map(([model, ms]) => [model, orNone(ms)])),
  minBytesPerSecond,
  cooldown,
  breaker: {
    consecutiveFailures: orNone(breaker.consecutiveFailures),
    errorRate: orNone(breaker.errorRate),
    minRequests: breaker.minRequests,
    openMs: breaker.openSeconds * 1000,
  },
})

const orNone = (bound: number): number => (bound === 0 ? Number.POSITIVE_INFINITY : bound)
