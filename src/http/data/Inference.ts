/**
 * Runs the steps of the data plane's routes. They are written once: Bun's native routes run them without a fiber, an embedder's own app
 * runs them as an Effect.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { directOutput, queuedOutput } from "../../services/dispatch/StreamOutput.ts"
import type { AllowOrigin } from "../cors.ts"
import { closedByStop } from "../stopping.ts"
import { DataRequest, type DataRoute } from "./DataRequest.ts"
import { type DataServices, dataServices } from "./DataServices.ts"
import { refuse } from "./refuse.ts"

/** The handler of one path. Every failure becomes an answer. */
export interface InferenceHandler {
  /** For an Effect app. */
  readonly effect: (request: Request) => Effect.Effect<Response>
  /**
   * For Bun's own routes: streams are written to the socket directly. `isCallerGone` is polled (`InFlight`), since
   * listening to the request's own signal is expensive.
   */
  readonly native: (request: Request, isCallerGone: () => boolean) => Promise<Response>
}

export class Inference extends Context.Tag("headgate/Inference")<
  Inference,
  {
    /** `allow` adds the headers that browsers need to every answer. */
    readonly handler: (route: DataRoute, allow: AllowOrigin) => InferenceHandler
  }
>() {
  static readonly layer = Layer.scoped(
    Inference,
    Effect.gen(function* () {
      const services = yield* dataServices
      yield* services.keys.onRevoked(services.inFlight.revoke)
      return {
        handler: (route, allow) => ({
          effect: (http) => asEffect(services, route, allow, http),
          native: (http, isCallerGone) => natively(services, route, allow, http, isCallerGone),
        }),
      }
    }),
  )
}

const asEffect = (
  services: DataServices,
  route: DataRoute,
  allow: AllowOrigin,
  http: Request,
): Effect.Effect<Response> =>
  Effect.suspend(() => {
    const request = new DataRequest(route, http, queuedOutput, undefined)
    return Effect.gen(() => route.respond(services, request)).pipe(
      Effect.catchAllCause((cause) => Effect.succeed(refuse(services, request, cause))),
      Effect.map((response) => allow(http, response)),
      // So that every request is settled. The request's lifetime ends it.
      Effect.uninterruptible,
    )
  })

const natively = (
  services: DataServices,
  route: DataRoute,
  allow: AllowOrigin,
  http: Request,
  isCallerGone: () => boolean,
): Promise<Response> =>
  new Promise((resolve) => {
    const request = new DataRequest(route, http, directOutput, isCallerGone)
    services.runner.steps(route.respond(services, request), (exit) => {
      const response = Exit.isSuccess(exit) ? exit.value : refuse(services, request, exit.cause)
      resolve(closedByStop(services.inFlight, allow(http, response)))
    })
  })
