/**
 * Requests that a client may send again without a second execution or charge: those with an `Idempotency-Key`. The
 * first one claims its key in the database before any host is called. When it is over, its outcome is kept there for
 * 24 hours, or the claim is released, so that the request can be tried again. Later ones get the outcome of the
 * first. Only a bounded number of small answers is kept (`KeptBytes.ts`), so that no key fills the disk.
 *
 * A claim has a lease, which its process renews. After a crash the lease ends. It is not known then whether a host
 * was called, so the request is not carried out again. See docs/guarantees.md#g9 and
 * docs/decisions/0023-idempotency-keys.md.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { type ConfigInForce, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { RequestRepeated, type Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { bodyHash, idempotencyId, keptForMs } from "../../domain/request/idempotencyKey.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { DiskSpace } from "../storage/diskSpace.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import { Streak } from "../storage/Outage.ts"
import {
  type CountedBytes,
  type DataAtRest,
  type IdempotencyRecord,
  type IdempotencyRepository,
  type LedgerRepository,
  Storage,
} from "../storage/Storage.ts"
import { orUnavailable, type StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { bytesOf, KeptBytes } from "./KeptBytes.ts"
import type { RequestContext } from "./RequestContext.ts"
import { makeRemovals } from "./removals.ts"

export interface IdempotentRequest {
  readonly key: KeyId
  readonly route: string
  /** Of the header. */
  readonly value: string
  readonly body: Uint8Array
  readonly requestId: string
  /** Whether its answer may be kept: not that of a stream, nor where nothing may be retained. */
  readonly mayKeepAnswer: boolean
}

/** An answer that is sent again, as it was. */
export interface KeptAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Held by the one request that is carried out. Must be ended, by `answered` or `ended`. */
export class Claim {
  readonly id: string
  readonly key: KeyId
  readonly requestId: string
  readonly mayKeepAnswer: boolean
  /** Unix milliseconds. */
  readonly expiresAt: number
  /** Set once the answer is to be kept. */
  counted: CountedBytes | undefined
  /** Set once there is one. `ended` reads there what was booked. */
  context: RequestContext | undefined

  constructor(id: string, { key, requestId, mayKeepAnswer }: IdempotentRequest, expiresAt: number) {
    this.id = id
    this.key = key
    this.requestId = requestId
    this.mayKeepAnswer = mayKeepAnswer
    this.expiresAt = expiresAt
  }
}

/** Milliseconds. After a crash, requests of its process count as running for as long as their lease. */
const leaseMs = 60_000
const tickMs = 15_000
/** Records that are removed by one statement. */
const prunedAtOnce = 500

export class Idempotency extends Context.Tag("headgate/Idempotency")<
  Idempotency,
  {
    /** The claim of the first request, or the answer that a first one got. Fails when there is one without an answer to give. */
    readonly begin: (request: IdempotentRequest) => Effect.Effect<Claim | KeptAnswer, RequestRepeated | Unavailable>
    /**
     * Whether the answer will be kept, so that this is known before the answer is sent. Call it once, before
     * `answered`.
     */
    readonly keeps: (claim: Claim, answer: KeptAnswer) => boolean
    /**
     * The request got a complete answer with status 200. Succeeds when this is durable; a failed write is tried again
     * later. If `keeps` was not called, only the outcome is kept.
     */
    readonly answered: (claim: Claim, generationId: string, answer: KeptAnswer) => Effect.Effect<void>
    /** The request failed, or its stream is over and booked: its outcome is kept if it was finished or charged. */
    readonly ended: (claim: Claim) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.scoped(
    Idempotency,
    Effect.suspend(() => make()),
  )
}

