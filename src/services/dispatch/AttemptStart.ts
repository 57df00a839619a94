/**
 * Prepares an attempt at one host: encodes the request, makes the reservation, signs, counts it where the host is free,
 * and takes the permit. The permit comes last, in the same synchronous step that makes the attempt, so that the attempt
 * owns it from the start. Whether there would be one is looked at first, so that nothing is done for a host that may
 * not be called.
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { type Endpoint, endpointFor } from "../../catalogue/endpoints.ts"
import {
  HostFailed,
  type PaymentRequired,
  type RateLimited,
  type Unavailable,
  type Unsupported,
} from "../../domain/failures/Failure.ts"
import { callerOf } from "../../domain/keys/key.ts"
import { canGrow, mostHiddenTokens } from "../../domain/money/reservation.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { joinedNames } from "../../domain/request/droppedNames.ts"
import { type AnyRequest, type AnyUnaryRequest, isUnary } from "../../domain/request/operations.ts"
import { type ChatRequest, noReasoning } from "../../domain/request/request.ts"
import { countsAsFree } from "../../domain/routing/freeModels.ts"
import { requestFor } from "../../domain/routing/HostRequest.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { AnswerContext, Encoded } from "../../formats/Protocol.ts"
import { withReadable } from "../../formats/request/encryptedReasoning.ts"
import { addedBySign } from "../calls/signedSecrets.ts"
import type { UpstreamClient } from "../calls/UpstreamClient.ts"
import type { Inadmissible } from "../hosts/endpointHealth.ts"
import type { HostPermits } from "../hosts/HostHealth.ts"
import { Permit } from "../hosts/Permit.ts"
import type { ChosenKey, KeyChoice, KeysOut } from "../hosts/ProviderKeys.ts"
import type { FreeRequestLimit } from "../keys/RequestLimits.ts"
import type { GuardedMeter } from "../money/GuardedMeter.ts"
import type { Reservation } from "../money/Reservation.ts"
import type { EffectRunner } from "../request/EffectRunner.ts"
import type { Reserving } from "../request/Observation.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { StepByStep } from "../request/StepByStep.ts"
import { untilEnded } from "../request/untilEnded.ts"
import { Attempt, accountOf } from "./Attempt.ts"
import type { Batch } from "./batch/Batch.ts"
import { batchFor } from "./batch/batchFor.ts"
import { byteLength, clientToolNames, encodeFor } from "./encodeFor.ts"

/** Why a host of the plan was skipped just before its call. */
export type Skipped = PaymentRequired | RateLimited | Unavailable | Unsupported | Inadmissible | KeysOut

export interface Begun {
  readonly attempt: Attempt
  /** As the plan has it, and with the key and for the form of this call. */
  readonly planned: Endpoint
  readonly endpoint: Endpoint
  readonly encoded: Encoded
  readonly answerContext: AnswerContext
  /** The request, if its operation never streams. */
  readonly unary?: AnyUnaryRequest | undefined
}

/** Who called a host. */
export interface CallListener<A> {
  /**
   * The call is over: called once, with the answer of the host (of a stream: once it has begun) or why there is none.
   */
  readonly answered: (begun: Begun, answer: A | HostFailed) => void
}

/** The host cannot be called, or what prepares its call has failed. Nothing is reserved for it. */
export class NotBegun {
  readonly endpoint: Endpoint
  readonly why: Skipped | HostFailed

  constructor(endpoint: Endpoint, why: Skipped | HostFailed) {
    this.endpoint = endpoint
    this.why = why
  }
}

export interface StartServices {
  readonly meter: Pick<GuardedMeter, "reserve" | "release">
  readonly limits: FreeRequestLimit
  readonly health: HostPermits
  readonly keys: KeyChoice
  readonly client: UpstreamClient
  readonly runner: EffectRunner
}

/**
 * Succeeds with the attempt, which has to be ended from then on. `isUnreadable`: the host has refused the encrypted
 * reasoning that it was sent, so it is sent none.
 */
