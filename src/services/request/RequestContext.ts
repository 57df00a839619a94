/** One inference request while it is served: who calls, since when, and the handle that ends it. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import {
  CallerGone,
  type FailedAttempt,
  type NotPermitted,
  type TimedOut,
  type Unavailable,
} from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Attribution } from "../../domain/request/Attribution.ts"
import type { Member } from "../../domain/structures/Roster.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import type { HeldAnswer } from "./AnswerBytes.ts"
import type { ConversationRecord } from "./Conversations.ts"
import type { Observation } from "./Observation.ts"

/** Why a request was ended from outside while it ran. */
export type Ending = CallerGone | NotPermitted | Unavailable | TimedOut

const none: ReadonlyArray<() => void> = []
const noAnswers: ReadonlyArray<HeldAnswer> = []

/** What is known of a running request, for those who look at what runs. */
export interface RunningRequest {
  readonly requestId: string
  /** Method and path. */
  readonly route: string
  readonly form: string | null
  readonly key: KeyRecord | undefined
  /** Names of the models that it asks for; none until its body is decoded. */
  readonly models: ReadonlyArray<string>
  /** Whether its answer is asked for as a stream. */
  readonly isStreamed: boolean
  /** Once it has a plan. */
  readonly context: RequestContext | undefined
}

/** Counts of the requests in flight of one key, or of the process. */
export class Load {
  /** Of a key: its requests, from their admission on. Of the process: those that have a place (`InFlight.place`). */
  requests = 0
  /** Bytes of their long bodies. */
  bodyBytes = 0
}

/** The handle that ends a request, from its first byte on. The first reason is kept. */
export class Lifetime implements Member {
  /** In the roster of the running requests. */
  rosterIndex = -1
  ending: Ending | undefined
  /** When it will be ended, on the clock of `Timers`. Set at admission. */
  deadline = Number.POSITIVE_INFINITY
  /** When it was admitted, on the same clock. */
  startedAt = 0
  /** The request itself, for those who look at what runs. */
  request: RunningRequest | undefined
  /** Whose request it is, once that is known. */
  key: KeyId | undefined
  /** Where it is counted: with its key, once that is known, and with the process. Only `InFlight` changes these. */
  ofKey: Load | undefined
  ofProcess: Load | undefined
  hasPlace = false
  /** Bytes of its body that are counted with both. */
  bodyBytes = 0
  /** Bytes of its body that were read. */
  bodyRead = 0
  /** Whether its body is being read. An answer that is given meanwhile ends the connection. */
  isReading = false
  /** Whether the caller has closed the connection. Polled where no event reports it; `undefined`: an event does. */
  isCallerGone: (() => boolean) | undefined
  /** Ends at once what still runs for a client that has left. Unset: nothing runs. */
  onCut: (() => void) | undefined
  /** Bytes of hosts' answers that count until the client has the answer or has left. */
  answers: ReadonlyArray<HeldAnswer> = noAnswers
  private listeners = none

  /** Milliseconds from admission to the deadline. */
  get allowedMs(): number {
    return this.deadline - this.startedAt
  }

  /** Counts the bytes of an answer until the request is over, unless they are released before. */
  keep(answer: HeldAnswer): void {
    this.answers = [...this.answers, answer]
  }

  end(why: Ending): void {
    if (this.ending !== undefined) return
    this.ending = why
    for (const listener of this.listeners) listener()
  }

  /** Ends the request if its caller has left. Called after waits, so that no host is called for a caller who is gone. */
  look(): void {
    if (this.isCallerGone?.() === true) this.end(new CallerGone())
  }

  /** Its body is not needed any more: a host's answer has begun, or the request is over. */
  releaseBody(): void {
    if (this.bodyBytes === 0) return
    if (this.ofKey !== undefined) this.ofKey.bodyBytes -= this.bodyBytes
    if (this.ofProcess !== undefined) this.ofProcess.bodyBytes -= this.bodyBytes
    this.bodyBytes = 0
  }

  /** Calls `listener` once when the request is ended; at once if it is ended already. */
  onEnd(listener: () => void): void {
    if (this.ending !== undefined) listener()
    else this.listeners = this.listeners.length === 0 ? [listener] : [...this.listeners, listener]
  }

  forget(listener: () => void): void {
    this.listeners =
      this.listeners.length === 1 && this.listeners[0] === listener
        ? none
        : this.listeners.filter((one) => one !== listener)
  }
}

/** The one that Effect has by itself. */
const liveClock = Context.get(DefaultServices.liveServices, Clock.Clock)

