/**
 * The routes of the control plane: keys, models, activity, health and the API's description. Can be merged with other routes of
 * an `HttpLayerRouter`.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import type * as PlatformRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerRespondable from "@effect/platform/HttpServerRespondable"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type ConfigInForce, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { Unavailable } from "../../domain/failures/Failure.ts"
import { Metrics } from "../../services/metrics/Metrics.ts"
import { answering, isSpelled, unobservedAnswer } from "../answer.ts"
import { consoleRoutes } from "../console/consoleRoutes.ts"
import { guideRoutes } from "../console/guideRoutes.ts"
import { allowOrigin } from "../cors.ts"
import { Mount } from "../Mount.ts"
import { metricsAnswer, metricsPath } from "../metricsAnswer.ts"
import { notCached } from "../sessions/cookie.ts"
import { noSuchRoute, wrongPathAt } from "../wrongPaths.ts"
import { AskWhoCalls, Authorize, AuthorizeManagement, AuthorizeSession } from "./Authorize.ts"
import { activityHandlers } from "./activity/activity.ts"
import { analyticsHandlers } from "./activity/analytics.ts"
import { backupHandlers } from "./backup.ts"
import { ControlSettings } from "./ControlSettings.ts"
import { configHandlers } from "./config.ts"
import { preflighted, shared } from "./cors.ts"
import { generationHandlers } from "./generation.ts"
import { healthHandlers } from "./health.ts"
import { Installation } from "./Installation.ts"
import { keyStatusHandlers } from "./keys/keyStatus.ts"
import { keysHandlers } from "./keys/keys.ts"
import { modelsHandlers } from "./models/models.ts"
import { providersHandlers } from "./models/providers.ts"
import { asRead, ReadLanes } from "./Reads.ts"
import { referencePages } from "./reference.ts"
import { liveHandlers } from "./requests/live.ts"
import { requestsHandlers } from "./requests/requests.ts"
import { sessionHandlers } from "./session.ts"
import { alertsHandlers } from "./state/alerts.ts"
import { stateHandlers } from "./state/state.ts"
import { versionHandlers } from "./version.ts"

export { type ControlOptions, ControlSettings } from "./ControlSettings.ts"

/** Beginnings of the paths that pages of other origins may call: listings of models and hosts, and that of providers. */
const listings = ["/api/v1/model", "/api/v1/embeddings/models", "/api/v1/endpoints/"]
const providerListing = "/api/v1/providers"

