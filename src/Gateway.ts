/** Where layers meet: the services of a gateway, its routes, and the server that carries both planes on one port. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Record from "effect/Record"
import { ConfigInvalid } from "./config/configError.ts"
import { discoverProviders } from "./config/discoverProviders.ts"
import type { GatewayConfig, GatewayConfigInput } from "./config/GatewayConfig.ts"
import { decodeConfig } from "./config/loadConfig.ts"
import { ControlSettings, controlRoutes } from "./http/control/index.ts"
import { Inference } from "./http/data/inference.ts"
import { DataPlane, dataRoutes } from "./http/data/routes.ts"
import { runAtOnce } from "./http/data/runAtOnce.ts"
import type { Plugin } from "./plugin/discover.ts"
import type { ProviderPlugin } from "./plugin/Provider.ts"
import type { Rank, StrategyPlugin } from "./plugin/Strategy.ts"
import { Alarms } from "./services/Alarms.ts"
import { Dispatcher } from "./services/Dispatcher.ts"
import { layerDrain } from "./services/Drain.ts"
import { HostStats } from "./services/HostStats.ts"
import { InFlight } from "./services/InFlight.ts"
import { Meter } from "./services/Meter.ts"
import { ProviderRegistry, ProvidersInvalid } from "./services/ProviderRegistry.ts"
import { Relay } from "./services/Relay.ts"
import { Router } from "./services/Router.ts"

export interface GatewayOptions {
  /** Providers and strategies: what `discover` finds, or values that an embedder imported. */
  readonly plugins: ReadonlyArray<Plugin>
  /** As in `headgate.config.ts`. */
  readonly config?: GatewayConfigInput
  /** Orders the hosts in place of a strategy plugin. */
  readonly strategy?: Rank
}

/**
 * The services of a gateway. Who may call (`KeyStore`), what is kept (`Storage`) and the way out (`Upstream`) are the
 * embedder's to give. Fails with everything that is wrong with the configuration.
 */
export const services = ({ config = {}, ...options }: GatewayOptions) =>
  Layer.unwrapEffect(
    decodeConfig(config).pipe(
      Effect.mapError((problems) => new ConfigInvalid({ problems })),
      Effect.map((decoded) => servicesOf({ ...options, config: decoded })),
    ),
  )

/** The same, of a configuration that is decoded already. */
export const servicesOf = (options: Omit<GatewayOptions, "config"> & { readonly config: GatewayConfig }) => {
  const { config, plugins } = options
  const { server } = config
  const limits = inForce(config.limits)
  const providers = plugins.filter((plugin): plugin is ProviderPlugin => plugin.kind === "provider")

  const registry = Layer.unwrapEffect(
    Effect.map(discoverProviders(config, providers), (settings) =>
      ProviderRegistry.layer({
        plugins: providers,
        providers: settings,
        models: config.models,
        aliases: config.aliases,
      }),
    ),
  )
  const router = Layer.unwrapEffect(Effect.map(rankings(options), (strategies) => Router.layer(strategies)))
  const streams = {
    idleMs: limits.idleMs,
    thinkingIdleMs: limits.thinkingIdleMs,
    commitAfterMs: limits.commitAfterMs,
    clientStallMs: limits.clientStallMs,
    minBytesPerSecond: limits.minBytesPerSecond,
    streamBytes: limits.streamBytes,
    cooldowns: limits.cooldown,
  }
  const calls = {
    ttfbMs: limits.ttfbMs,
    answerBytes: limits.bodyBytes,
    cooldowns: limits.cooldown,
  }
  const ground = Layer.mergeAll(
    registry,
    // Fresh: a layer that is a constant would be shared by all gateways of one program, and their money with it.
    Layer.fresh(HostStats.layer),
    InFlight.layer({ maxInFlight: limits.maxInFlight, deadlineMs: limits.deadlineMs }),
    Layer.fresh(Meter.layer),
    ControlSettings.layer({
      corsOrigins: server.corsOrigins,
      bodyBytes: limits.bodyBytes,
      freeModelsPerDay: config.billing.freeModels.requestsPerDay,
    }),
  ).pipe(Layer.provideMerge(Layer.fresh(Alarms.layer)))
  return DataPlane.layer(server).pipe(
    Layer.provideMerge(Inference.layer({ bodyBytes: limits.bodyBytes })),
    Layer.provideMerge(layerDrain(server.drainSeconds * 1000)),
    Layer.provideMerge(Relay.layer(streams)),
    Layer.provideMerge(Dispatcher.layer(calls)),
    Layer.provideMerge(router),
    Layer.provideMerge(ground),
  )
}

/** The limits of the configuration, as figures are held against them: nothing reaches one that 0 has switched off. */
const inForce = ({ breaker: _, cooldown, minBytesPerSecond, ...bounds }: GatewayConfig["limits"]) => ({
  ...Record.map(bounds, (bound) => (bound === 0 ? Number.POSITIVE_INFINITY : bound)),
  minBytesPerSecond,
  cooldown,
})

/** Every strategy by id, and the one in force. */
const rankings = ({ plugins, config, strategy }: Omit<GatewayOptions, "config"> & { readonly config: GatewayConfig }) =>
  Effect.gen(function* () {
    const strategies = new Map<string, Rank>()
    for (const plugin of plugins.filter((each): each is StrategyPlugin => each.kind === "strategy")) {
      strategies.set(plugin.id, yield* Effect.orDie(plugin.load({})))
    }
    if (strategy !== undefined) return { strategies: strategies.set("own", strategy), strategy: "own" }
    const { strategy: wanted } = config.routing
    // Without any strategy the order of the configuration stands: what an embedder who passes none will expect.
    if (strategies.size > 0 && !strategies.has(wanted)) {
      const message = `expected one of ${[...strategies.keys()].join(", ")}, got "${wanted}"`
      return yield* new ProvidersInvalid({ problems: [{ path: "routing.strategy", message }] })
    }
    return { strategies, strategy: wanted }
  })

/** Every route of both planes, for an app of `HttpLayerRouter`. */
export const routes = Layer.mergeAll(dataRoutes, controlRoutes)

/** Serves both planes on one port: the data plane by Bun's native routes, everything else by the router. */
export const serve = ({ server }: GatewayConfig) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { handlers, preflight } = yield* DataPlane
      const run = runAtOnce(yield* Effect.runtime<never>())
      const native = Object.fromEntries(
        Array.from(handlers, ([path, handle]) => [
          path,
          { POST: (request: Request) => run(handle(request)), OPTIONS: preflight },
        ]),
      )
      // Not `routes`: what is not spelled like a native route would find the data plane there, since Bun has taken `/../` out.
      return HttpLayerRouter.serve(controlRoutes, {
        disableLogger: true,
        disableListenLog: true,
        routerConfig: { maxParamLength: 256 },
      }).pipe(
        Layer.fresh,
        Layer.provideMerge(
          BunHttpServer.layer({
            hostname: server.hostname,
            port: server.port,
            // A model may think for minutes: silence is our own alarms' business.
            idleTimeout: 0,
            // Ours is checked before the body is read; the runtime would answer without the documented body.
            maxRequestBodySize: Number.MAX_SAFE_INTEGER,
            routes: native,
          }),
        ),
      )
    }),
  )
