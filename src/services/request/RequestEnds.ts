/**
 * The one end of a request. Whatever happens to it, refused before it was decoded or cut amid a stream, it ends here, once: its place and
 * its claim are given up, and those who observe are told of it with one value. Money is settled before: the row of an answer
 * is durable before its cost is shown, and with it its entry in the journal goes, which stays as long as the row waits for the
 * database. See docs/guarantees.md#g37 and docs/decisions/0060-one-end-of-a-request.md.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { Attribution } from "../../domain/request/Attribution.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import { type Claim, Idempotency } from "./Idempotency.ts"
import { InFlight } from "./InFlight.ts"
import { Observation, type ObservedAttempt } from "./Observation.ts"
import { monotonic } from "./RequestContext.ts"
import { type EndFailure, ServedRequest } from "./ServedRequest.ts"
import { makeStepRunner } from "./Steps.ts"

/** Milliseconds after the first byte; `null`: it did not come to that. */
export interface RequestTimes {
  /** Of the first byte, Unix milliseconds. */
  readonly receivedAt: number
  /** Its caller is known, its limits are kept, and its body was read. */
  readonly admitted: number | null
  /** The first call of a host began. */
  readonly firstAttempt: number | null
  /** Bytes of the answer were handed over, an error's too: the first ones, and the last. */
  readonly firstByte: number | null
  readonly lastByte: number | null
  /** The first event of the answering host that a caller would see. `null` for an answer that came as a whole. */
  readonly firstToken: number | null
  /** The row was durable. `null` with a row: it waits for the database. */
  readonly booked: number | null
  readonly ended: number
}

/** A request that is over. */
export interface RequestEnd {
  readonly requestId: string
  readonly generationId: string | null
  /** Method and path, as `POST /api/v1/chat/completions`. */
  readonly route: string
  readonly form: string | null
  /** `null`: the caller was not known. */
  readonly key: KeyRecord | null
  readonly app: Attribution | null
  /** Of the host that answered, else of the last one that was called, else the first that was asked for. */
  readonly model: string | null
  /** The tag of the host that answered, else of the last one that was called. */
  readonly host: string | null
  /** As it was sent, or would have been to a caller who left. Of a stream that broke off: 200, since its head had gone. */
  readonly status: number
  readonly failure: EndFailure | null
  /** Calls of hosts, in the order in which they ended. */
  readonly attempts: ReadonlyArray<ObservedAttempt>
  /** The ledger's row of its answer; `null`: nothing was booked. */
  readonly row: LedgerRow | null
  readonly tokens: { readonly prompt: number; readonly completion: number } | null
  /** What the caller pays. */
  readonly cost: Picodollars
  readonly times: RequestTimes
  /** Of the bodies. `in`: what was read. */
  readonly bytes: { readonly in: number; readonly out: number }
}

/** Called within the end of a request, so it must not take long. What it throws is logged. */
export type RequestObserver = (end: RequestEnd) => void

export class RequestEnds extends Context.Tag("headgate/RequestEnds")<
  RequestEnds,
  {
    /** A request whose first byte has come. `route`: method and path. */
    readonly begin: (route: string, form: string | null) => ServedRequest
    /**
     * The request is over, and everything of it is settled. Succeeds when its claim is given up durably; its place is kept until then, so
     * that a drain waits for it. Does nothing the second time.
     */
    readonly end: (request: ServedRequest, status: number, failure: EndFailure | undefined) => Effect.Effect<void>
    /** Tells `observer` of the end of each request that begins from now on, until the scope is closed. */
    readonly subscribe: (observer: RequestObserver) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer = Layer.effect(
    RequestEnds,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const inFlight = yield* InFlight
  const idempotency = yield* Idempotency
  const clock = yield* Effect.clock
  const runner = makeStepRunner(yield* Effect.runtime<never>())
  const nowMs = monotonic(clock)
  const log = (line: Effect.Effect<void>) => void runner.effect(line, () => {})
  let observers: ReadonlyArray<{ readonly observe: RequestObserver }> = []

  const tell = (end: RequestEnd): void => {
    for (const { observe } of observers) {
      try {
        observe(end)
      } catch (cause) {
        log(Effect.logError("an observer of requests failed", { requestId: end.requestId }, Cause.die(cause)))
      }
    }
  }

  const settle = (request: ServedRequest, status: number, failure: EndFailure | undefined): void => {
    if (request.lifetime !== undefined) inFlight.leave(request.lifetime)
    if (request.observed !== undefined && observers.length > 0) {
      tell(endOf(request, request.observed, status, failure ?? null))
    }
  }

  const settleOnceGivenUp = (
    request: ServedRequest,
    claim: Claim,
    status: number,
    failure: EndFailure | undefined,
  ): Effect.Effect<void> => {
    const { kept, context } = request
    const givenUp =
      kept === undefined || context === undefined
        ? idempotency.ended(claim)
        : idempotency.answered(claim, context.generationId, kept)
    return givenUp.pipe(
      Effect.catchAllDefect((cause) =>
        Effect.logError("a claim could not be given up", { requestId: request.requestId }, Cause.die(cause)),
      ),
      Effect.ensuring(Effect.sync(() => settle(request, status, failure))),
    )
  }

  return RequestEnds.of({
    begin: (route, form) =>
      new ServedRequest(
        route,
        form,
        observers.length === 0 ? undefined : new Observation(clock.unsafeCurrentTimeMillis(), nowMs),
      ),
    end: (request, status, failure) => {
      if (request.isOver) return Exit.void
      request.isOver = true
      if (request.claim !== undefined) return settleOnceGivenUp(request, request.claim, status, failure)
      settle(request, status, failure)
      return Exit.void
    },
    subscribe: (observe) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const observer = { observe }
          observers = [...observers, observer]
          return observer
        }),
        (observer) =>
          Effect.sync(() => {
            observers = observers.filter((other) => other !== observer)
          }),
      ),
  })
})

const endOf = (
  { requestId, route, form, key, lifetime, models, context }: ServedRequest,
  observed: Observation,
  status: number,
  failure: EndFailure | null,
): RequestEnd => {
  const { attempts, app, receivedAt, admitted, firstByte, lastByte, booked, bytesOut } = observed
  const row = context?.booked ?? null
  const answering = attempts.findLast(({ outcome }) => outcome !== "lost" && outcome !== "failed")
  const last = (answering ?? attempts.at(-1))?.host
  const began = attempts.map((attempt) => attempt.began)
  return {
    requestId,
    generationId: context?.generationId ?? null,
    route,
    form,
    key: key ?? null,
    app,
    model: row?.model ?? last?.model ?? models[0] ?? null,
    host: row?.host ?? last?.tag ?? null,
    status,
    failure,
    attempts,
    row,
    tokens: row === null ? null : { prompt: row.promptTokens, completion: row.completionTokens },
    cost: row?.cost ?? 0n,
    times: {
      ...{ receivedAt, admitted, firstByte, lastByte, booked },
      firstAttempt: began.length === 0 ? null : Math.min(...began),
      firstToken: answering?.firstEvent ?? null,
      ended: observed.elapsed(),
    },
    bytes: { in: lifetime?.bodyRead ?? 0, out: bytesOut },
  }
}