/**
 * Milliseconds, with fractions, on a clock that never steps back. Only differences mean something. A request reads it some ten times, so the
 * live clock, whose nanoseconds are bigints, is read in another way. Any other one says the time itself.
 */
export const monotonic = (clock: Clock.Clock): (() => number) =>
  clock === liveClock ? () => performance.now() : () => milliseconds(clock.unsafeCurrentTimeNanos())

/** Whole milliseconds stay whole, which a division of so large a number does not give. */
const milliseconds = (nanos: bigint): number => Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6

const noKeys: ReadonlyArray<string> = []

export interface RequestFacts {
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyRecord
  readonly attribution: Attribution
  /** The caller's own id of the request, for log and ledger; absent or "": it gave none. */
  readonly callerRequestId?: string
  /** The end user that the body names; absent or "": nobody. */
  readonly user?: string
  /** Unix milliseconds. The request belongs to the budget windows of this moment. */
  readonly admittedAt: number
  readonly lifetime: Lifetime
  /** For the ledger: the client's protocol, and what it asked for. */
  readonly form: string
  readonly operation: string
  /** Names of the models as the caller wrote them. */
  readonly models: ReadonlyArray<string>
  /** For the ledger: how the hosts were ordered. The plan itself is not kept. */
  readonly strategy: string
  readonly seed: number
  /** For the ledger: the hosts of the plan (`domain/routing/routed.ts`); absent: not known. */
  readonly routed?: string
  /** Where it is recorded how the hosts did; absent where the plan did not look at the conversation. */
  readonly conversation?: ConversationRecord | undefined
  readonly observed?: Observation | undefined
}

/** An attempt, as far as the context of its request needs it. */
export interface RunningAttempt {
  readonly host: Host
  /** Milliseconds since it began. */
  elapsedMs(): number
}

export interface LogIds {
  readonly requestId: string
  readonly callerRequestId?: string
}

export class RequestContext implements RequestFacts {
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyRecord
  readonly attribution: Attribution
  readonly callerRequestId: string
  readonly user: string
  readonly admittedAt: number
  readonly lifetime: Lifetime
  readonly form: string
  readonly operation: string
  readonly models: ReadonlyArray<string>
  readonly strategy: string
  readonly seed: number
  readonly routed: string
  /** Attempts that failed so far, in their order. */
  readonly failed: Array<FailedAttempt> = []
  /** The call that was cancelled because the one beside it was faster. `durationMs`: from its begin until then. */
  lost: { readonly host: Host; readonly wasFirst: boolean; readonly durationMs: number } | undefined
  /** The call of a host that was begun last, or that answers. */
  calling: RunningAttempt | undefined
  /** Whether a host's stream has begun. */
  isStreaming = false
  /** What the ledger has of it, or will have. Set when its answer is booked; not by a call of it that another one was faster than. */
  booked: LedgerRow | undefined
  /** Whether a row of its answer was given to the ledger, which has it or will have it: also where its caller got an error in place of the answer. */
  hasRow = false
  /** Whether it came with an Idempotency-Key: `UpstreamCall.isOnce`. */
  isOnce = false
  /** Keys of providers that were refused for it: `UsedKey.id`. */
  triedKeys: ReadonlyArray<string> = noKeys
  readonly conversation: ConversationRecord | undefined
  /** Only where somebody observes. */
  readonly observed: Observation | undefined
  /** By `nowMs`. */
  readonly startedMs: number
  private readonly nowMs: () => number

  /** Begins now. `nowMs`: milliseconds of a clock that never steps back. */
  constructor(facts: RequestFacts, nowMs: () => number) {
    this.requestId = facts.requestId
    this.generationId = facts.generationId
    this.key = facts.key
    this.attribution = facts.attribution
    this.callerRequestId = facts.callerRequestId ?? ""
    this.user = facts.user ?? ""
    this.admittedAt = facts.admittedAt
    this.lifetime = facts.lifetime
    this.form = facts.form
    this.operation = facts.operation
    this.models = facts.models
    this.strategy = facts.strategy
    this.seed = facts.seed
    this.routed = facts.routed ?? ""
    this.conversation = facts.conversation
    this.observed = facts.observed
    this.nowMs = nowMs
    this.startedMs = nowMs()
  }

  /** For a line of the log: our id of the request, and the caller's. */
  get logIds(): LogIds {
    const { requestId, callerRequestId } = this
    return callerRequestId === "" ? { requestId } : { requestId, callerRequestId }
  }

  /** Milliseconds since it began. */
  elapsedMs(): number {
    return this.nowMs() - this.startedMs
  }
}
