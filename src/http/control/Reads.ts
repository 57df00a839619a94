/**
 * Limits concurrent reads of the control plane, because they run on the thread that writes the ledger. Management
 * keys and ordinary keys have separate slots, so ordinary keys never delay the operator. Keys take turns, so no key
 * delays the others. The queue is bounded for each key and overall. Each process counts its own reads.
 *
 * `Authorize.ts` takes the slot once the key is known; `index.ts` frees it when the operation ends. While reads of a
 * credential wait, a further one that has no place is refused before anything else is done for it, because a flood of
 * refusals would delay everybody.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RateLimited, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { Answering } from "../answer.ts"

/** Concurrent reads: of all keys of a kind, and of one key. */
const places = { management: { inAll: 2, ofKey: 2 }, ordinary: { inAll: 2, ofKey: 1 } } as const

/** Queued reads: of one key, and of all keys of a kind. */
export const mostOfKey = 32
export const mostInAll = 512

const refusedForMs = 1000

type Resume = (result: Effect.Effect<void, RateLimited | Unavailable>) => void

/** The read of one request. */
export class Read {
  private readonly credential: string
  private lane: Lane | undefined
  private lanes: Lanes | undefined

  constructor(credential: string) {
    this.credential = credential
  }

  /** Waits for a slot. Fails when a queue is full. */
  enter(key: KeyRecord, lanes: Lanes): Effect.Effect<void, RateLimited | Unavailable> {
    return Effect.async((resume) => {
      const lane = lanes[key.kind]
      this.lane = lane
      this.lanes = lanes
      lanes.callers.add(this.credential, key)
      lane.enter(this, key.id, resume)
    })
  }

  /** Frees the slot, or leaves the queue when the client has gone. */
  leave(): void {
    this.lane?.leave(this)
    this.lanes?.callers.remove(this.credential)
    this.lane = undefined
    this.lanes = undefined
  }
}

/** The keys of the credentials whose reads run or wait. */
class Callers {
  private readonly known = new Map<string, { readonly key: KeyRecord; reads: number }>()

  find(credential: string): KeyRecord | undefined {
    return this.known.get(credential)?.key
  }

  add(credential: string, key: KeyRecord): void {
    const found = this.known.get(credential)
    if (found === undefined) this.known.set(credential, { key, reads: 1 })
    else found.reads += 1
  }

  remove(credential: string): void {
    const found = this.known.get(credential)
    if (found === undefined) return
    found.reads -= 1
    if (found.reads === 0) this.known.delete(credential)
  }
}

interface Waiting {
  readonly read: Read
  readonly resume: Resume
}

/** The slots and the queue for one kind of key. */
class Lane {
  private readonly inAll: number
  private readonly ofKey: number
  private readonly now: () => number
  /** The key of each running read. */
  private readonly running = new Map<Read, string>()
  /** Queues by key; the key whose turn is next comes first. */
  private readonly waiting = new Map<string, ReadonlyArray<Waiting>>()
  private waitingInAll = 0

  constructor({ inAll, ofKey }: (typeof places)[KeyRecord["kind"]], now: () => number) {
    this.inAll = inAll
    this.ofKey = ofKey
    this.now = now
  }

  enter(read: Read, key: string, resume: Resume): void {
    const before = this.waiting.get(key) ?? []
    if (before.length === 0 && this.hasPlaceFor(key)) {
      this.running.set(read, key)
      resume(Effect.void)
      return
    }
    const refusal = this.refusal(key)
    if (refusal !== undefined) resume(refusal)
    else {
      this.waiting.set(key, [...before, { read, resume }])
      this.waitingInAll += 1
    }
  }

  /** Why another read of the key cannot even wait; `undefined`: it can. */
  refusal(key: string): RateLimited | Unavailable | undefined {
    const waiting = this.waiting.get(key)?.length ?? 0
    if (waiting >= mostOfKey) {
      const waits = { resetsAt: this.now() + refusedForMs, retryAfterSeconds: refusedForMs / 1000 }
      return new RateLimited({ scope: "key-requests-in-flight", limit: mostOfKey, ...waits })
    }
    if (this.waitingInAll < mostInAll) return undefined
    return new Unavailable({ why: "overloaded", retryAfterSeconds: refusedForMs / 1000 })
  }

  leave(read: Read): void {
    if (this.running.delete(read)) this.admit()
    else for (const [key, all] of this.waiting) this.keepWaiting(key, all, (one) => one.read !== read)
  }

  private hasPlaceFor(key: string): boolean {
    if (this.running.size >= this.inAll) return false
    let running = 0
    for (const other of this.running.values()) if (other === key) running += 1
    return running < this.ofKey
  }

  /** Starts the next queued read whose key has a free slot. */
  private admit(): void {
    for (const [key, all] of this.waiting) {
      const [next] = all
      if (next === undefined || !this.hasPlaceFor(key)) continue
      // Moves the key to the end of the order.
      this.waiting.delete(key)
      this.keepWaiting(key, all, (one) => one !== next)
      this.running.set(next.read, key)
      next.resume(Effect.void)
      return
    }
  }

  private keepWaiting(key: string, all: ReadonlyArray<Waiting>, isLeft: (one: Waiting) => boolean): void {
    const left = all.filter(isLeft)
    this.waitingInAll -= all.length - left.length
    if (left.length === 0) this.waiting.delete(key)
    else this.waiting.set(key, left)
  }
}

interface Lanes {
  readonly management: Lane
  readonly ordinary: Lane
  readonly callers: Callers
}

/** The slots of all reads. */
export class ReadLanes extends Context.Tag("headgate/ReadLanes")<ReadLanes, Lanes>() {
  static readonly layer = Layer.effect(
    ReadLanes,
    Effect.map(Effect.clock, (clock) => {
      const now = () => clock.unsafeCurrentTimeMillis()
      return {
        management: new Lane(places.management, now),
        ordinary: new Lane(places.ordinary, now),
        callers: new Callers(),
      }
    }),
  )
}

/** The read of the current operation; `undefined`: it is not a read. */
export class CurrentRead extends Context.Reference<CurrentRead>()("headgate/CurrentRead", {
  defaultValue: (): Read | undefined => undefined,
}) {}

/** Runs an operation that may take a slot, and frees the slot at its end. */
export const asRead = <A, E, R>(
  lanes: Lanes,
  operation: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | RateLimited | Unavailable, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const credential = `${headers["authorization"]}\n${headers["x-api-key"]}\n${headers["cookie"]}`
    const key = lanes.callers.find(credential)
    const refusal = key && lanes[key.kind].refusal(key.id)
    if (key !== undefined && refusal !== undefined) {
      yield* noteKey(key)
      return yield* refusal
    }
    const read = new Read(credential)
    return yield* Effect.ensuring(
      Effect.provideService(operation, CurrentRead, read),
      Effect.sync(() => read.leave()),
    )
  })

/** Whoever observes the request is told whose it is. */
export const noteKey = (key: KeyRecord) =>
  Effect.map(Answering, (served) => {
    if (served !== undefined) served.key = key
  })
