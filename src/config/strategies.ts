/** Loads the routing strategies with their part of the configuration (`routing.strategies.<id>`). */
import * as Either from "effect/Either"
import { hint, type Problem, problemsOf, renderPath, sentence } from "../domain/json/Problem.ts"
import type { CheckedWhy } from "../plugin/checks/checked.ts"
import { PluginInvalid } from "../plugin/checks/PluginInvalid.ts"
import { loadStrategy } from "../plugin/loading/load.ts"
import type { MakeContext } from "../plugin/PluginLog.ts"
import type { Rank, StrategyPlugin } from "../plugin/strategy.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

export interface LoadedStrategies {
  /** Every strategy that loads, by id. */
  readonly strategies: ReadonlyMap<string, Rank>
  /** The strategies that explain themselves, by id. */
  readonly whys: ReadonlyMap<string, CheckedWhy>
  readonly problems: ReadonlyArray<Problem>
  /** Plugins that turned out to be unusable, once each. */
  readonly off: ReadonlyArray<PluginInvalid>
}

interface Wanted {
  /** Undecoded configurations by strategy id. */
  readonly configured: GatewayConfig["routing"]["strategies"]
  /** Id of the strategy in force; `undefined`: the embedder's own, which is no plugin. */
  readonly inForce: string | undefined
  /** Ids of plugins that could not be loaded. To configure one is no mistake. */
  readonly brokenPlugins: ReadonlySet<string>
  /** For what strategies log. */
  readonly contextOf: MakeContext
}

export const loadStrategies = (plugins: ReadonlyArray<StrategyPlugin>, wanted: Wanted): LoadedStrategies => {
  const { configured, inForce, brokenPlugins, contextOf } = wanted
  const strategies = new Map<string, Rank>()
  const whys = new Map<string, CheckedWhy>()
  const problems: Array<Problem> = []
  const misconfigured = new Set<string>()
  const off: Array<PluginInvalid> = []
  for (const plugin of plugins) {
    const { id } = plugin
    const written = Object.hasOwn(configured, id) ? configured[id] : undefined
    const path = written === undefined ? [] : ["routing", "strategies", id]
    const loaded = loadStrategy(plugin, written ?? {}, contextOf)
    if (Either.isLeft(loaded)) {
      off.push(loaded.left)
      continue
    }
    const decoded = Either.mapLeft(loaded.right, ({ issue }) => problemsOf(issue, path))
    if (Either.isRight(decoded)) {
      const { rank, why } = decoded.right
      strategies.set(id, rank)
      if (why !== undefined) whys.set(id, why)
    } else if (written !== undefined) {
      misconfigured.add(id)
      problems.push(...decoded.left)
    } else off.push(new PluginInvalid({ plugin: id, phase: "load", reason: sentence(decoded.left) }))
  }
  const found = new Set([...plugins.map(({ id }) => id), ...brokenPlugins])
  for (const id of Object.keys(configured)) {
    if (found.has(id)) continue
    const message = `expected the id of an installed strategy as its name${hint(id, found)}`
    problems.push({ path: renderPath(["routing", "strategies", id]), message })
  }
  // Problems of its own configuration are reported above.
  if (inForce !== undefined && !misconfigured.has(inForce)) problems.push(...notInForce(inForce, strategies, found))
  return { strategies, whys, problems, off }
}

/**
 * Why the strategy in force cannot be used. Without any strategy hosts are tried in the order of the configuration, since an
 * embedder may pass none.
 */
const notInForce = (
  id: string,
  strategies: ReadonlyMap<string, Rank>,
  found: ReadonlySet<string>,
): ReadonlyArray<Problem> => {
  if (strategies.has(id) || (strategies.size === 0 && !found.has(id))) return []
  const message = found.has(id)
    ? `expected the id of a strategy that loads, got "${id}"`
    : `expected one of ${[...strategies.keys()].join(", ")}, got "${id}"${hint(id, strategies.keys())}`
  return [{ path: "routing.strategy", message }]
}
