/** Composes the layers: the services of a gateway, its routes, and the server for both planes on one port. */
import type * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import type * as HttpServer from "@effect/platform/HttpServer"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ProviderRegistry } from "../catalogue/ProviderRegistry.ts"
import { embeddedPlugins } from "../config/embeddedPlugins.ts"
import type { GatewayConfig, GatewayConfigInput } from "../config/GatewayConfig.ts"
import { readConfig } from "../config/loadConfig.ts"
import { type Parts, resolveConfig, type Setup } from "../config/resolveConfig.ts"
import type { ConfigInvalid } from "../domain/json/Problem.ts"
import { CallerAddresses } from "../http/CallerAddresses.ts"
import { ControlSettings } from "../http/control/ControlSettings.ts"
import { controlRoutes, otherRoutes, serveControl } from "../http/control/onDemand.ts"
import { type DataHandler, DataHandlers } from "../http/data/DataHandlers.ts"
import { DataPlane, dataRoutes } from "../http/data/routes.ts"
import { everything, everythingAt, Mount, type MountPoint, type Prefix, sharedAt } from "../http/Mount.ts"
import { closedByStop } from "../http/stopping.ts"
import { LostLines } from "../process/log/logger.ts"
import { layerAlerts } from "../services/alerts/layerAlerts.ts"
import { Dispatcher } from "../services/dispatch/Dispatcher.ts"
import { layerDrain } from "../services/dispatch/drain.ts"
import { HostHealth } from "../services/hosts/HostHealth.ts"
import { HostStats } from "../services/hosts/HostStats.ts"
import { layerKeptStats } from "../services/hosts/keptStats.ts"
import { layerLocalServers } from "../services/hosts/localServers.ts"
import { ProviderKeys } from "../services/hosts/ProviderKeys.ts"
import type { KeyStore } from "../services/keys/KeyStore.ts"
import { RequestLimits } from "../services/keys/RequestLimits.ts"
import { Sessions } from "../services/keys/Sessions.ts"
import { LiveRequests } from "../services/live/LiveRequests.ts"
import { Metrics } from "../services/metrics/Metrics.ts"
import { ofLog, ofTraces } from "../services/metrics/serviceCollectors.ts"
import { layerHourlySums } from "../services/money/HourlySums.ts"
import { Meter } from "../services/money/Meter.ts"
import { layerAccessLog } from "../services/records/accessLog.ts"
import { RequestRecords } from "../services/records/RequestRecords.ts"
import { Conversations } from "../services/request/Conversations.ts"
import { Idempotency } from "../services/request/Idempotency.ts"
import { InFlight } from "../services/request/InFlight.ts"
import { RequestEnds } from "../services/request/RequestEnds.ts"
import { Timers } from "../services/request/Timers.ts"
import { Router } from "../services/routing/Router.ts"
import { ConfigFacts } from "../services/state/ConfigFacts.ts"
import { GatewayState } from "../services/state/GatewayState.ts"
import type { Storage } from "../services/storage/Storage.ts"
import { Traces } from "../services/traces/Traces.ts"
import type { Upstream } from "../upstream/Upstream.ts"
import { metricsListener } from "./metricsListener.ts"

export interface GatewayOptions extends Parts {
  /** As in `headgate.config.ts`. */
  readonly config?: GatewayConfigInput
}

/** What a gateway is built from: its configuration, with the plugins resolved. */
export class Settings extends Context.Tag("headgate/Settings")<Settings, Setup>() {}

/** What is known: models and their hosts, what was seen of each host, who has spent what, which requests run. */
export type State =
  | CallerAddresses
  | ConfigFacts
  | ControlSettings
  | Conversations
  | HostHealth
  | HostStats
  | Idempotency
  | InFlight
  | LiveRequests
  | Meter
  | ProviderRegistry
  | RequestEnds
  | RequestLimits
  | RequestRecords
  | Settings
  | Timers

/** What decides which hosts a request may go to. */
export type Routing = ProviderKeys | Router

/** What carries requests out. */
export type Serving = DataPlane | Dispatcher | DataHandlers | GatewayState | Metrics | Sessions | Traces

/** The services of a gateway. */
export type Services = State | Routing | Serving

/** What an embedder provides: who may call, where data is kept, and how hosts are called. */
export type Surroundings = KeyStore | Storage | Upstream

/**
 * Builds the services of a gateway. Fails with every problem of the configuration. It looks for model servers on this
 * machine only where the configuration says `discovery.local: true`: an app may not want that without having said so.
 *
 * It is `serving` on `routing` on `state`. An app that replaces a service puts its own layer between them, and several
 * such gateways each into a `Layer.fresh`.
 */
export const services = (options: GatewayOptions): Layer.Layer<Services, ConfigInvalid, Surroundings> =>
  onState(state(options))

