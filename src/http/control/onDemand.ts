/**
 * The control plane, whose modules are loaded when it is built. Inference does without it, so a gateway that serves builds it at
 * the first request for it.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerError from "@effect/platform/HttpServerError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InFlight } from "../../services/request/InFlight.ts"
import { Mount, type MountPoint } from "../Mount.ts"
import { routedClosedByStop } from "../stopping.ts"

export const controlRoutes = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("./index.ts")),
    (control) => control.controlRoutes,
  ),
)

/** Serves the control plane. */
export const serveControl = (mount: MountPoint) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const inFlight = yield* InFlight
      const answer = yield* answerOnDemand(mount)
      return HttpServer.serve(Effect.map(answer, routedClosedByStop(inFlight)))
    }),
  )

/** Mounts the control plane in an app that has nothing beside the gateway: what no route of the app is for is for the control plane. */
export const otherRoutes = (mount: MountPoint) =>
  HttpLayerRouter.middleware(
    Effect.map(answerOnDemand(mount), (control) => {
      // It answers every unknown path as well.
      const answer = Effect.orDie(control)
      return (found) => Effect.catchIf(found, isRouteNotFound, () => answer)
    }),
    { global: true },
  )

/** Answers by the control plane. The requests that come while it is built wait for it. */
const answerOnDemand = (mount: MountPoint) =>
  Effect.gen(function* () {
    const control = HttpLayerRouter.toHttpEffect(Layer.provide(controlRoutes, Layer.succeed(Mount, mount)))
    const surroundings = yield* Effect.context<Effect.Effect.Context<typeof control>>()
    const app = control.pipe(
      Effect.provideService(HttpLayerRouter.RouterConfig, { maxParamLength: 256 }),
      // Nothing of the request that it happens to be built in belongs to it, and that caller may leave.
      Effect.mapInputContext((_: Context.Context<never>) => surroundings),
      Effect.uninterruptible,
    )
    return Effect.flatten(yield* Effect.cached(app))
  })

// The type is written out, because the inferred one would claim more than the router guarantees.
const isRouteNotFound = (failure: unknown): boolean => failure instanceof HttpServerError.RouteNotFound
