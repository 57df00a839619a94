/**
 * The plugins of a gateway that is part of an app: those that the app gives, those that its configuration defines, and the
 * package's strategies, because callers may ask for any of them (`provider.sort`, `:floor`) and `balanced` is the default.
 */
import * as Effect from "effect/Effect"
import { type Discovered, discover } from "../plugin/loading/discover.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

/** Of two plugins with one id the first counts, so an app's own strategy replaces the package's. */
export const embeddedPlugins = (
  given: ReadonlyArray<unknown>,
  { plugins }: Pick<GatewayConfig, "plugins">,
): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const own = yield* discover([], undefined, undefined, [...given, ...plugins.inline])
    const strategies = yield* Effect.promise(packageStrategies)
    const known = new Set(own.plugins.filter(({ kind }) => kind === "strategy").map(({ id }) => id))
    return { ...own, plugins: [...own.plugins, ...strategies.filter(({ id }) => !known.has(id))] }
  })

const packageStrategies = async () => {
  const modules = await Promise.all([
    import("headgate/strategies/balanced"),
    import("headgate/strategies/cheapest-warm"),
    import("headgate/strategies/exacto"),
    import("headgate/strategies/latency"),
    import("headgate/strategies/price"),
    import("headgate/strategies/throughput"),
  ])
  return modules.map((module) => module.default)
}
