/**
 * The one end of a request. Whatever happens to it, refused before it was decoded or cut amid a stream, it ends here, once: its place and
 * its claim are given up, and those who observe are told of it with one value. Money is settled before that: the row of an answer is
 * durable before the caller sees its cost. While that row waits for the database, the request keeps its entry in the journal. See docs/guarantees.md#g37 and docs/decisions/0060-one-end-of-a-request.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type RequestOutcome, requestOutcome } from "../../domain/failures/RequestOutcome.ts"
import { verdictOn } from "../../domain/failures/Verdict.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { Attribution } from "../../domain/request/Attribution.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import { makeEffectRunner } from "./EffectRunner.ts"
import { type Claim, Idempotency } from "./Idempotency.ts"
import { InFlight } from "./InFlight.ts"
import { answeringOf, Observation, type ObservedAttempt, type Origin } from "./Observation.ts"
import { monotonic } from "./RequestContext.ts"
import { type EndFailure, ServedRequest } from "./ServedRequest.ts"
import type { TraceContext } from "./TraceContext.ts"

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
  /** The caller's own id of it; "": none. */
  readonly callerRequestId: string
  /** The IP address that it came from; `null`: it is not known, or no observer needs it. */
  readonly address: string | null
  readonly generationId: string | null
  /** Method and path, as `POST /api/v1/chat/completions`. */
  readonly route: string
  readonly form: string | null
  /** `null`: the caller was not known. */
  readonly key: KeyRecord | null
  readonly app: Attribution | null
  /** The caller's end user, as the body names them; `null`: nobody is named. It may be a person's name. */
  readonly user: string | null
  /** Whether its answer was asked for as a stream. */
  readonly isStreamed: boolean
  /** Of the host that answered, else of the last one that was called, else the first that was asked for. */
  readonly model: string | null
  /** The tag of the host that answered, else of the last one that was called. */
  readonly host: string | null
  /** As it was sent, or would have been to a caller who left. Of a stream that broke off: 200, since its head had gone. */
  readonly status: number
  readonly failure: EndFailure | null
  /** How it ended, in a word. */
  readonly outcome: RequestOutcome
  /** Calls of hosts, in the order in which they ended. */
  readonly attempts: ReadonlyArray<ObservedAttempt>
  /** Strategy and seed of its plan ("": there was none), and its hosts (`LedgerRow.routed`). */
  readonly strategy: string
  readonly seed: number
  readonly routed: string
  /** The ledger's row of its answer; `null`: nothing was booked. */
  readonly row: LedgerRow | null
  /** Whether the ledger has a row of it or will have one, also if its caller got an error since the database did not take the row in time. */
  readonly hasRow: boolean
  readonly tokens: { readonly prompt: number; readonly completion: number } | null
  /** What the caller pays. */
  readonly cost: Picodollars
  readonly times: RequestTimes
  /** Where it stands in a trace; `null`: traces are off, or it is none of the data plane. */
  readonly trace: TraceContext | null
  /** Of the bodies. `in`: what was read. `out`: 0 for a whole answer, if no observer needs it. */
  readonly bytes: { readonly in: number; readonly out: number }
}

/** Of which requests an observer is told the address, and the bytes of a whole answer. To find out each takes about a microsecond. */
export type DetailNeed = "always" | "of-failures" | "never"

/** Called within the end of a request, so it must not take long. What it throws is logged. */
export type RequestObserver = (end: RequestEnd) => void

