/**
 * The running requests: how many are allowed, in all and of one key, how many bytes of their bodies are kept, and how they
 * end when the gateway stops. They are counted here because the server's own shutdown does not know the answers of Bun's
 * native routes. See docs/guarantees.md#g17, #g19 and #g23.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { NotPermitted, RateLimited, TimedOut, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { Roster } from "../../domain/structures/Roster.ts"
import { Lifetime, Load } from "./RequestContext.ts"
import { Timers } from "./Timers.ts"

export interface Drained {
  readonly running: number
  readonly cut: number
}

const revoked = new NotPermitted({ rule: "The key was disabled or deleted while the request ran." })

/** How often deadlines and callers are checked, milliseconds. */
const lookEveryMs = 100

/** Requests that a key may have at once in any case, even if that is more than a quarter of the places. */
const leastShare = 64

/** The most requests of one key at once, with or without a place. `places`: `max_in_flight`. */
const shareOf = (places: number): number => Math.max(leastShare, Math.ceil(places / 4))

/** Requests without a place, for each place: a bound on how many wait for their bodies. */
const arrivingPerPlace = 4

const mebibyte = 1_048_576

/** Bytes of long bodies that are kept at once; one body of the greatest allowed length fits in any case. */
const mostBodyBytes = { ofProcess: 256 * mebibyte, ofKey: 64 * mebibyte }

/** When so many keys are kept, those without a request in flight are forgotten. */
const mostIdleKeys = 1000

/** What reading a body asks. */
export interface BodyPlaces {
  /** Gives the request one of the places (`max_in_flight`), once its body has come or much of it. Does nothing the second time. */
  readonly place: (lifetime: Lifetime) => Unavailable | undefined
  /** Counts more bytes of its body, which it keeps until `releaseBody` of the lifetime or `leave`. */
  readonly keep: (lifetime: Lifetime, bytes: number) => Unavailable | RateLimited | undefined
}

export class InFlight extends Context.Tag("headgate/InFlight")<
  InFlight,
  BodyPlaces & {
    /**
     * Admits a request before its body is read, until `leave`, or returns why not. The request is ended at its
     * deadline. It has no place yet: a caller who opens a request and sends no body takes no place from others.
     */
    readonly admit: () => Lifetime | Unavailable
    /** Counts the request with its key, or returns why not: the key has as many as it may. Called once. */
    readonly own: (lifetime: Lifetime, key: KeyId) => RateLimited | undefined
    /** The request is over. Does nothing the second time. */
    readonly leave: (lifetime: Lifetime) => void
    /** Ends the running requests of a key that was disabled or deleted. */
    readonly revoke: (key: KeyId) => void
    /** Whether the gateway is about to stop. It may still admit requests. */
    readonly stopping: () => boolean
    /**
     * Sets `stopping`, and completes after so many milliseconds or at `cut`. Requests are still admitted meanwhile, so that balancers can
     * take the gateway out before its port is closed.
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
    Effect.map(Effect.all([Timers, ProviderRegistry, Effect.clock]), ([timers, registry, clock]) => {
      const running = new Roster<Lifetime>()
      let stopping = false
      const ofProcess = new Load()
      const loads = new Map<KeyId, Load>()
      let draining = false
      /** Done once `cut` was called: then nothing waits for requests any more. */
      const cutNow = Deferred.unsafeMake<void>(FiberId.none)
      let runningAtDrain = 0
      const ended = new Set<Lifetime>()
      const refuse = (why: Unavailable["why"]) => new Unavailable({ why, retryAfterSeconds: 1 })
      const limited = (scope: RateLimited["scope"], limit: number) =>
        new RateLimited({ scope, limit, resetsAt: clock.unsafeCurrentTimeMillis() + 1000, retryAfterSeconds: 1 })
      const loadOf = (key: KeyId): Load => {
        const known = loads.get(key)
        if (known !== undefined) return known
        if (loads.size >= mostIdleKeys) {
          for (const [other, { requests }] of loads) if (requests === 0) loads.delete(other)
        }
        const load = new Load()
        loads.set(key, load)
        return load
      }
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
      const untilCut = Effect.interruptible(Deferred.await(cutNow))
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
          if (ofProcess.requests >= maxInFlight) return refuse("overloaded")
          if (running.size - ofProcess.requests >= maxInFlight * arrivingPerPlace) return refuse("overloaded")
          const lifetime = new Lifetime()
          lifetime.ofProcess = ofProcess
          lifetime.allowedMs = deadlineMs
          lifetime.deadline = timers.now() + deadlineMs
          running.add(lifetime)
          return lifetime
        },
        own: (lifetime, key) => {
          lifetime.key = key
          const load = loadOf(key)
          const most = shareOf(registry.current().limits.maxInFlight)
          if (load.requests >= most) return limited("key-requests-in-flight", most)
          load.requests += 1
          lifetime.ofKey = load
          return undefined
        },
        place: (lifetime) => {
          if (lifetime.hasPlace) return undefined
          if (ofProcess.requests >= registry.current().limits.maxInFlight) return refuse("overloaded")
          ofProcess.requests += 1
          lifetime.hasPlace = true
          return undefined
        },
        keep: (lifetime, bytes) => {
          const { bodyBytes } = registry.current().limits
          const ofKey = Math.max(mostBodyBytes.ofKey, bodyBytes)
          const { ofKey: load } = lifetime
          if (load !== undefined && load.bodyBytes + bytes > ofKey) return limited("key-bytes-in-flight", ofKey)
          if (ofProcess.bodyBytes + bytes > Math.max(mostBodyBytes.ofProcess, bodyBytes)) return refuse("overloaded")
          if (load !== undefined) load.bodyBytes += bytes
          ofProcess.bodyBytes += bytes
          lifetime.bodyBytes += bytes
          return undefined
        },
        leave: (lifetime) => {
          if (!running.has(lifetime)) return
          running.delete(lifetime)
          lifetime.releaseBody()
          if (lifetime.hasPlace) ofProcess.requests -= 1
          if (lifetime.ofKey !== undefined) lifetime.ofKey.requests -= 1
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
          Deferred.unsafeDone(cutNow, Effect.void)
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