/** What a cookie decides about is kept by no cache, and nothing of sessions is. */
const uncached = <E, R>(path: string, answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.zipWith(HttpServerRequest.HttpServerRequest, answer, ({ headers }, response) => {
    if (headers["cookie"] === undefined && path !== "/api/v1/session") return response
    const vary = [response.headers["vary"] ?? [], notCached.vary].flat().join(", ")
    return HttpServerResponse.setHeaders(response, { ...notCached, vary })
  })

/** Runs `operation` only for exactly this `path`. */
const spelledAs = <E, R>(path: string, operation: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.gen(function* () {
    const { url } = yield* HttpServerRequest.HttpServerRequest
    return yield* isSpelled(path, url) ? operation : noSuchRoute
  })

/** A copy of a large database takes its time. */
const untimed = "/api/v1/backup"

/**
 * Ends an operation at the deadline that requests to models have, too: what an app has in place of `KeyStore` or `Meter` may never end.
 */
const timed = <E, R>(registry: ConfigInForce, operation: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.suspend(() => {
    const { deadlineMs } = registry.current().limits
    const because = `there was no answer within ${deadlineMs / 1000} seconds`
    const onTimeout = () => new Unavailable({ why: "storage", because, retryAfterSeconds: 1 })
    return Effect.timeoutFail(operation, { duration: deadlineMs, onTimeout })
  })

/** The operations of `Api`. Replaces `addHttpApi`, which has its own error bodies (see `http/answer.ts`). */
const operations = HttpApiBuilder.Router.unwrap(({ routes }) =>
  HttpLayerRouter.use((router) =>
    Effect.gen(function* () {
      const allow = allowOrigin((yield* ControlSettings).corsOrigins)
      const platform = yield* Effect.context<PlatformRouter.HttpRouter.DefaultServices>()
      const { prefix } = yield* Mount
      const answered = yield* answering
      const registry = yield* ProviderRegistry
      const lanes = yield* ReadLanes
      for (const { method, path: own, handler } of routes) {
        if (method !== "GET" && method !== "POST" && method !== "PATCH" && method !== "DELETE") continue
        if (own === "*") continue
        const path: `/${string}` = `${prefix}${own}`
        const operation = Effect.flatMap(Effect.provide(handler, platform), HttpServerRespondable.toResponse)
        const isRead = method === "GET" && own !== untimed
        const inTime = own === untimed ? operation : timed(registry, operation)
        const answer = answered(`${method} ${own}`, spelledAs(path, isRead ? asRead(lanes, inTime) : inTime))
        const isForPages = own === providerListing || listings.some((beginning) => own.startsWith(beginning))
        yield* router.add(method, path, uncached(own, isForPages ? shared(allow, answer) : answer))
        if (isForPages) {
          yield* router.add("OPTIONS", path, unobservedAnswer(spelledAs(path, preflighted(allow))))
        }
      }
    }),
  ),
)

const reference = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { prefix } = yield* Mount
    const answered = yield* answering
    for (const { path: own, answer } of referencePages(prefix)) {
      const path: `/${string}` = `${prefix}${own}`
      yield* router.add("GET", path, answered(`GET ${own}`, spelledAs(path, answer)))
    }
  }),
)

/** Where the gateway has figures, and no listener for them alone. */
const metrics = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { prefix, hasMetrics } = yield* Mount
    const found = yield* Effect.serviceOption(Metrics)
    if (!hasMetrics || Option.isNone(found) || !found.value.isOn) return
    const path: `/${string}` = `${prefix}${metricsPath}`
    yield* router.add("GET", path, unobservedAnswer(spelledAs(path, yield* metricsAnswer(found.value))))
  }),
)

// The type is written out, because the inferred one would claim more than the router guarantees.
const isRouteNotFound = (failure: unknown): boolean => failure instanceof HttpServerError.RouteNotFound

/**
 * Answers unknown routes. It is not a catch-all route, because that would also match HEAD requests to existing GET
 * routes.
 */
const unknownRoutes = HttpLayerRouter.middleware(
  Effect.gen(function* () {
    const { answersUnknown, prefix } = yield* Mount
    const answered = yield* answering
    return (found) =>
      Effect.catchIf(found, isRouteNotFound, (failure) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
          if (!answersUnknown(url)) return Effect.fail(failure)
          const wrong = wrongPathAt(prefix, url)
          return answered(`${method} ${unknownPath}`, Effect.fail(wrong.failure), wrong.body)
        }),
      )
  }),
  { global: true },
)

/** In place of a path that does not exist, which may have anything in it. */
const unknownPath = "*"

export const controlRoutes = Layer.mergeAll(
  operations,
  reference,
  metrics,
  consoleRoutes,
  guideRoutes,
  unknownRoutes,
).pipe(
  Layer.provide([
    keyStatusHandlers,
    modelsHandlers,
    providersHandlers,
    keysHandlers,
    sessionHandlers,
    activityHandlers,
    analyticsHandlers,
    generationHandlers,
    requestsHandlers,
    alertsHandlers,
    stateHandlers,
    liveHandlers,
    backupHandlers,
    configHandlers,
    versionHandlers,
    healthHandlers,
  ]),
  Layer.provide([
    Authorize.layer,
    AuthorizeManagement.layer,
    AuthorizeSession.layer,
    AskWhoCalls.layer,
    Installation.layer,
  ]),
  Layer.provide(ReadLanes.layer),
  // HttpApi supports file uploads, and requires these services for them.
  Layer.provide(HttpServer.layerContext),
)
