/**
 * Requests that a caller may send again without a second execution or charge: those with an `Idempotency-Key`. The first one
 * claims its key in the database before any host is called. When it is over, its outcome is kept there for 24 hours, or the claim
 * is released, so that the request can be tried again. Any later one gets what became of the first.
 *
 * A claim has a lease, which its process renews. After a crash the lease ends; whether a host was called is not known then, so the
 * request is not carried out again. See docs/guarantees.md#g9 and docs/decisions/0023-idempotency-keys.md.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { RequestRepeated, type Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyId } from "../../domain/ids.ts"
import { bodyHash, idempotencyId, keptForMs } from "../../domain/request/idempotencyKey.ts"
import { type LedgerRow, orUnavailable, type StorageUnavailable } from "../storage/ledger.ts"
import { type IdempotencyRecord, Storage } from "../storage/Storage.ts"
import type { RequestContext } from "./RequestContext.ts"

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
  readonly requestId: string
  readonly mayKeepAnswer: boolean
  /** Set once there is one. `ended` reads there what was booked. */
  context: RequestContext | undefined

  constructor(id: string, { requestId, mayKeepAnswer }: IdempotentRequest) {
    this.id = id
    this.requestId = requestId
    this.mayKeepAnswer = mayKeepAnswer
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
     * The request was answered with 200, as a whole. Succeeds when that is durable; when it cannot be written now, that is tried
     * again later.
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

/** Whether a request must not be carried out again. An answer that broke off and was free may. */
const isFinal = ({ outcome, cost }: LedgerRow): boolean => outcome === "finished" || cost > 0n

const make = () =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const database = yield* Storage
    const { idempotency: storage, ledger } = database
    const reached = orUnavailable("storage", database)
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    /** Claims of this process, by their ids. */
    const held = new Map<string, Claim>()
    /** Ends that are being written. Who asks for such an id waits, since a caller who has an answer may ask again at once. */
    const ending = new Map<string, Deferred.Deferred<void>>()
    /** Ends that the database could not take. */
    const unwritten = new Map<Claim, Effect.Effect<void, StorageUnavailable>>()

    const drop = (claim: Claim) => {
      unwritten.delete(claim)
      if (held.get(claim.id) === claim) held.delete(claim.id)
    }

    const end = (claim: Claim, write: Effect.Effect<void, StorageUnavailable>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const written = Deferred.unsafeMake<void>(FiberId.none)
        ending.set(claim.id, written)
        return Effect.matchEffect(write, {
          onSuccess: () => Effect.sync(() => drop(claim)),
          onFailure: ({ message }) => {
            unwritten.set(claim, write)
            return Effect.logWarning("the outcome of a request under an Idempotency-Key is written later", message)
          },
        }).pipe(
          Effect.ensuring(
            Effect.suspend(() => {
              if (ending.get(claim.id) === written) ending.delete(claim.id)
              return Deferred.succeed(written, undefined)
            }),
          ),
        )
      })

    /** Keeps the outcome, with the answer if there is one that may be kept. */
    const keep = (claim: Claim, generationId: string, answer: KeptAnswer | undefined) =>
      storage.keep({
        id: claim.id,
        requestId: claim.requestId,
        generationId,
        headers: answer?.headers ?? null,
        body: answer?.body ?? null,
      })

    /** What became of an earlier request under the same value. */
    const outcomeOf = (found: IdempotencyRecord, hash: string) =>
      Effect.gen(function* () {
        const { requestId, generationId, headers, body } = found
        const repeated = (because: RequestRepeated["because"], generation: string | null = null) =>
          new RequestRepeated({ because, firstRequestId: requestId, generationId: generation })
        if (found.bodyHash !== hash) return yield* repeated("other-body")
        if (generationId !== null) {
          return headers === null || body === null ? yield* repeated("not-kept", generationId) : { headers, body }
        }
        if (found.leaseEnd > now() || held.has(found.id)) return yield* repeated("running")
        // A crash. Its stream may have been charged since, or it came between the booking and its record here.
        const row = yield* reached(ledger.find(requestId))
        return yield* row !== undefined && isFinal(row) ? repeated("not-kept", row.generationId) : repeated("unknown")
      })

    const begin = (request: IdempotentRequest) =>
      Effect.gen(function* () {
        const { key, route, value, body, requestId } = request
        const id = idempotencyId(key, route, value)
        const hash = bodyHash(value, body)
        const written = ending.get(id)
        if (written !== undefined) yield* Deferred.await(written)
        const at = now()
        const record: IdempotencyRecord = {
          ...{ id, bodyHash: hash, requestId, leaseEnd: at + leaseMs, expiresAt: at + keptForMs },
          ...{ generationId: null, headers: null, body: null },
        }
        const found = yield* reached(storage.claim(record, at))
        if (found !== undefined) return yield* outcomeOf(found, hash)
        const claim = new Claim(id, request)
        held.set(id, claim)
        return claim
      })

    const tick = Effect.gen(function* () {
      for (const [claim, write] of unwritten) yield* Effect.tap(write, () => drop(claim))
      if (held.size > 0) yield* storage.renew([...held.keys()], now() + leaseMs)
      while ((yield* storage.prune(now(), prunedAtOnce)) === prunedAtOnce);
    }).pipe(
      Effect.catchTag("StorageUnavailable", ({ message }) =>
        Effect.logWarning("records of Idempotency-Keys could not be written", message),
      ),
    )

    yield* Effect.addFinalizer(() => Effect.when(tick, () => unwritten.size > 0))
    const guarded = Effect.catchAllDefect(tick, (cause) =>
      Effect.logError("a defect in Idempotency-Keys", Cause.die(cause)),
    )
    yield* Effect.forkScoped(Effect.repeat(guarded, Schedule.spaced(tickMs)))

    return {
      begin,
      answered: (claim: Claim, generationId: string, answer: KeptAnswer) =>
        end(
          claim,
          keep(claim, generationId, registry.current().keepsAnswers && claim.mayKeepAnswer ? answer : undefined),
        ),
      ended: (claim: Claim) => {
        const booked = claim.context?.booked
        return end(
          claim,
          booked !== undefined && isFinal(booked)
            ? keep(claim, booked.generationId, undefined)
            : storage.release(claim),
        )
      },
    }
  })