export const startAttempt = (
  services: StartServices,
  context: RequestContext,
  asked: AnyRequest,
  plan: Plan,
  planned: Endpoint,
  isUnreadable = false,
): Effect.Effect<Begun | NotBegun> => {
  const { health, keys } = services
  const { host } = planned
  const isEmergency = plan.probes.includes(host)
  const refusal = health.refusal(planned, isEmergency, callerOf(context.key))
  if (refusal !== undefined) return notBegun(planned, refusal)
  const key = planned.keys === undefined ? undefined : keys.choose(planned.keys, context)
  if (key !== undefined && "because" in key) return notBegun(planned, key)
  const endpoint = endpointFor(key?.key.endpoint ?? planned, asked)
  const { request: fitting, dropped } = requestFor(asked, host, plan.adjustments?.get(host))
  const request = isUnary(fitting) ? fitting : withReadable(fitting, isUnreadable ? "" : accountOf(host, key))
  const batch = batchFor(endpoint, request, host)
  const encoded = batch === undefined ? encodeFor(endpoint, request, host) : Either.map(batch, (parts) => parts.encoded)
  if (Either.isLeft(encoded)) return notBegun(planned, encoded.left)
  const call = { planned, endpoint, key, isEmergency, request, dropped, batch: batch && Either.getOrUndefined(batch) }
  return new AttemptStart(services, context, call, encoded.right)
}

const notBegun = (planned: Endpoint, why: Skipped | HostFailed) => Exit.succeed(new NotBegun(planned, why))

/** What a host is to be called with. */
interface Call {
  /** `Begun.planned`, and `Begun.endpoint`. */
  readonly planned: Endpoint
  readonly endpoint: Endpoint
  /** Which of several keys of its provider; `undefined`: there are no several. */
  readonly key: ChosenKey | undefined
  /** Whether it is called although it should not be, because no other host is left (`Plan.probes`). */
  readonly isEmergency: boolean
  /** As this host gets it, without members that it does not support, and the names of those. */
  readonly request: AnyRequest
  readonly dropped: ReadonlyArray<string>
  readonly batch: Batch | undefined
}

const unsignedYet: ReadonlyArray<string> = []

/** From the reservation on, which may have to be waited for. */
class AttemptStart extends StepByStep<Begun | NotBegun, Skipped | HostFailed, never> {
  private readonly services: StartServices
  private readonly context: RequestContext
  private readonly call: Call
  private encoded: Encoded
  /** What signing added to the request. */
  private signature = unsignedYet
  private isReserved = false
  private reserving: Reserving | null = null
  /** Set by the step `reserved`, and read by later ones only. */
  private reservation!: Reservation

  constructor(services: StartServices, context: RequestContext, call: Call, encoded: Encoded) {
    super()
    this.services = services
    this.context = context
    this.call = call
    this.encoded = encoded
  }

  protected override begin(): void {
    const { context, encoded, call } = this
    const { planned, request, key } = call
    const { host } = planned
    this.reserving = this.reservingFrom(undefined)
    const ask = {
      bounds: request.bounds,
      maxTokens: request.maxTokens,
      sentBytes: call.batch?.bytes ?? byteLength(encoded.body),
      streamed: request.stream,
      grows: !isUnary(request) && canGrow(request, host, encoded.dropped),
      mostHidden: isUnary(request) ? 0 : mostHiddenTokens(request, host, encoded.dropped),
      providerKey: key?.used,
    }
    this.ask(this.services.meter.reserve({ _tag: "Key", key: context.key }, context, ask, host), this.reserved)
  }

  private reserved(reservation: Reservation): void {
    this.reservation = reservation
    this.isReserved = true
    this.reserving = this.reservingFrom(this.reserving?.began)
    const { planned, endpoint, request } = this.call
    if (within(request, reservation)) this.sign()
    else this.after(encodeFor(endpoint, bounded(request, reservation), planned.host), this.encodedAgain)
  }

