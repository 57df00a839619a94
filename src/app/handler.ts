/**
 * A gateway as a function from `Request` to `Response`, for apps that do not use Effect: Hono, Elysia, `Bun.serve`, Next run by
 * Bun. An app that does uses `Gateway.routes`.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { KeyNotAccepted, Unavailable } from "../domain/failures/Failure.ts"
import { KeyId } from "../domain/ids.ts"
import { ConfigInvalid } from "../domain/json/Problem.ts"
import { managementKeyFault, metricsTokenFault } from "../domain/keys/keySecret.ts"
import { chatErrorBody } from "../formats/errorBody.ts"
import type { PeerSource } from "../http/CallerAddresses.ts"
import { render } from "../http/errorBody.ts"
import { MetricsToken } from "../http/metricsAnswer.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { processLog } from "../process/log/logger.ts"
import { KeyStore, type KnownKey } from "../services/keys/KeyStore.ts"
import { Storage } from "../services/storage/Storage.ts"
import { Upstream } from "../upstream/Upstream.ts"
import * as Gateway from "./Gateway.ts"

/**
 * Somebody whom the app lets in. What is left out is unlimited. `limit` is in picodollars: `parseUsd("2.50") ?? 0n`, since a text
 * that is no amount must not lift the limit. `disabled` and an `expiresAt` that is over refuse the caller.
 */
export type Caller = { readonly id: string } & Omit<KnownKey, "id">

export interface HandlerOptions extends Gateway.GatewayOptions {
  /** A path in front of every route, such as "/llm" for `/llm/api/v1/chat/completions`. The request has to have it in its URL. */
  readonly prefix?: `/${string}`
  /** Makes and changes keys at `/api/v1/keys`, besides the management keys in the storage. It is not stored. */
  readonly managementKey?: string
  /** Reads `/metrics`, as `managementKey` does, and opens nothing else: at least 16 visible ASCII characters. */
  readonly metricsToken?: string
  /**
   * Who may call, in place of the gateway's keys: the caller whose secret this is, or `null`. When it throws or rejects, the call is
   * answered with 503, and the reason is logged.
   */
  readonly authenticate?: (secret: string) => Caller | null | Promise<Caller | null>
}

/** An object rather than a function, since this is what `Bun.serve` takes and what Hono and Elysia mount. Both members work unbound. */
export interface Handler {
  /**
   * Answers every request, one for an unknown path with 404. A streamed answer ends when its body is cancelled. `server`: Bun's server,
   * or an object with its `requestIP`, which knows the caller's address. Anything else, such as what a framework passes, is no such.
   */
  readonly fetch: (request: Request, server?: unknown) => Promise<Response>
  /** Refuses new requests, lets running ones end for up to `server.drain_s` seconds, books them and closes the storage. */
  readonly close: () => Promise<void>
}

/**
 * Builds the gateway with `storage`, `durability` and `spool_folder` of its configuration. Rejects with a `ConfigInvalid` that has
 * every problem of the configuration, or with the reason why the storage could not be opened.
 */
