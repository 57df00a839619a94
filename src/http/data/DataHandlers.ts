/**
 * The handlers of the data plane's routes. A request is served by one class: Bun's native routes run it without a fiber, an embedder's own
 * app runs it as an Effect.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { directOutput, queuedOutput } from "../../services/dispatch/StreamOutput.ts"
import type { PeerSource } from "../CallerAddresses.ts"
import type { AllowOrigin } from "../cors.ts"
import { closedByStop } from "../stopping.ts"
import type { DataRoute, Incoming } from "./DataRequest.ts"
import { type DataOptions, type DataServices, makeDataServices } from "./DataServices.ts"

/** The handler of one path. Every failure becomes an answer. */
export interface DataHandler {
  /** For an Effect app. */
  readonly effect: (request: Request, peers?: PeerSource) => Effect.Effect<Response>
  /**
   * For Bun's own routes: streams are written to the socket directly. `isCallerGone` is polled (`InFlight`), since
   * listening to the request's own signal is expensive.
   */
  readonly native: (request: Request, isCallerGone: () => boolean, peers?: PeerSource) => Promise<Response>
}

export class DataHandlers extends Context.Tag("headgate/DataHandlers")<
  DataHandlers,
  {
    /** `allow` adds the headers that browsers need to every answer. */
    readonly handler: (route: DataRoute, allow: AllowOrigin) => DataHandler
  }
>() {
  static readonly layer = (options: DataOptions) =>
    Layer.scoped(
      DataHandlers,
      Effect.gen(function* () {
        const services = yield* makeDataServices(options)
        yield* services.keys.onRevoked(services.inFlight.revoke)
        return {
          handler: (route, allow) => ({
            effect: (http, peers) =>
              asEffect(services, route, allow, { http, peers, output: queuedOutput, isCallerGone: undefined }),
            native: (http, isCallerGone, peers) =>
              natively(services, route, allow, { http, peers, output: directOutput, isCallerGone }),
          }),
        }
      }),
    )
}

const asEffect = (
  services: DataServices,
  route: DataRoute,
  allow: AllowOrigin,
  incoming: Incoming,
): Effect.Effect<Response> =>
  Effect.flatMap(services.traces.takesAppSpans ? currentSpan : noSpan, (appSpan) =>
    route.receive(services, { ...incoming, appSpan }),
  ).pipe(
    Effect.map((response) => allow(incoming.http, response)),
    // So that every request is settled. The request's lifetime ends it.
    Effect.uninterruptible,
  )

const noSpan = Effect.succeed(undefined)
const currentSpan = Effect.map(Effect.serviceOption(Tracer.ParentSpan), Option.getOrUndefined)

const natively = (
  services: DataServices,
  route: DataRoute,
  allow: AllowOrigin,
  incoming: Incoming,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const { runner, inFlight } = services
    runner.run(route.receive(services, incoming), (exit) => {
      if (Exit.isSuccess(exit)) resolve(closedByStop(inFlight, allow(incoming.http, exit.value)))
      else reject(Cause.squash(exit.cause))
    })
  })