  /** The time up to here, since `began` or from here on. The clock is read only where it is told. */
  private reservingFrom(began: number | undefined): Reserving | null {
    const { observed } = this.context
    if (observed?.trace?.isSampled !== true) return null
    const ended = observed.elapsed()
    return { began: began ?? ended, ended }
  }

  private encodedAgain(encoded: Encoded): void {
    this.encoded = encoded
    this.sign()
  }

  private sign(): void {
    const { client, runner } = this.services
    const signing = client.signed(this.call.endpoint, this.encoded)
    this.ask(untilEnded(runner, this.context.lifetime, signing, unsigned), this.signed)
  }

  private signed(signed: Encoded): void {
    this.signature = addedBySign(this.encoded, signed)
    this.encoded = signed
    if (countsAsFree(this.call.planned.host)) this.ask(this.services.limits.takeFree(this.context), this.permit)
    else this.permit()
  }

  private permit(): void {
    const { context, call, reservation, encoded, signature } = this
    const { planned, endpoint, key, isEmergency, request, dropped } = call
    const { host } = planned
    const permit = this.services.health.acquire(endpoint, isEmergency, callerOf(context.key))
    if (!(permit instanceof Permit)) {
      this.fail(permit)
      return
    }
    const { dropped: untranslated = [] } = encoded
    const tools = isUnary(request) ? undefined : toolsCalled(request, endpoint)
    const all = joinedNames(dropped, untranslated)
    const attempt = new Attempt(context, host, reservation, permit, key, all, tools, signature)
    attempt.reserving = this.reserving
    attempt.batch = call.batch
    attempt.isOneOfSeveral = planned.isOneOfSeveral === true
    // It is the attempt's now.
    this.isReserved = false
    const answerContext = narrow(request, endpoint)
    const unary = isUnary(request) ? request : undefined
    this.succeed({ attempt, planned, endpoint, encoded, answerContext, unary })
  }

  /** Nothing stays reserved for a call that is not made. */
  protected override failed(cause: Cause.Cause<Skipped | HostFailed>): void {
    if (this.isReserved) this.services.meter.release(this.reservation)
    this.isReserved = false
    const failure = Cause.failureOrCause(cause)
    if (Either.isLeft(failure)) this.succeed(new NotBegun(this.call.planned, failure.left))
    else this.end(Exit.failCause(failure.right))
  }

  protected override look(): void {
    this.context.lifetime.look()
  }
}

/** The tools that the host may call, by the names that it was sent. */
const toolsCalled = ({ native, payload }: ChatRequest, { protocol }: Endpoint): ChatPayload["tools"] =>
  native?.tools !== undefined && protocol.native?.form === native.form ? native.tools : payload.tools

/** The request was ended before it was signed: `lifetime.ending` has the reason. */
export const unsigned = () => new HostFailed({ reason: "ended" })

/** Whether the request already has the output bound of the reservation. */
const within = (request: AnyRequest, { outputBound }: Reservation): boolean =>
  outputBound === undefined || outputBound === request.maxTokens

/** An operation that is no conversation has no output to bound. */
const bounded = (request: AnyRequest, { outputBound }: Reservation): AnyRequest =>
  isUnary(request) ? request : { ...request, maxTokens: outputBound }

/** What reading an answer needs of its request, without the prompt, which a running stream must not keep in memory. */
const narrow = (request: AnyRequest, endpoint: Endpoint): AnswerContext => {
  const { host } = endpoint
  const { stream, maxTokens, bounds } = request
  if (isUnary(request)) return { request: { stream, maxTokens, reasoning: noReasoning, bounds }, host }
  const narrowed = { request: { stream, maxTokens, reasoning: request.reasoning, bounds }, host }
  const toolNames = clientToolNames(endpoint, request)
  return toolNames === undefined ? narrowed : { ...narrowed, toolNames }
}