export const handler = async ({
  prefix,
  managementKey,
  metricsToken,
  authenticate,
  ...options
}: HandlerOptions): Promise<Handler> => {
  const routes = Gateway.allRoutesAt(prefix ?? "")
  const fault = managementKey === undefined ? undefined : managementKeyFault(managementKey)
  if (fault !== undefined) throw invalid(fault)
  const tokenFault = metricsToken === undefined ? undefined : metricsTokenFault(metricsToken)
  if (tokenFault !== undefined) throw invalid(tokenFault, "metricsToken")
  if (managementKey !== undefined && authenticate !== undefined) {
    throw invalid("has no effect beside `authenticate`, which says who may call: leave one of them out")
  }
  const callers =
    authenticate === undefined
      ? KeyStore.layer({ managementKey: managementKey === undefined ? undefined : Redacted.make(managementKey) })
      : KeyStore.layerFrom((secret) => callerOf(authenticate, Redacted.value(secret)))
  const log = processLog()
  const build = Effect.gen(function* () {
    const setup = yield* Gateway.setupOf(options)
    const services = Gateway.servicesFrom(setup).pipe(
      Layer.merge(managementKey === undefined && authenticate === undefined ? someKey : Layer.empty),
      Layer.provideMerge(callers),
      Layer.provide(Upstream.layer),
      Layer.provideMerge(Layer.unwrapEffect(Effect.promise(() => storageOf(setup.config)))),
    )
    return yield* Layer.buildWithScope(services, scope)
  }).pipe(Effect.provide(log.layer))

  const scope = Effect.runSync(Scope.make())
  const built = await Effect.runPromiseExit(build)
  if (Exit.isFailure(built)) {
    await Effect.runPromise(Effect.zipRight(Scope.close(scope, built), log.end))
    throw Cause.squash(built.cause)
  }
  const token = Layer.succeed(MetricsToken, metricsToken === undefined ? null : Redacted.make(metricsToken))
  const { handler: fetch, dispose } = HttpLayerRouter.toWebHandler(
    Layer.provide(
      Layer.provideMerge(routes, withPeer),
      Layer.mergeAll(Layer.succeedContext(built.value), log.layer, token),
    ),
    { disableLogger: true, routerConfig: { maxParamLength: 256 } },
  )
  let closing: Promise<void> | undefined
  let isClosed = false
  return {
    fetch: (request, server) => {
      if (isClosed) return Promise.resolve(afterClose())
      const peer = isPeerSource(server) ? server.requestIP(request)?.address : undefined
      return fetch(request, peer === undefined ? undefined : Context.make(Peer, peer))
    },
    close: () => {
      // First the services, which wait for running requests.
      closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
        .then(() => {
          isClosed = true
          return dispose()
        })
        .then(() => Effect.runPromise(log.end))
      return closing
    },
  }
}

/** Of any request once the storage is closed: 503, as of one that comes during the drain. */
const afterClose = (): Response => {
  const rendered = render(new Unavailable({ why: "draining", retryAfterSeconds: 1 }))
  return Response.json(chatErrorBody(rendered), { status: rendered.status, headers: { ...rendered.headers } })
}

/** The address of the other end of the socket; `undefined`: nobody has said it. */
class Peer extends Context.Reference<Peer>()("headgate/Peer", {
  defaultValue: (): string | undefined => undefined,
}) {}

const isPeerSource = (server: unknown): server is PeerSource =>
  typeof server === "object" && server !== null && "requestIP" in server && typeof server.requestIP === "function"

/** Puts that address into the platform's request. Of the middlewares for every route it is the outermost, being added before those of `routes`. */
const withPeer = HttpLayerRouter.middleware(
  (answer) =>
    Effect.flatMap(Peer, (remoteAddress) =>
      remoteAddress === undefined
        ? answer
        : Effect.updateService(answer, HttpServerRequest.HttpServerRequest, (request) =>
            request.modify({ remoteAddress }),
          ),
    ),
  { global: true },
)

const callerOf = (authenticate: NonNullable<HandlerOptions["authenticate"]>, secret: string) =>
  Effect.flatMap(
    Effect.tryPromise(async () => authenticate(secret)).pipe(
      Effect.tapError(({ cause }) => logEvent("authenticate_failed", {}, cause)),
      Effect.mapError(() => new Unavailable({ why: "callers", retryAfterSeconds: 1 })),
    ),
    (caller) => (caller === null ? new KeyNotAccepted() : Effect.succeed({ ...caller, id: KeyId.make(caller.id) })),
  )

/** Without keys and without a way to make one, nobody could call the gateway. */
const someKey = Layer.effectDiscard(
  Effect.gen(function* () {
    const { keys } = yield* Storage
    if ((yield* keys.countManagement()) > 0) return
    return yield* invalid("is required, since the storage has no management key yet; or give `authenticate`")
  }),
)

const invalid = (message: string, path = "managementKey") => new ConfigInvalid({ problems: [{ path, message }] })

/** Each kind of storage is loaded when it is chosen. */
const storageOf = async ({ storage, durability, spoolFolder }: GatewayConfig) => {
  switch (storage._tag) {
    case "Memory":
      return (await import("../sql/sqlite/MemoryStorage.ts")).layer
    case "Sqlite":
      return (await import("../sql/sqlite/SqliteStorage.ts")).layer({ path: storage.path, durability })
    case "Postgres":
      return (await import("../sql/postgres/PostgresStorage.ts")).layer({ url: storage.url, durability, spoolFolder })
  }
}
