/**
 * The running requests: how many are allowed, and how they end when the gateway stops. They are counted here because
 * the server's own shutdown does not know the answers of Bun's native routes. See docs/guarantees.md#g17 and #g19.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { NotPermitted, TimedOut, Unavailable } from "../domain/Failure.ts"
import type { KeyId } from "../domain/Ids.ts"
import { Roster } from "../domain/Roster.ts"
import { ProviderRegistry } from "./ProviderRegistry.ts"
import { Lifetime } from "./RequestContext.ts"
import { Timers } from "./Timers.ts"

export interface Drained {
  readonly running: number
  readonly cut: number
}

const revoked = new NotPermitted({ rule: "The key was disabled or deleted while the request ran." })

/** How often deadlines and callers are checked, milliseconds. */
const lookEveryMs = 100

export class InFlight extends Context.Tag("headgate/InFlight")<
  InFlight,
  {
    /**
     * Admits a request before its body is read, until `leave`, or returns why not. The request is ended at its
     * deadline.
     */
    readonly admit: () => Lifetime | Unavailable
    /** The request is over. Does nothing the second time. */
    readonly leave: (lifetime: Lifetime) => void
    /** Ends the running requests of a key that was disabled or deleted. */
    readonly revoke: (key: KeyId) => void
    /** Whether the gateway is about to stop. It may still admit requests. */
    readonly stopping: () => boolean
    /**
     * Says from now on that the gateway is about to stop, and still admits requests for so many milliseconds, or until `cut`. So
     * balancers can leave it before its port is closed.
     */
    readonly announceStop: (milliseconds: number) => Effect.Effect<void>
    /**
     * Admits no more requests, waits so many milliseconds for the running ones, then ends them and waits until they
     * have settled.
     */
    readonly drain: (milliseconds: number) => Effect.Effect<void>
    /** Ends the running requests now. They settle, and a waiting `announceStop` or drain completes. */
    readonly cut: () => void
    /** How many requests ran when the drain began, and how many of them were ended before their time. */
    readonly drained: () => Drained
  }
>() {
  static readonly layer = Layer.effect(
    InFlight,
    Effect.map(Effect.all([Timers, ProviderRegistry]), ([timers, registry]) => {
      const running = new Roster<Lifetime>()
      let stopping = false
      let draining = false
      /** Done once `cut` was called: nothing is waited for any more. */
      const hurried = Deferred.unsafeMake<void>(FiberId.none)
      let runningAtDrain = 0
      const ended = new Set<Lifetime>()
      const refuse = (why: Unavailable["why"]) => new Unavailable({ why, retryAfterSeconds: 1 })
      const cut = () => {
        running.each((lifetime) => {
          ended.add(lifetime)
          lifetime.end(refuse("draining"))
        })
      }
      const emptied = Effect.void.pipe(
        Effect.delay("20 millis"),
        Effect.repeat({ while: () => running.size > 0 }),
        Effect.unless(() => running.size === 0),
        // Finalizers are uninterruptible, and a time-out waits for what it cannot interrupt.
        Effect.interruptible,
      )
      const untilCut = Effect.interruptible(Deferred.await(hurried))
      /** One pass over all requests, in place of a timer and a listener for each. */
      const look = () => {
        watch.restart(lookEveryMs)
        const now = timers.now()
        running.each((lifetime) => {
          if (now >= lifetime.deadline) lifetime.end(new TimedOut({ phase: "upstream", afterMs: lifetime.allowedMs }))
          else lifetime.look()
        })
      }
      const watch = timers.set(lookEveryMs, look)
      return {
        admit: () => {
          if (draining) return refuse("draining")
          const { maxInFlight, deadlineMs } = registry.current().limits
          if (running.size >= maxInFlight) return refuse("overloaded")
          const lifetime = new Lifetime()
          lifetime.allowedMs = deadlineMs
          lifetime.deadline = timers.now() + deadlineMs
          running.add(lifetime)
          return lifetime
        },
        leave: (lifetime) => {
          running.delete(lifetime)
        },
        revoke: (key) => {
          running.each((lifetime) => {
            if (lifetime.key === key) lifetime.end(revoked)
          })
        },
        stopping: () => stopping,
        announceStop: (milliseconds) =>
          Effect.suspend(() => {
            stopping = true
            return Effect.when(Effect.timeoutOption(untilCut, milliseconds), () => milliseconds > 0)
          }),
        cut: () => {
          Deferred.unsafeDone(hurried, Effect.void)
          cut()
        },
        drained: () => ({ running: runningAtDrain, cut: ended.size }),
        drain: Effect.fnUntraced(function* (milliseconds) {
          stopping = true
          draining = true
          runningAtDrain = running.size
          // At once where `cut` was called already.
          yield* Effect.timeoutOption(Effect.raceFirst(emptied, untilCut), milliseconds)
          cut()
          yield* Effect.timeoutOption(emptied, "2 seconds")
        }),
      }
    }),
  )
}