/** The same for a decoded configuration. */
export const servicesOf = ({
  config,
  ...parts
}: Parts & { readonly config: GatewayConfig }): Layer.Layer<Services, ConfigInvalid, Surroundings> =>
  onState(
    Layer.unwrapEffect(
      Effect.map(resolveConfig(parts, { config, problems: [], unread: [] }), (setup) =>
        stateFrom(withoutLocalServers(setup)),
      ),
    ),
  )

/** The same for a resolved configuration. */
export const servicesFrom = (setup: Setup): Layer.Layer<Services, never, Surroundings> => onState(stateFrom(setup))

const onState = <E>(known: Layer.Layer<State, E, Storage>): Layer.Layer<Services, E, Surroundings> =>
  stacked(stacked(known, routing), serving)

/**
 * A layer that shares nothing with another gateway of the program: layers that are constants, such as
 * `HostStats.layer`, are built for it alone. It is built once, also where it is provided twice, which a layer made by
 * `Layer.fresh` is not: within `Layer.provideMerge` there would be two of it.
 */
const own = <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> => Layer.scopedContext(builtAnew(layer))

/**
 * `upper` with the services of `lower`, and both as one layer that shares nothing, as `own` makes it.
 * `Layer.provideMerge` does the same in seven layers in place of one, and layers are most of what building a gateway
 * takes.
 */
const stacked = <A, E, R, A2, E2, R2>(
  lower: Layer.Layer<A, E, R>,
  upper: Layer.Layer<A2, E2, R2>,
): Layer.Layer<A | A2, E | E2, R | Exclude<R2, A>> =>
  Layer.scopedContext(
    Effect.flatMap(builtAnew(lower), (below) =>
      Effect.map(Effect.provide(builtAnew(upper), below), (above) => Context.merge(below, above)),
    ),
  )

const builtAnew = <A, E, R>(layer: Layer.Layer<A, E, R>): Effect.Effect<Context.Context<A>, E, R | Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => Layer.buildWithScope(layer, scope))

/** The lowest of the three parts of `services`. */
export const state = (options: GatewayOptions): Layer.Layer<State, ConfigInvalid, Storage> =>
  own(Layer.unwrapEffect(Effect.map(setupOf(options), stateFrom)))

/**
 * Decodes the configuration and resolves it with the plugins, `plugins.inline` and the package's strategies among them.
 */
export const setupOf = ({
  config = {},
  plugins,
  invalid = [],
  ...parts
}: GatewayOptions): Effect.Effect<Setup, ConfigInvalid> =>
  Effect.gen(function* () {
    const reading = yield* readConfig(config)
    const found = yield* embeddedPlugins(plugins, reading.config)
    const setup = yield* resolveConfig(
      { ...parts, plugins: found.plugins, invalid: [...invalid, ...found.invalid] },
      reading,
    )
    return config.discovery?.local === true ? setup : withoutLocalServers(setup)
  })

const withoutLocalServers = (setup: Setup): Setup => ({ ...setup, resolved: { ...setup.resolved, localServers: [] } })

const stateFrom = (setup: Setup): Layer.Layer<State, never, Storage> => {
  const { resolved, warnings, notes } = setup
  const given = Layer.mergeAll(
    Timers.layer,
    ProviderRegistry.layer(resolved),
    Layer.succeed(Settings, setup),
    ConfigFacts.layer({ file: null, warnings, providers: notes }),
  )
  const seen = Layer.mergeAll(
    HostHealth.layer,
    HostStats.layer,
    Conversations.layer,
    InFlight.layer,
    Meter.layer,
    Idempotency.layer,
    RequestLimits.layer,
    CallerAddresses.layer(setup.config.server),
    ControlSettings.layer(controlOptions(setup.config)),
    layerHourlySums,
  )
  const { requestsDays: days, requestsRows: rows } = setup.config.records
  const observing = Layer.merge(RequestRecords.layer({ days, rows }), LiveRequests.layer)
  return stacked(stacked(stacked(given, seen), RequestEnds.layer), observing)
}

const controlOptions = ({ server: { corsOrigins, metrics, openMetrics, console, publicUrl } }: GatewayConfig) => ({
  corsOrigins,
  console,
  publicUrl,
  openMetrics: metrics.open || openMetrics,
})

/** The middle part of `services`. */
export const routing: Layer.Layer<Routing, never, State | Storage> = stacked(
  stacked(layerKeptStats, ProviderKeys.layer),
  Router.layer,
)

