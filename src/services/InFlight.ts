/**
 * The calls that are running: how many may, and how they end when the house closes. Answers of Bun's native routes are
 * unknown to the server's own shutdown, so they are counted here. Architecture (what bites), G17, G19.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unavailable } from "../domain/Failure.ts"
import type { Call } from "./Call.ts"

export class InFlight extends Context.Tag("headgate/InFlight")<
  InFlight,
  {
    /** Fails when no further call may start. Asked before the body is read. */
    readonly admit: Effect.Effect<void, Unavailable>
    /** The call runs until `leave`. */
    readonly enter: (call: Call) => void
    readonly leave: (call: Call) => void
    readonly draining: () => boolean
    /** Admits no more; waits so many milliseconds for what runs; then ends it, and waits until it has settled. */
    readonly drain: (milliseconds: number) => Effect.Effect<void>
  }
>() {
  static readonly layer = ({ maxInFlight }: { readonly maxInFlight: number }) =>
    Layer.sync(InFlight, () => {
      const running = new Set<Call>()
      let draining = false
      const refuse = (why: Unavailable["why"]) => Effect.fail(new Unavailable({ why, retryAfterSeconds: 1 }))
      const full = refuse("overloaded")
      const closing = refuse("draining")
      const emptied = Effect.void.pipe(
        Effect.delay("20 millis"),
        Effect.repeat({ while: () => running.size > 0 }),
        Effect.unless(() => running.size === 0),
      )
      return {
        admit: Effect.suspend(() => (draining ? closing : running.size >= maxInFlight ? full : Effect.void)),
        enter: (call) => {
          running.add(call)
        },
        leave: (call) => {
          running.delete(call)
        },
        draining: () => draining,
        drain: Effect.fnUntraced(function* (milliseconds) {
          draining = true
          yield* Effect.timeoutOption(emptied, milliseconds)
          for (const call of running) call.end(new Unavailable({ why: "draining", retryAfterSeconds: 1 }))
          yield* Effect.timeoutOption(emptied, "2 seconds")
        }),
      }
    })
}
