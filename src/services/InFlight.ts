/**
 * The calls that are running: how many may, and how they end when the house closes. Answers of Bun's native routes are
 * unknown to the server's own shutdown, so they are counted here. Architecture (what bites), G17, G19.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TimedOut, Unavailable } from "../domain/Failure.ts"
import { type Alarm, Alarms } from "./Alarms.ts"
import type { Call } from "./Call.ts"

export interface InFlightOptions {
  readonly maxInFlight: number
  /** All attempts of a call together, milliseconds. G14. */
  readonly deadlineMs: number
}

export class InFlight extends Context.Tag("headgate/InFlight")<
  InFlight,
  {
    /** Takes a place, before the body is read; or says why there is none. */
    readonly admit: () => Unavailable | undefined
    /** The call, which has a place, runs until `leave`, and is ended at its deadline. */
    readonly enter: (call: Call) => void
    /** Gives the place back: of a call, once; of a request that never became one. */
    readonly leave: (call: Call | undefined) => void
    readonly draining: () => boolean
    /** Admits no more; waits so many milliseconds for what runs; then ends it, and waits until it has settled. */
    readonly drain: (milliseconds: number) => Effect.Effect<void>
    /** Ends whatever runs, now: it settles, and a drain that waits for it is over. */
    readonly cut: () => void
  }
>() {
  static readonly layer = ({ maxInFlight, deadlineMs }: InFlightOptions) =>
    Layer.effect(
      InFlight,
      Effect.map(Alarms, (alarms) => {
        const running = new Map<Call, Alarm>()
        let draining = false
        /** Of calls, and of requests that are none yet: their bodies are still on the way. */
        let places = 0
        const cut = () => {
          for (const call of running.keys()) call.end(new Unavailable({ why: "draining", retryAfterSeconds: 1 }))
        }
        const refuse = (why: Unavailable["why"]) => new Unavailable({ why, retryAfterSeconds: 1 })
        const emptied = Effect.void.pipe(
          Effect.delay("20 millis"),
          Effect.repeat({ while: () => running.size > 0 }),
          Effect.unless(() => running.size === 0),
          // Finalizers are uninterruptible, and a time-out waits for what it cannot interrupt.
          Effect.interruptible,
        )
        return {
          admit: () => {
            if (draining) return refuse("draining")
            if (places >= maxInFlight) return refuse("overloaded")
            places += 1
            return undefined
          },
          enter: (call) => {
            const late = () => call.end(new TimedOut({ phase: "upstream", afterMs: deadlineMs }))
            running.set(call, alarms.set(deadlineMs, late))
          },
          leave: (call) => {
            const deadline = call && running.get(call)
            deadline?.clear()
            if (call === undefined || running.delete(call)) places -= 1
          },
          draining: () => draining,
          cut,
          drain: Effect.fnUntraced(function* (milliseconds) {
            draining = true
            yield* Effect.timeoutOption(emptied, milliseconds)
            cut()
            yield* Effect.timeoutOption(emptied, "2 seconds")
          }),
        }
      }),
    )
}
