/**
 * Ends the running requests when the gateway stops. Its layer depends on everything that a running request needs, so
 * dispatcher, meter and database are still open during the drain. See docs/guarantees.md#g19.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { InFlight } from "../request/InFlight.ts"
import { Dispatcher } from "./Dispatcher.ts"

/**
 * When a signal closes its scope: announces the stop, and keeps serving for so many milliseconds. Its scope has to be closed before that of
 * the server. After a fault there is no delay.
 */
export const layerStopDelay = (milliseconds: number): Layer.Layer<never, never, InFlight> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const { announceStop } = yield* InFlight
      yield* Effect.addFinalizer((exit) =>
        announceStop(Exit.isFailure(exit) && !Exit.isInterrupted(exit) ? 0 : milliseconds),
      )
    }),
  )

/** Drains for at most so many milliseconds when its scope is closed. */
export const layerDrain = (milliseconds: number) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      yield* Dispatcher
      const { drain } = yield* InFlight
      yield* Effect.addFinalizer(() => drain(milliseconds))
    }),
  )
