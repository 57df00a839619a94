/**
 * Ends the running calls when the house closes. Stands on top of everything that a running call needs, so that the
 * meter, the relay and the database are still open while it drains. G19.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InFlight } from "./InFlight.ts"
import { Relay } from "./Relay.ts"

/** Drains for at most so many milliseconds when its scope is closed. */
export const layerDrain = (milliseconds: number) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      yield* Relay
      const { drain } = yield* InFlight
      yield* Effect.addFinalizer(() => drain(milliseconds))
    }),
  )
