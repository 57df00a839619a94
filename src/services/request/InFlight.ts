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
import { type ConfigInForce, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { NotPermitted, RateLimited, TimedOut, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { Roster } from "../../domain/structures/Roster.ts"
import { Lifetime, Load } from "./RequestContext.ts"
import { type TickTimers, type Timer, Timers } from "./Timers.ts"

/** What became of the requests that ran when a drain began. */
export interface Drained {
  readonly running: number
  /** How many of them were ended before their time. */
  readonly cut: number
}

/** What runs at this moment. */
export interface InFlightFigures {
  readonly running: number
  /** Running requests that have a place, and how many places there are. */
  readonly placed: number
  readonly places: number
  /** Of their bodies. */
  readonly bodyBytes: number
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

/** What answers ask. */
export interface StopState {
  /** Whether the gateway is about to stop. It may still admit requests. */
  readonly stopping: () => boolean
}

export class InFlight extends Context.Tag("headgate/InFlight")<
  InFlight,
  BodyPlaces &
    StopState & {
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
      readonly drained: () => Drained
      readonly figures: () => InFlightFigures
      /** Visits the running requests. `ageMs`: milliseconds since their admission. */
      readonly each: (visit: (lifetime: Lifetime, ageMs: number) => void) => void
    }
>() {
  static readonly layer: Layer.Layer<InFlight, never, ProviderRegistry | Timers> = Layer.effect(
    InFlight,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const requests = new RunningRequests(yield* ProviderRegistry, yield* Timers, () => clock.unsafeCurrentTimeMillis())
  return InFlight.of({
    admit: () => requests.admit(),
    own: (lifetime, key) => requests.own(lifetime, key),
    place: (lifetime) => requests.place(lifetime),
    keep: (lifetime, bytes) => requests.keep(lifetime, bytes),
    leave: (lifetime) => requests.leave(lifetime),
    revoke: (key) => requests.revoke(key),
    stopping: () => requests.isStopping,
    announceStop: (milliseconds) => requests.announceStop(milliseconds),
    drain: (milliseconds) => requests.drain(milliseconds),
    cut: () => requests.cut(),
    drained: () => requests.drained,
    figures: () => requests.figures,
    each: (visit) => requests.each(visit),
  })
})

class RunningRequests {
  isStopping = false
  private readonly registry: ConfigInForce
  private readonly timers: TickTimers
  /** Unix milliseconds. */
  private readonly now: () => number
  private readonly running = new Roster<Lifetime>()
  private readonly ofProcess = new Load()
  private readonly loads = new Map<KeyId, Load>()
  private readonly watch: Timer
  private isDraining = false
  /** Done once `cut` was called: then nothing waits for requests any more. */
  private readonly cutNow = Deferred.unsafeMake<void>(FiberId.none)
  private readonly untilCut = Effect.interruptible(Deferred.await(this.cutNow))
  private runningAtDrain = 0
  private readonly ended = new Set<Lifetime>()

  constructor(registry: ConfigInForce, timers: TickTimers, now: () => number) {
    this.registry = registry
    this.timers = timers
    this.now = now
    this.watch = timers.set(lookEveryMs, () => this.look())
  }

  admit(): Lifetime | Unavailable {
    if (this.isDraining) return refused("draining")
    const { running, ofProcess, timers } = this
    const { maxInFlight, deadlineMs } = this.registry.current().limits
    if (ofProcess.requests >= maxInFlight) return refused("overloaded")
    if (running.size - ofProcess.requests >= maxInFlight * arrivingPerPlace) return refused("overloaded")
    const lifetime = new Lifetime()
    lifetime.ofProcess = ofProcess
    lifetime.startedAt = timers.now()
    lifetime.deadline = lifetime.startedAt + deadlineMs
    running.add(lifetime)
    return lifetime
  }

  own(lifetime: Lifetime, key: KeyId): RateLimited | undefined {
    lifetime.key = key
    const load = this.loadOf(key)
    const most = shareOf(this.registry.current().limits.maxInFlight)
    if (load.requests >= most) return this.limited("key-requests-in-flight", most)
    load.requests += 1
    lifetime.ofKey = load
    return undefined
  }

  place(lifetime: Lifetime): Unavailable | undefined {
    if (lifetime.hasPlace) return undefined
    const { ofProcess } = this
    if (ofProcess.requests >= this.registry.current().limits.maxInFlight) return refused("overloaded")
    ofProcess.requests += 1
    lifetime.hasPlace = true
    return undefined
  }

  keep(lifetime: Lifetime, bytes: number): Unavailable | RateLimited | undefined {
    const { ofProcess } = this
    const { bodyBytes } = this.registry.current().limits
    const mostOfKey = Math.max(mostBodyBytes.ofKey, bodyBytes)
    const { ofKey } = lifetime
    if (ofKey !== undefined && ofKey.bodyBytes + bytes > mostOfKey)
      return this.limited("key-bytes-in-flight", mostOfKey)
    if (ofProcess.bodyBytes + bytes > Math.max(mostBodyBytes.ofProcess, bodyBytes)) return refused("overloaded")
    if (ofKey !== undefined) ofKey.bodyBytes += bytes
    ofProcess.bodyBytes += bytes
    lifetime.bodyBytes += bytes
    return undefined
  }

  leave(lifetime: Lifetime): void {
    if (!this.running.has(lifetime)) return
    this.running.delete(lifetime)
    lifetime.releaseBody()
    for (const answer of lifetime.answers) answer.release()
    if (lifetime.hasPlace) this.ofProcess.requests -= 1
    if (lifetime.ofKey !== undefined) lifetime.ofKey.requests -= 1
  }

  revoke(key: KeyId): void {
    this.running.each((lifetime) => {
      if (lifetime.key === key) lifetime.end(revoked)
    })
  }

  announceStop(milliseconds: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.isStopping = true
      return Effect.asVoid(Effect.when(Effect.timeoutOption(this.untilCut, milliseconds), () => milliseconds > 0))
    })
  }

  drain(milliseconds: number): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.isStopping = true
      this.isDraining = true
      this.runningAtDrain = this.running.size
      // At once where `cut` was called already.
      yield* Effect.timeoutOption(Effect.raceFirst(this.emptied, this.untilCut), milliseconds)
      this.endAll()
      yield* Effect.timeoutOption(this.emptied, "2 seconds")
    })
  }

  cut(): void {
    Deferred.unsafeDone(this.cutNow, Effect.void)
    this.endAll()
  }

  get drained(): Drained {
    return { running: this.runningAtDrain, cut: this.ended.size }
  }

  get figures(): InFlightFigures {
    const { requests: placed, bodyBytes } = this.ofProcess
    return { running: this.running.size, placed, places: this.registry.current().limits.maxInFlight, bodyBytes }
  }

  each(visit: (lifetime: Lifetime, ageMs: number) => void): void {
    const now = this.timers.now()
    this.running.each((lifetime) => visit(lifetime, now - lifetime.startedAt))
  }

  private readonly emptied = Effect.void.pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ while: () => this.running.size > 0 }),
    Effect.unless(() => this.running.size === 0),
    // Finalizers are uninterruptible, and a time-out waits for what it cannot interrupt.
    Effect.interruptible,
  )

  private endAll(): void {
    this.running.each((lifetime) => {
      this.ended.add(lifetime)
      lifetime.end(refused("draining"))
      lifetime.onCut?.()
    })
  }

  /** One pass over all requests, in place of a timer and a listener for each. */
  private look(): void {
    this.watch.restart(lookEveryMs)
    const now = this.timers.now()
    this.running.each((lifetime) => {
      if (now >= lifetime.deadline) lifetime.end(new TimedOut({ phase: "upstream", afterMs: lifetime.allowedMs }))
      else lifetime.look()
    })
  }

  private loadOf(key: KeyId): Load {
    const { loads } = this
    const known = loads.get(key)
    if (known !== undefined) return known
    if (loads.size >= mostIdleKeys) {
      for (const [other, { requests }] of loads) if (requests === 0) loads.delete(other)
    }
    const load = new Load()
    loads.set(key, load)
    return load
  }

  private limited(scope: RateLimited["scope"], limit: number): RateLimited {
    return new RateLimited({ scope, limit, resetsAt: this.now() + 1000, retryAfterSeconds: 1 })
  }
}

const refused = (why: Unavailable["why"]) => new Unavailable({ why, retryAfterSeconds: 1 })
