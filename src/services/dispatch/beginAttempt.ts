/**
 * Prepares an attempt at one host: encodes the request, takes the hold, signs, counts it where the host is free, and takes the
 * permit. The permit comes last, in the same synchronous step that makes the attempt, so that the attempt owns it from the
 * start. Whether there would be one is looked at first, so that nothing is done for a host that may not be called.
 */
import * as Either from "effect/Either"
import { type Endpoint, endpointFor } from "../../catalogue/endpoints.ts"
import {
  HostFailed,
  type PaymentRequired,
  type RateLimited,
  type Unavailable,
  type Unsupported,
} from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { canGrow, mostHiddenTokens } from "../../domain/money/hold.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { joinedNames } from "../../domain/request/droppedNames.ts"
import { type AnyRequest, isUnary } from "../../domain/request/operations.ts"
import { type ChatRequest, noReasoning } from "../../domain/request/request.ts"
import { countsAsFree } from "../../domain/routing/freeModels.ts"
import { requestFor } from "../../domain/routing/HostRequest.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { AnswerContext, Encoded } from "../../wire/Protocol.ts"
import { addedBySign } from "../calls/signedSecrets.ts"
import type { UpstreamClient } from "../calls/upstreamCall.ts"
import type { Inadmissible } from "../hosts/endpointHealth.ts"
import { type HostPermits, Permit } from "../hosts/HostHealth.ts"
import type { KeyChoice, KeysOut } from "../hosts/ProviderKeys.ts"
import type { FreeRequestLimit } from "../keys/RequestLimits.ts"
import type { Hold } from "../money/Hold.ts"
import type { Reservations } from "../money/Meter.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { isFinished, type StepRunner, type Steps, valueOrFailure } from "../request/Steps.ts"
import { untilEnded } from "../request/untilEnded.ts"
import { Attempt } from "./Attempt.ts"
import { byteLength } from "./byteLength.ts"
import { encodeFor } from "./encodeFor.ts"

/** Why a host of the plan was skipped just before its call. */
export type Skipped = PaymentRequired | RateLimited | Unavailable | Unsupported | Inadmissible | KeysOut

export interface Begun {
  readonly attempt: Attempt
  readonly endpoint: Endpoint
  readonly encoded: Encoded
  readonly answerContext: AnswerContext
}

export interface BeginServices {
  readonly meter: Reservations
  readonly limits: FreeRequestLimit
  readonly health: HostPermits
  readonly keys: KeyChoice
  readonly client: UpstreamClient
  readonly runner: StepRunner
}

export const beginAttempt = function* (
  { meter, limits, health, keys, client, runner }: BeginServices,
  context: RequestContext,
  asked: AnyRequest,
  plan: Plan,
  planned: Endpoint,
): Steps<Begun | Skipped | HostFailed> {
  const { host } = planned
  const isEmergency = plan.probes.includes(host)
  const refusal = health.refusal(planned, isEmergency, context.key.id)
  if (refusal !== undefined) return refusal
  const key = planned.keys === undefined ? undefined : keys.choose(planned.keys, context)
  if (key !== undefined && "because" in key) return key
  const endpoint = endpointFor(key?.key.endpoint ?? planned, asked)
  const { request, dropped: unsupported } = requestFor(asked, host, plan.adjustments?.get(host))
  const first = encodeFor(endpoint, request, host)
  if (Either.isLeft(first)) return first.left
  const ask = {
    bounds: request.bounds,
    maxTokens: request.maxTokens,
    sentBytes: byteLength(first.right.body),
    streamed: request.stream,
    grows: !isUnary(request) && canGrow(request, host, first.right.dropped),
    mostHidden: isUnary(request) ? 0 : mostHiddenTokens(request, host, first.right.dropped),
    providerKey: key?.used,
  }
  const reserving = meter.reserve({ _tag: "Key", key: context.key }, context, ask, host)
  const hold = yield* valueOrFailure(reserving)
  if (!isFinished(reserving)) context.lifetime.look()
  // A hold has no tag, unlike the failures.
  if ("_tag" in hold) return hold
  const encoded = within(request, hold) ? first : encodeFor(endpoint, bounded(request, hold), host)
  if (Either.isLeft(encoded)) {
    meter.release(hold)
    return encoded.left
  }
  const signed = yield* valueOrFailure(
    untilEnded(runner, context.lifetime, client.signed(endpoint, encoded.right), unsigned),
  )
  if (signed instanceof HostFailed) {
    meter.release(hold)
    return signed
  }
  if (countsAsFree(host)) {
    const counting = limits.takeFree(context)
    const refused = yield* valueOrFailure(counting)
    if (!isFinished(counting)) context.lifetime.look()
    if (refused !== undefined) {
      meter.release(hold)
      return refused
    }
  }
  const permit = health.acquire(endpoint, isEmergency, context.key.id)
  if (!(permit instanceof Permit)) {
    meter.release(hold)
    return permit
  }
  const { dropped: untranslated = [] } = signed
  const dropped = joinedNames(unsupported, untranslated)
  const tools = isUnary(request) ? undefined : toolsCalled(request, endpoint)
  const attempt = new Attempt(context, host, hold, permit, key, dropped, tools, addedBySign(encoded.right, signed))
  return { attempt, endpoint, encoded: signed, answerContext: narrow(request, host) }
}

/** The tools that the host may call, by the names that it was sent. */
const toolsCalled = ({ native, payload }: ChatRequest, { protocol }: Endpoint): ChatPayload["tools"] =>
  native?.tools !== undefined && protocol.native?.form === native.form ? native.tools : payload.tools

/** The request was ended before it was signed: `lifetime.ending` has the reason. */
const unsigned = () => new HostFailed({ reason: "ended" })

/** Whether the request already has the output bound of the hold. */
const within = (request: AnyRequest, { outputBound }: Hold): boolean =>
  outputBound === undefined || outputBound === request.maxTokens

/** An operation that is no conversation has no output to bound. */
const bounded = (request: AnyRequest, { outputBound }: Hold): AnyRequest =>
  isUnary(request) ? request : { ...request, maxTokens: outputBound }

/** What reading an answer needs of its request, without the prompt, which a running stream must not keep in memory. */
const narrow = (request: AnyRequest, host: Host): AnswerContext => {
  const { stream, maxTokens, bounds } = request
  const reasoning = isUnary(request) ? noReasoning : request.reasoning
  return { request: { stream, maxTokens, reasoning, bounds }, host }
}
