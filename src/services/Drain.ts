/**
 * Ends the running requests when the gateway stops. Its layer depends on everything that a running request needs, so
 * dispatcher, meter and database are still open during the drain. See docs/guarantees.md#g19.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Dispatcher } from "./Dispatcher.ts"
import { InFlight } from "./InFlight.ts"

/** Drains for at most so many milliseconds when its scope is closed. */
export const layerDrain = (milliseconds: number) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      yield* Dispatcher
      const { drain } = yield* InFlight
      yield* Effect.addFinalizer(() => drain(milliseconds))
    }),
  )