export class RequestEnds extends Context.Tag("headgate/RequestEnds")<
  RequestEnds,
  {
    /** A request whose first byte has come. `route`: method and path. `origin` is asked only where an observer needs the address. */
    readonly begin: (route: string, form: string | null, origin?: Origin) => ServedRequest
    /**
     * The request is over, and everything of it is settled. Succeeds when its claim is given up durably; its place is kept until then, so
     * that a drain waits for it. Does nothing the second time.
     */
    readonly end: (request: ServedRequest, status: number, failure: EndFailure | undefined) => Effect.Effect<void>
    /**
     * Tells `observer` of the end of each request that begins from now on, until the scope is closed. `need`, by default `always`: with
     * `of-failures` an address is looked for when a stream begins or the request has failed, and a caller who has left then has none.
     * Bytes of whole answers are counted for the same requests.
     */
    readonly subscribe: (observer: RequestObserver, need?: DetailNeed) => Effect.Effect<void, never, Scope.Scope>
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
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const nowMs = monotonic(clock)
  const observers = new Observers((line) => void runner.run(line, () => {}))

  const observation = (origin: Origin | undefined): Observation => {
    const later = observers.need === "never" ? undefined : origin
    const observed = new Observation(clock.unsafeCurrentTimeMillis(), nowMs, later)
    if (observers.need === "always") observed.findAddress()
    return observed
  }

  const settle = (request: ServedRequest, status: number, failure: EndFailure | undefined): void => {
    if (request.lifetime !== undefined) inFlight.leave(request.lifetime)
    const { observed } = request
    if (observed === undefined || observers.isEmpty) return
    if (failure !== undefined) observed.findAddress()
    if (failure !== undefined || observers.need === "always") observed.measure()
    observed.forget()
    observers.tell(endOf(request, observed, status, failure ?? null))
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
      Effect.catchAllDefect((cause) => logEvent("claim_not_ended", { requestId: request.requestId }, cause)),
      Effect.ensuring(Effect.sync(() => settle(request, status, failure))),
    )
  }

  return RequestEnds.of({
    begin: (route, form, origin) => new ServedRequest(route, form, observers.isEmpty ? undefined : observation(origin)),
    end: (request, status, failure) => {
      if (request.isOver) return Exit.void
      request.isOver = true
      if (request.claim !== undefined) return settleOnceGivenUp(request, request.claim, status, failure)
      settle(request, status, failure)
      return Exit.void
    },
    subscribe: (observe, need = "always") => observers.subscribe({ observe, need }),
  })
})

interface Observer {
  readonly observe: RequestObserver
  readonly need: DetailNeed
}

class Observers {
  /** The greatest of theirs. */
  need: DetailNeed = "never"
  private all: ReadonlyArray<Observer> = []
  private readonly log: (line: Effect.Effect<void>) => void

  constructor(log: (line: Effect.Effect<void>) => void) {
    this.log = log
  }

  get isEmpty(): boolean {
    return this.all.length === 0
  }

  subscribe(observer: Observer): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.set([...this.all, observer])),
      () => Effect.sync(() => this.set(this.all.filter((other) => other !== observer))),
    )
  }

  private set(all: ReadonlyArray<Observer>): void {
    this.all = all
    this.need = greatestNeed(all)
  }

  tell(end: RequestEnd): void {
    for (const { observe } of this.all) {
      try {
        observe(end)
      } catch (cause) {
        this.log(logEvent("observer_failed", { requestId: end.requestId }, cause))
      }
    }
  }
}

const greatestNeed = (observers: ReadonlyArray<Observer>): DetailNeed => {
  const needs = new Set(observers.map(({ need }) => need))
  if (needs.has("always")) return "always"
  return needs.has("of-failures") ? "of-failures" : "never"
}

const endOf = (
  { requestId, route, form, key, lifetime, models, context }: ServedRequest,
  observed: Observation,
  status: number,
  failure: EndFailure | null,
): RequestEnd => {
  const { callerRequestId, address, attempts, app, user, isStreamed, trace, bytesOut } = observed
  const { receivedAt, admitted, firstByte, lastByte, booked } = observed
  const row = context?.booked ?? null
  const answering = answeringOf(attempts)
  const last = (answering ?? attempts.at(-1))?.host
  return {
    requestId,
    callerRequestId,
    address,
    generationId: context?.generationId ?? null,
    route,
    form,
    key: key ?? null,
    app,
    user,
    isStreamed,
    model: row?.model ?? last?.model ?? models[0] ?? null,
    host: row?.host ?? last?.tag ?? null,
    status,
    failure,
    outcome: requestOutcome(failure, row?.outcome, attempts.some(failedByHost)),
    attempts,
    strategy: context?.strategy ?? "",
    seed: context?.seed ?? 0,
    routed: context?.routed ?? "",
    row,
    hasRow: context?.hasRow ?? false,
    tokens: row === null ? null : { prompt: row.promptTokens, completion: row.completionTokens },
    cost: row?.cost ?? 0n,
    times: {
      receivedAt,
      admitted,
      firstAttempt: firstBegan(attempts),
      firstByte,
      lastByte,
      booked,
      firstToken: answering?.firstEvent ?? null,
      ended: observed.elapsed(),
    },
    trace,
    bytes: { in: lifetime?.bodyRead ?? 0, out: bytesOut },
  }
}

const failedByHost = ({ failure }: ObservedAttempt): boolean =>
  failure !== undefined && verdictOn(failure).uptime === "failure"

/** They stand in the order in which they ended. */
const firstBegan = (attempts: ReadonlyArray<ObservedAttempt>): number | null => {
  let first: number | null = null
  for (const { began } of attempts) if (first === null || began < first) first = began
  return first
}
