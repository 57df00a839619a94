/**
 * The control plane, whose modules are loaded when it is built. Inference does without it, so a gateway that serves builds it at
 * the first request for it.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

export const controlRoutes = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("./index.ts")),
    (control) => control.controlRoutes,
  ),
)

/** Serves the control plane. The requests that come while it is built wait for it. */
export const serveControl = Layer.unwrapScoped(
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const app = HttpLayerRouter.toHttpEffect(controlRoutes).pipe(
      Effect.provideService(HttpLayerRouter.RouterConfig, { maxParamLength: 256 }),
      // It outlives the request that it is built in.
      Scope.extend(scope),
    )
    // A caller who leaves does not end what others wait for.
    return HttpServer.serve(Effect.flatten(yield* Effect.cached(Effect.uninterruptible(app))))
  }),
)
