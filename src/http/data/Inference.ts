/**
 * Runs the steps of the data plane's routes. They are written once: Bun's native routes run them without a fiber, an embedder's own app
 * runs them as an Effect.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Failure } from "../../domain/failures/Failure.ts"
import { directOutput, queuedOutput } from "../../services/dispatch/StreamOutput.ts"
import { isFinished } from "../../services/request/Steps.ts"
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
    const served = services.ends.begin(route.name, route.form)
    const request = new DataRequest(served, route, http, queuedOutput, undefined)
    return Effect.gen(() => route.respond(services, request)).pipe(
      Effect.exit,
      Effect.flatMap((exit) => concluded(services, request, exit)),
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
  new Promise((resolve, reject) => {
    const { runner, ends, inFlight } = services
    const request = new DataRequest(ends.begin(route.name, route.form), route, http, directOutput, isCallerGone)
    runner.steps(route.respond(services, request), (exit) =>
      runner.effect(concluded(services, request, exit), (ended) =>
        Exit.isSuccess(ended)
          ? resolve(closedByStop(inFlight, allow(http, ended.value)))
          : reject(Cause.squash(ended.cause)),
      ),
    )
  })

/** The response to a request whose steps are done. It ends the request, unless that is answered with a stream, which ends it later. */
const concluded = (
  services: DataServices,
  request: DataRequest,
  exit: Exit.Exit<Response, Failure>,
): Effect.Effect<Response> => {
  if (Exit.isSuccess(exit) && request.isStreamed) return Exit.succeed(exit.value)
  const response = Exit.isSuccess(exit) ? exit.value : refuse(services, request, exit.cause)
  const failure = Exit.isSuccess(exit) ? undefined : Option.getOrElse(Cause.failureOption(exit.cause), isDefect)
  const ended = services.ends.end(request.served, response.status, failure)
  return isFinished(ended) ? Exit.succeed(response) : Effect.as(ended, response)
}

const isDefect = () => "defect" as const
