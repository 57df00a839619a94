/** Composes the layers: the services of a gateway, its routes, and the server for both planes on one port. */
import type * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import type * as HttpServer from "@effect/platform/HttpServer"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { GatewayConfig, GatewayConfigInput } from "./config/GatewayConfig.ts"
import { readConfig } from "./config/loadConfig.ts"
import { type Parts, resolveConfig, type Setup } from "./config/resolveConfig.ts"
import type { ConfigInvalid } from "./domain/Problem.ts"
import { ControlSettings } from "./http/control/ControlSettings.ts"
import { controlRoutes, serveControl } from "./http/control/onDemand.ts"
import { Inference } from "./http/data/inference.ts"
import { DataPlane, dataRoutes } from "./http/data/routes.ts"
import { Conversations } from "./services/Conversations.ts"
import { Dispatcher } from "./services/Dispatcher.ts"
import { layerDrain } from "./services/Drain.ts"
import { HostHealth } from "./services/HostHealth.ts"
import { HostStats } from "./services/HostStats.ts"
import { Idempotency } from "./services/Idempotency.ts"
import { InFlight } from "./services/InFlight.ts"
import type { KeyStore } from "./services/KeyStore.ts"
import { layerKeptStats } from "./services/keptStats.ts"
import { layerLocalServers } from "./services/localServers.ts"
import { Meter } from "./services/Meter.ts"
import { ProviderKeys } from "./services/ProviderKeys.ts"
import { ProviderRegistry } from "./services/ProviderRegistry.ts"
import { RequestLimits } from "./services/RequestLimits.ts"
import { Router } from "./services/Router.ts"
import type { Storage } from "./services/Storage.ts"
import { Timers } from "./services/Timers.ts"
import type { Upstream } from "./upstream/Upstream.ts"

export interface GatewayOptions extends Parts {
  /** As in `headgate.config.ts`. */
  readonly config?: GatewayConfigInput
}

/** The services of a gateway. */
export type Services =
  | ControlSettings
  | Conversations
  | DataPlane
  | Dispatcher
  | HostHealth
  | HostStats
  | Idempotency
  | InFlight
  | Inference
  | Meter
  | ProviderKeys
  | ProviderRegistry
  | RequestLimits
  | Router
  | Timers

/** What an embedder provides: who may call, where data is kept, and how hosts are called. */
export type Surroundings = KeyStore | Storage | Upstream

/**
 * Builds the services of a gateway. Fails with every problem of the configuration. It looks for model servers on this machine only
 * where the configuration says `discovery.local: true`: an app may not want that without having said so.
 */
export const services = ({
  config = {},
  ...parts
}: GatewayOptions): Layer.Layer<Services, ConfigInvalid, Surroundings> =>
  Layer.unwrapEffect(
    readConfig(config).pipe(
      Effect.flatMap((reading) => resolveConfig(parts, reading)),
      Effect.map((setup) =>
        config.discovery?.local === true
          ? Layer.provideMerge(Layer.fresh(layerLocalServers), servicesFrom(setup))
          : servicesFrom(setup),
      ),
    ),
  )

/** The same for a decoded configuration. */
export const servicesOf = ({
  config,
  ...parts
}: Parts & { readonly config: GatewayConfig }): Layer.Layer<Services, ConfigInvalid, Surroundings> =>
  Layer.unwrapEffect(Effect.map(resolveConfig(parts, { config, problems: [], unread: [] }), servicesFrom))

/** The same for a resolved configuration. */
export const servicesFrom = ({
  config,
  resolved,
}: Pick<Setup, "config" | "resolved">): Layer.Layer<Services, never, Surroundings> => {
  const { server } = config
  // `fresh`, because a constant layer would be shared by all gateways of a program, and so would their accounts.
  const state = Layer.mergeAll(
    Layer.fresh(HostHealth.layer),
    Layer.fresh(HostStats.layer),
    Layer.fresh(Conversations.layer),
    Layer.fresh(InFlight.layer),
    Layer.fresh(Meter.layer),
    Layer.fresh(Idempotency.layer),
    ControlSettings.layer({ corsOrigins: server.corsOrigins }),
    Layer.fresh(RequestLimits.layer),
  ).pipe(Layer.provideMerge(Layer.merge(Layer.fresh(Timers.layer), ProviderRegistry.layer(resolved))))
  const basis = Layer.mergeAll(Layer.fresh(layerKeptStats), Layer.fresh(ProviderKeys.layer)).pipe(
    Layer.provideMerge(state),
  )
  return DataPlane.layer(server).pipe(
    Layer.provideMerge(Layer.fresh(Inference.layer)),
    Layer.provideMerge(layerDrain(server.drainSeconds * 1000)),
    Layer.provideMerge(Layer.fresh(Dispatcher.layer)),
    Layer.provideMerge(Layer.fresh(Router.layer)),
    Layer.provideMerge(basis),
  )
}

/** Every route of both planes, for an app of `HttpLayerRouter`. */
export const routes: Layer.Layer<never, never, HttpLayerRouter.HttpRouter | Services | KeyStore | Storage> =
  Layer.mergeAll(dataRoutes, controlRoutes)

/** Serves both planes on one port: the data plane by Bun's native routes, everything else by the router. */
export const serve = ({
  server,
}: GatewayConfig): Layer.Layer<HttpServer.HttpServer, never, Services | KeyStore | Storage> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { handlers, preflight } = yield* DataPlane
      const routes = Object.fromEntries(
        Array.from(handlers, ([path, { native }]) => [
          path,
          {
            POST: (request: Request, server: Bun.Server<unknown>) =>
              native(request, () => server.requestIP(request) === null),
            OPTIONS: preflight,
          },
        ]),
      )
      // Not `routes`: a path with another spelling than a native route, such as one with `/../`, would reach the data
      // plane there.
      return serveControl.pipe(
        Layer.fresh,
        Layer.provideMerge(
          BunHttpServer.layer({
            hostname: server.hostname,
            port: server.port,
            reusePort: server.workers > 1,
            // A model may think for minutes. Our own timers watch for silence.
            idleTimeout: 0,
            // We check the size ourselves, because the runtime's refusal has no documented body.
            maxRequestBodySize: Number.MAX_SAFE_INTEGER,
            routes,
          }),
        ),
      )
    }),
  )
