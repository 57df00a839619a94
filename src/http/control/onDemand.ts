/**
 * The control plane, whose modules are loaded when it is built. Inference does without it, so a gateway that serves builds it at
 * the first request for it.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
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

/** Serves the control plane. The requests that come while it is built wait for it. */
export const serveControl = (mount: MountPoint) => {
  const control = HttpLayerRouter.toHttpEffect(Layer.provide(controlRoutes, Layer.succeed(Mount, mount)))
  return Layer.unwrapScoped(
    Effect.gen(function* () {
      const surroundings = yield* Effect.context<Effect.Effect.Context<typeof control>>()
      const app = control.pipe(
        Effect.provideService(HttpLayerRouter.RouterConfig, { maxParamLength: 256 }),
        // Nothing of the request that it happens to be built in belongs to it, and that caller may leave.
        Effect.mapInputContext((_: Context.Context<never>) => surroundings),
        Effect.uninterruptible,
      )
      const inFlight = yield* InFlight
      const answer = Effect.flatten(yield* Effect.cached(app))
      return HttpServer.serve(Effect.map(answer, routedClosedByStop(inFlight)))
    }),
  )
}