const make = () =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const claims = new Claims(yield* Storage, registry, yield* Effect.clock)
    const failures = new Streak()
    // Reads the sums before the first claim. If the database is away, the next tick reads them.
    const known = yield* Effect.cached(Effect.ignore(claims.readKept))
    const tick = claims.tick.pipe(
      Effect.tap(() => Effect.sync(() => failures.ended())),
      Effect.catchTag("StorageUnavailable", ({ message }) =>
        failures.failed(logEvent("idempotency_not_written", { because: message })),
      ),
    )
    const round = survivingDefects("Idempotency-Keys")(tick)
    yield* Effect.addFinalizer(() => Effect.when(round, () => claims.hasUnwritten))
    yield* Effect.forkScoped(Effect.repeat(round, Schedule.spaced(tickMs)))
    return Idempotency.of({
      begin: (request) => Effect.zipRight(known, claims.begin(request)),
      keeps: (claim, answer) => claims.keeps(claim, answer),
      answered: (claim, generationId, answer) => claims.answered(claim, generationId, answer),
      ended: (claim) => claims.ended(claim),
    })
  })

/** The claims of this process. */
class Claims {
  private readonly repository: IdempotencyRepository
  private readonly ledger: LedgerRepository
  private readonly registry: ConfigInForce
  private readonly reached: ReturnType<typeof orUnavailable>
  /** Unix milliseconds. */
  private readonly now: () => number
  private readonly mayRemove: () => boolean
  /** By their ids. */
  private readonly held = new Map<string, Claim>()
  /** Ends that are being written. Who asks for such an id waits, since a caller who has an answer may ask again at once. */
  private readonly ending = new Map<string, Deferred.Deferred<void>>()
  /** Ends that the database could not take. */
  private readonly unwritten = new Map<Claim, Effect.Effect<void, StorageUnavailable>>()
  private readonly kept = new KeptBytes()
  private readonly disk: Effect.Effect<DiskSpace | null>
  private readonly reading = Effect.unsafeMakeSemaphore(1)
  private readonly survivingEnds = survivingDefects("the end of a request under an Idempotency-Key")

  constructor(storage: DataAtRest, registry: ConfigInForce, clock: Clock.Clock) {
    this.repository = storage.idempotency
    this.ledger = storage.ledger
    this.disk = storage.disk ?? Effect.succeed(null)
    this.registry = registry
    this.reached = orUnavailable("storage", storage)
    this.now = () => clock.unsafeCurrentTimeMillis()
    this.mayRemove = makeRemovals(clock)
  }

  get hasUnwritten(): boolean {
    return this.unwritten.size > 0
  }

  begin(request: IdempotentRequest): Effect.Effect<Claim | KeptAnswer, RequestRepeated | Unavailable> {
    return Effect.gen(this, function* () {
      const { key, route, value, body, requestId } = request
      const id = idempotencyId(key, route, value)
      const hash = bodyHash(value, body)
      const written = this.ending.get(id)
      if (written !== undefined) yield* Deferred.await(written)
      const at = this.now()
      const record: IdempotencyRecord = {
        ...{ id, bodyHash: hash, requestId, leaseEnd: at + leaseMs, expiresAt: at + keptForMs },
        ...{ generationId: null, headers: null, body: null },
      }
      const found = yield* this.reached(this.repository.claim(record, at))
      if (found !== undefined) return yield* this.outcomeOf(found, hash)
      const claim = new Claim(id, request, record.expiresAt)
      this.held.set(id, claim)
      return claim
    })
  }

  keeps(claim: Claim, { headers, body }: KeptAnswer): boolean {
    if (!this.registry.current().keepsAnswers || !claim.mayKeepAnswer) return false
    claim.counted = this.kept.take(claim.key, bytesOf(headers, body), claim.expiresAt)
    return claim.counted !== undefined
  }

  answered(claim: Claim, generationId: string, answer: KeptAnswer): Effect.Effect<void> {
    return this.end(claim, this.keep(claim, generationId, claim.counted === undefined ? undefined : answer))
  }

  ended(claim: Claim): Effect.Effect<void> {
    const booked = claim.context?.booked
    const isKept = booked !== undefined && isFinal(booked)
    return this.end(claim, isKept ? this.keep(claim, booked.generationId, undefined) : this.release(claim))
  }