/** The upper part of `services`. */
export const serving: Layer.Layer<Serving, never, State | Routing | Surroundings> = Layer.unwrapEffect(
  Effect.map(Settings, ({ config: { server, alerts, storage, spoolFolder } }) => {
    // Of PostgreSQL it is the disk of the spool that is on this machine.
    const folder = storage._tag === "Postgres" ? spoolFolder : undefined
    // Those who observe requests are below the drain, so that they hear of requests that end in it.
    return stacked(
      Layer.mergeAll(
        Metrics.layer(server.metrics),
        GatewayState.layer(folder),
        Traces.layer(server.trustTraceparent),
        layerAccessLog(server.accessLog),
        Sessions.layer,
      ),
      Layer.mergeAll(
        stacked(
          stacked(stacked(Dispatcher.layer, layerDrain(server.drainSeconds * 1000)), DataHandlers.layer(server)),
          DataPlane.layer(server),
        ),
        layerLocalServers,
        ownFigures,
        layerAlerts(alerts, folder),
      ),
    )
  }),
)

/**
 * The server of an app that stops in order: running requests may end for up to `server.drain_s` seconds, and new ones
 * are refused, before the server ends. By itself a server of the platform interrupts what runs, and clients lose
 * answers that are paid.
 */
export const drained = <A, E, R>(
  server: Layer.Layer<A, E, R>,
): Layer.Layer<A, E, R | Dispatcher | InFlight | Settings> =>
  Layer.unwrapEffect(Effect.map(Settings, ({ config }) => layerDrain(config.server.drainSeconds * 1000))).pipe(
    Layer.provideMerge(server),
  )

/** Of what is beside the metrics. */
const ownFigures = Layer.effectDiscard(
  Effect.gen(function* () {
    const { register } = yield* Metrics
    const { counts, isOn } = yield* Traces
    if (isOn) register(ofTraces(counts))
    register(ofLog(yield* LostLines))
  }),
)

/**
 * Every route of both planes, for an app of `HttpLayerRouter`. Unknown paths that do not begin with `/api/v1/` are the
 * app's.
 */
export const routes: Layer.Layer<never, never, HttpLayerRouter.HttpRouter | Services | KeyStore | Storage> = routesOn(
  sharedAt(""),
)

/**
 * The same below a prefix, such as "/llm": `/llm/api/v1/chat/completions`. Unknown paths that do not begin with it are
 * the app's.
 */
export const routesAt = (prefix: `/${string}`): typeof routes => routesOn(sharedAt(prefix))

/** The same for an app that has nothing else: every unknown path is answered. */
export const allRoutesAt = (prefix: Prefix): typeof routes => {
  const mount = everythingAt(prefix)
  return own(Layer.provide(Layer.merge(dataRoutes, otherRoutes(mount)), Layer.succeed(Mount, mount)))
}

function routesOn(mount: MountPoint): typeof routes {
  // Otherwise it shares handlers and the list of operations with the app's own HttpApi, and routes with another mount.
  return own(Layer.provide(Layer.merge(dataRoutes, controlRoutes), Layer.succeed(Mount, mount)))
}

/**
 * The longest time that Bun accepts (1.4.5). Some balancers keep idle connections longer: docs/deployment.md#idle. 0 is
 * no alternative: an idle connection, and one with half a request's head, would stay forever, and Bun shows no
 * connections that could be closed one by one.
 */
const longestIdleSeconds = 255

/**
 * Serves both planes on one port: the data plane by Bun's native routes, everything else by the router. `idleSeconds`:
 * after so long without a byte a connection is closed, unless a request of it waits for its answer.
 */
export const serve = (
  { server: settings }: GatewayConfig,
  idleSeconds = longestIdleSeconds,
): Layer.Layer<HttpServer.HttpServer, never, Services | KeyStore | Storage> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { hostname, port, workers, metrics } = settings
      const { mounts, preflight } = yield* DataPlane
      const inFlight = yield* InFlight
      const onSocket =
        ({ native }: DataHandler) =>
        (request: Request, server: Bun.Server<unknown>) =>
          native(
            request,
            () => {
              if (server.requestIP(request) === null) return true
              // A model may think for minutes: while its answer is awaited the time begins anew at each look.
              server.timeout(request, idleSeconds)
              return false
            },
            server,
          )
      const routes = Object.fromEntries(
        Array.from(mounts, ([path, { POST, GET }]) => [
          path,
          {
            ...(POST === undefined ? {} : { POST: onSocket(POST) }),
            ...(GET === undefined ? {} : { GET: onSocket(GET) }),
            OPTIONS: (request: Request) => closedByStop(inFlight, preflight(request)),
          },
        ]),
      )
      // Not `routes`: a path with another spelling than a native route, such as one with `/../`, would reach the data
      // plane there.
      return serveControl({ ...everything, hasMetrics: metrics.port === null }).pipe(
        Layer.fresh,
        Layer.merge(metricsListener(settings)),
        Layer.provideMerge(
          BunHttpServer.layer({
            hostname,
            port,
            reusePort: workers > 1,
            idleTimeout: idleSeconds,
            // We check the size ourselves, because the runtime's refusal has no documented body.
            maxRequestBodySize: Number.MAX_SAFE_INTEGER,
            routes,
          }),
        ),
      )
    }),
  )
