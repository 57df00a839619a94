/** The whole gateway for a test: on a socket of its own, or as a function without one. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Gateway from "../../../src/app/Gateway.ts"
import type { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { GatewayConfigInput } from "../../../src/config/GatewayConfig.ts"
import { decodeConfig } from "../../../src/config/loadConfig.ts"
import type { DataHandlers } from "../../../src/http/data/DataHandlers.ts"
import type { DataPlane } from "../../../src/http/data/routes.ts"
import type { Plugin } from "../../../src/plugin/loading/discover.ts"
import { discover } from "../../../src/plugin/loading/discover.ts"
import { KeyStore, type NewKey } from "../../../src/services/keys/KeyStore.ts"
import type { Meter } from "../../../src/services/money/Meter.ts"
import type { InFlight } from "../../../src/services/request/InFlight.ts"
import type { RequestEnds } from "../../../src/services/request/RequestEnds.ts"
import type { Storage } from "../../../src/services/storage/Storage.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { checkedStream } from "../clients/checkedStreams.ts"
import { ownPluginsFolder } from "../hosts/ownPlugins.ts"
import { lastingStorage } from "../storage/lastingStorage.ts"

/** The plugins in the project's own folder, looked for once: they are the same for every gateway. */
export const ownPlugins = Effect.runSync(
  Effect.cached(
    Effect.map(discover([ownPluginsFolder()]), ({ plugins, invalid }) => {
      if (invalid.length > 0) throw new Error(invalid.map(({ message }) => message).join("\n"))
      return plugins
    }),
  ),
)

export interface TestGatewayOptions {
  readonly config?: GatewayConfigInput
  readonly plugins?: ReadonlyArray<Plugin>
  readonly storage?: Layer.Layer<Storage, unknown>
  /** A clock, a logger: provided to everything in the gateway. */
  readonly setting?: Layer.Layer<never>
  /** What answers in place of hosts on the network. */
  readonly upstream?: Layer.Layer<Upstream>
  /** After so many silent seconds a connection is closed. */
  readonly idleSeconds?: number
}

/** Services of the gateway that tests ask. */
type TestServices = DataHandlers | DataPlane | InFlight | KeyStore | Meter | ProviderRegistry | RequestEnds | Storage

export interface TestGateway {
  /** `http://127.0.0.1:<port>/api/v1`; for a gateway without a socket, an address at which nothing listens. */
  readonly url: string
  /** An ordinary key without a limit, and a management key. */
  readonly key: string
  readonly managementKey: string
  /** Calls a path below `/api/v1` with the ordinary key, unless `authorization` says otherwise. */
  readonly call: (path: string, init?: RequestInit) => Promise<Response>
  /** `POST /chat/completions` of this body. */
  readonly chat: (body: unknown, init?: RequestInit) => Promise<Response>
  /** Runs an effect with the gateway's services. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, TestServices>) => Promise<A>
  readonly newKey: (key?: Partial<NewKey>) => Promise<string>
  /** Closes it as SIGTERM would: drains, settles, ends. */
  readonly stop: () => Promise<void>
}

/**
 * A gateway on a free port of 127.0.0.1, with the project's own plugins and everything in memory unless `options` say
 * otherwise.
 */
export const startGateway = async ({
  setting = Layer.empty,
  idleSeconds,
  ...options
}: TestGatewayOptions = {}): Promise<TestGateway> => {
  const served = Effect.map(gatewayLayers(options), ({ config, services }) =>
    Gateway.serve({ ...config, server: { ...config.server, port: 0 } }, idleSeconds).pipe(Layer.provideMerge(services)),
  )
  const { context, close } = await build(Layer.provide(Layer.unwrapEffect(served), setting))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = address._tag === "TcpAddress" ? address.port : 0
  return testGatewayOf(context, `http://127.0.0.1:${port}/api/v1`, (request) => fetch(request), close)
}

/** The same as a function from request to response: no port, no network. */
export const gatewayWithoutSocket = async ({
  setting = Layer.empty,
  ...options
}: TestGatewayOptions = {}): Promise<TestGateway> => {
  const { services } = await Effect.runPromise(gatewayLayers(options))
  const { context, close } = await build(Layer.provide(services, setting))
  const { handler, dispose } = HttpLayerRouter.toWebHandler(
    Layer.provide(Gateway.allRoutesAt(""), Layer.merge(Layer.succeedContext(context), setting)),
    { disableLogger: true },
  )
  return testGatewayOf(
    context,
    "http://gateway.test/api/v1",
    (request) => handler(request),
    async () => {
      await dispose()
      await close()
    },
  )
}

/** How hosts are called. `TEST_UPSTREAM=fetch`: by the runtime's `fetch`, to compare with our own client. */
const chosenUpstream =
  process.env["TEST_UPSTREAM"] === "fetch"
    ? Upstream.layerFrom((request) => fetch(request, { redirect: "manual" }))
    : Upstream.layer

const gatewayLayers = ({
  config = {},
  plugins,
  storage = lastingStorage,
  upstream = chosenUpstream,
}: TestGatewayOptions) =>
  Effect.gen(function* () {
    const decoded = yield* decodeConfig(config)
    const all = plugins ?? (yield* ownPlugins)
    const services = Gateway.servicesOf({ plugins: all, config: decoded }).pipe(
      Layer.provideMerge(KeyStore.layer()),
      Layer.provideMerge(storage),
      Layer.provide(upstream),
      Layer.provide(Logger.remove(Logger.defaultLogger)),
    )
    return { config: decoded, services }
  })

const build = async <A>(layer: Layer.Layer<A, unknown>) => {
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  return { context, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

const testGatewayOf = async (
  context: Context.Context<TestServices>,
  url: string,
  send: (request: Request) => Promise<Response>,
  stop: () => Promise<void>,
): Promise<TestGateway> => {
  const run = <A, E>(effect: Effect.Effect<A, E, TestServices>) => Effect.runPromise(Effect.provide(effect, context))
  const make = (key: NewKey) =>
    run(Effect.flatMap(KeyStore, (keys) => Effect.map(keys.create(key), ({ secret }) => Redacted.value(secret))))
  const key = await make({ kind: "ordinary", name: "test" })
  const managementKey = await make({ kind: "management", name: "test" })
  const call = async (path: string, { headers, ...init }: RequestInit = {}) => {
    // As over a socket, where the runtime adds it.
    const length = typeof init.body === "string" ? { "content-length": `${Buffer.byteLength(init.body)}` } : {}
    const request = new Request(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...length, ...Object.fromEntries(new Headers(headers)) },
    })
    return checkedStream(path, await send(request))
  }
  return {
    url,
    key,
    managementKey,
    call,
    chat: (body, { headers, ...init } = {}) =>
      call("/chat/completions", {
        method: "POST",
        body: JSON.stringify(body),
        ...init,
        headers: { "content-type": "application/json", ...Object.fromEntries(new Headers(headers)) },
      }),
    run,
    newKey: (options) => make({ kind: "ordinary", name: "test", ...options }),
    stop,
  }
}