  /** Reads how much the keys of all processes keep, and how full the disk is. */
  get readKept(): Effect.Effect<void, StorageUnavailable> {
    return this.reading.withPermits(1)(
      Effect.suspend(() => {
        this.kept.beginReading()
        const read = Effect.all([Effect.suspend(() => this.repository.keptBytes(this.now())), this.disk])
        return Effect.map(read, ([sums, disk]) => this.kept.read(sums, disk))
      }),
    )
  }

  /** Writes pending outcomes again, renews the claims, removes expired records, and reads the sums of kept answers. */
  readonly tick: Effect.Effect<void, StorageUnavailable> = Effect.gen(this, function* () {
    for (const [claim, write] of this.unwritten) {
      const written = Effect.tap(write, () => this.drop(claim))
      // Its lease is not renewed any more: once that has ended, the ledger tells what became of the request.
      yield* this.survivingEnds(Effect.tapDefect(written, () => Effect.sync(() => this.held.delete(claim.id))))
    }
    if (this.held.size > 0) yield* this.repository.renew([...this.held.keys()], this.now() + leaseMs)
    if (this.mayRemove()) while ((yield* this.repository.prune(this.now(), prunedAtOnce)) === prunedAtOnce);
    yield* this.readKept
  })

  /** What became of an earlier request under the same value. */
  private outcomeOf(found: IdempotencyRecord, hash: string): Effect.Effect<KeptAnswer, RequestRepeated | Unavailable> {
    return Effect.gen(this, function* () {
      const { requestId, generationId, headers, body } = found
      const repeated = (because: RequestRepeated["because"], generation: string | null = null) =>
        new RequestRepeated({ because, firstRequestId: requestId, generationId: generation })
      if (found.bodyHash !== hash) return yield* repeated("other-body")
      if (generationId !== null) {
        return headers === null || body === null ? yield* repeated("not-kept", generationId) : { headers, body }
      }
      if (found.leaseEnd > this.now() || this.held.has(found.id)) return yield* repeated("running")
      // A crash. Its stream may have been charged since, or it came between the booking and its record here.
      const row = yield* this.reached(this.ledger.find(requestId))
      return yield* row !== undefined && isFinal(row) ? repeated("not-kept", row.generationId) : repeated("unknown")
    })
  }

  /** Keeps the outcome, with the answer if there is one that may be kept. */
  private keep(
    { id, requestId, counted }: Claim,
    generationId: string,
    answer: KeptAnswer | undefined,
  ): Effect.Effect<void, StorageUnavailable> {
    const { headers, body } = answer ?? { headers: null, body: null }
    return Effect.suspend(() => this.repository.keep({ id, requestId, generationId, headers, body }, counted))
  }

  /** Leaves out the claim's context, which cannot be sent to the thread of a SQLite file. */
  private release({ id, requestId }: Claim): Effect.Effect<void, StorageUnavailable> {
    return Effect.suspend(() => this.repository.release({ id, requestId }))
  }

  private end(claim: Claim, write: Effect.Effect<void, StorageUnavailable>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const written = Deferred.unsafeMake<void>(FiberId.none)
      this.ending.set(claim.id, written)
      return write.pipe(
        Effect.onError(() => Effect.sync(() => this.unwritten.set(claim, write))),
        Effect.matchEffect({
          onSuccess: () => Effect.sync(() => this.drop(claim)),
          onFailure: ({ message }) => logEvent("idempotency_delayed", { because: message }),
        }),
        this.survivingEnds,
        Effect.ensuring(
          Effect.suspend(() => {
            if (this.ending.get(claim.id) === written) this.ending.delete(claim.id)
            return Deferred.succeed(written, undefined)
          }),
        ),
      )
    })
  }

  private drop(claim: Claim): void {
    this.unwritten.delete(claim)
    if (claim.counted !== undefined) this.kept.written(claim.counted)
    if (this.held.get(claim.id) === claim) this.held.delete(claim.id)
  }
}

/** Whether a request must not be carried out again. An answer that broke off and was free may. */
const isFinal = ({ outcome, cost }: LedgerRow): boolean => outcome === "finished" || cost > 0n
