/**
 * What all client protocols share: authenticate, decode, plan, dispatch, answer. The steps of a request are written
 * once. Bun's native routes run them without a fiber, an embedder's own app runs them as an Effect.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { BadRequest, CallerGone, type Failure } from "../../domain/failures/Failure.ts"
import { generationId, requestId } from "../../domain/Ids.ts"
import type { KeyRecord } from "../../domain/keys/Key.ts"
import type { AnyRequest, ChatRequest } from "../../domain/request/Request.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { type Completed, Dispatcher } from "../../services/dispatch/Dispatcher.ts"
import type { AnswerReader } from "../../services/dispatch/readAnswer.ts"
import { directOutput, type OpenOutput, queuedOutput } from "../../services/dispatch/StreamOutput.ts"
import type { WriterFor } from "../../services/dispatch/StreamWriter.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { RequestLimits } from "../../services/keys/RequestLimits.ts"
import { Meter } from "../../services/money/Meter.ts"
import { type ConversationRecord, Conversations } from "../../services/request/Conversations.ts"
import { type Claim, Idempotency, type IdempotentRequest } from "../../services/request/Idempotency.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { type Lifetime, monotonic, RequestContext } from "../../services/request/RequestContext.ts"
import { isFinished, makeStepRunner, type Steps, unwrap } from "../../services/request/Steps.ts"
import { Timers } from "../../services/request/Timers.ts"
import { makeExplain } from "../../services/routing/explain.ts"
import { Router } from "../../services/routing/Router.ts"
import type { AllowOrigin } from "../cors.ts"
import { defect, type Rendered, render } from "../ErrorBody.ts"
import {
  attributionText,
  callerRequestId,
  costHeader,
  costValue,
  droppedHeader,
  generationIdHeader,
  hostHeader,
  isHeaderSafe,
  notSniffed,
  requestIdHeaders,
  setRequestId,
} from "../headers.ts"
import { closedByStop } from "../stopping.ts"
import { makeAdmissions } from "./admission.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import { makeCountRoute } from "./countTokens.ts"
import { type ExplainedForms, makeExplainRoute } from "./explain.ts"
import type { Asked, Form } from "./Form.ts"
import { idempotencyKeyOf, makeOnlyOnce } from "./onlyOnce.ts"
import type { RequestState, Respond } from "./Respond.ts"
import { routeMetadata, type ShownRoute, wantsMetadata } from "./routeMetadata.ts"
import { makeUpgradeRoute } from "./upgrade.ts"

/** The handler of one path. Every failure becomes an answer. */
export interface InferenceHandler {
  /** For an Effect app. */
  readonly effect: (request: Request) => Effect.Effect<Response>
  /**
   * For Bun's own routes: streams are written to the socket directly. `isCallerGone` is polled (`InFlight`), since
   * listening to the request's own signal is expensive.
   */
  readonly native: (request: Request, isCallerGone: () => boolean) => Promise<Response>
}

/** A request of a key that may make it. */
interface Admitted {
  readonly form: Form
  readonly state: RequestState
  readonly request: Request
  readonly output: OpenOutput
  readonly lifetime: Lifetime
  readonly key: KeyRecord
}

export class Inference extends Context.Tag("headgate/Inference")<
  Inference,
  {
    /** `allow` adds the headers that browsers need to every answer. */
    readonly handler: (form: Form, allow: AllowOrigin) => InferenceHandler
    /** Answers with the plan for a request of one of these forms, in place of carrying it out. */
    readonly explainer: (forms: ExplainedForms, allow: AllowOrigin) => InferenceHandler
    /** Answers with an estimate of the tokens in the prompt. */
    readonly counter: (protocol: ClientProtocol, allow: AllowOrigin) => InferenceHandler
    /** Refuses `GET` requests, those for a WebSocket in a way that clients understand. */
    readonly upgrader: (protocol: ClientProtocol, allow: AllowOrigin) => InferenceHandler
  }
>() {
  static readonly layer = Layer.scoped(
    Inference,
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const router = yield* Router
      const meter = yield* Meter
      const conversations = yield* Conversations
      const dispatcher = yield* Dispatcher
      const inFlight = yield* InFlight
      const timers = yield* Timers
      const registry = yield* ProviderRegistry
      const limits = yield* RequestLimits
      const idempotency = yield* Idempotency
      const clock = yield* Effect.clock
      const nowMs = monotonic(clock)
      const runner = makeStepRunner(yield* Effect.runtime<never>())
      const admissions = makeAdmissions({ runner, keys, limits, meter, inFlight, timers, registry })
      const onlyOnce = makeOnlyOnce(idempotency, inFlight, runner)
      yield* keys.onRevoked(inFlight.revoke)

      const contextOf = (
        { form, state: { requestId }, request: { headers }, lifetime, key }: Admitted,
        { operation }: AnyRequest,
        plan: Plan,
        conversation: ConversationRecord | undefined,
      ) => {
        const admittedAt = clock.unsafeCurrentTimeMillis()
        const appTitle = headers.get("x-router-title") ?? headers.get("x-openrouter-title") ?? headers.get("x-title")
        const appUrl = headers.get("http-referer")
        const facts = {
          requestId,
          generationId: generationId(Math.floor(admittedAt / 1000), requestId),
          key,
          callerRequestId: callerRequestId(headers),
          attribution: { appTitle: attributionText(appTitle), appUrl: attributionText(appUrl) },
          admittedAt,
          lifetime,
          form: form.name,
          operation,
          models: plan.requested,
          strategy: plan.strategy,
          seed: plan.seed,
          conversation,
        }
        return new RequestContext(facts, nowMs)
      }

      const shownOf = ({ routing }: AnyRequest, plan: Plan): ShownRoute => {
        const [requested = ""] = routing.models
        const resolved = registry.resolve(requested)
        return { requested, model: Either.isRight(resolved) ? resolved.right.model.id : requested, plan }
      }

      /** The place is kept until the outcome is, so that a drain waits for it. */
      const leavingOnceEnded = (lifetime: Lifetime, claim: Claim) => () => {
        runner.effect(idempotency.ended(claim), () => inFlight.leave(lifetime))
      }

      const respond = function* (
        form: Form,
        state: RequestState,
        request: Request,
        watchCaller: (lifetime: Lifetime) => void,
        output: OpenOutput,
      ): Steps<Response, Failure> {
        const { lifetime, key } = yield* admissions.admit(state, request, watchCaller, "ordinary")
        const value = idempotencyKeyOf(request.headers)
        if (value instanceof BadRequest) return yield* Exit.fail(value)
        const { body, bytes } = yield* admissions.read(request, lifetime, {
          payer: key,
          keepsBytes: value !== null,
          prompt: form.prompt,
        })
        const asked = yield* unwrap(form.decode(body, request.headers))
        const admitted = { form, state, request, output, lifetime, key }
        if (value === null || bytes === undefined) return yield* answer(admitted, asked, undefined)
        const { requestId } = state
        const { stream, routing } = asked.request
        const mayKeepAnswer = !stream && !routing.preferences.zeroDataRetention
        const repeatable = { key: key.id, route: form.name, value, body: bytes, requestId, mayKeepAnswer }
        return yield* answerOnce(repeatable, admitted, asked)
      }

      // Outside of `respond`: a closure made within a generator keeps all of its variables.
      const answerOnce = (repeatable: IdempotentRequest, admitted: Admitted, asked: Asked) =>
        onlyOnce(repeatable, admitted.lifetime, (claim) => answer(admitted, asked, claim))

      /** `claim`: of a request that is carried out once. */
      const answer = function* (admitted: Admitted, asked: Asked, claim: Claim | undefined): Steps<Response, Failure> {
        const { form, state, request: received, output, lifetime, key } = admitted
        const { request } = asked
        const budgeting = meter.budget({ _tag: "Key", key })
        const conversation = request.operation === "chat" ? conversations.of(key.id, request) : undefined
        const budget = yield* unwrap(budgeting)
        const plan = yield* unwrap(router.plan(request, budget, { conversation, permissions: key, key: key.id }))
        if (!isFinished(budgeting)) lifetime.look()
        const context = contextOf(admitted, request, plan, conversation?.record())
        if (claim !== undefined) {
          claim.context = context
          context.isOnce = true
        }
        state.generationId = context.generationId
        const shown = wantsMetadata(received.headers) ? shownOf(request, plan) : undefined
        if (shown !== undefined) state.metadata = withoutHost(shown, context)
        const writerFor = request.stream ? asked.stream?.(context, shown) : undefined
        return yield* request.stream && writerFor !== undefined
          ? streamed(form, context, request, plan, writerFor, output, claim)
          : whole(form, context, request, plan, asked.answer(context, shown), claim)
      }

      const whole = function* (
        form: Form,
        context: RequestContext,
        request: AnyRequest,
        plan: Plan,
        reader: AnswerReader,
        claim: Claim | undefined,
      ): Steps<Response, Failure> {
        const completed = yield* dispatcher.complete(context, request, plan, reader)
        const response = new Response(completed.text)
        const { headers } = response
        headers.set("content-type", "application/json")
        headers.set(costHeader, costValue(completed.charge.cost.total))
        setHeaders(headers, context, completed, form)
        if (claim !== undefined) {
          const kept = { headers: Object.fromEntries(headers), body: completed.text }
          yield* idempotency.answered(claim, context.generationId, kept)
        }
        inFlight.leave(context.lifetime)
        return response
      }

      const streamed = function* (
        form: Form,
        context: RequestContext,
        request: ChatRequest,
        plan: Plan,
        writerFor: WriterFor,
        output: OpenOutput,
        claim: Claim | undefined,
      ): Steps<Response, Failure> {
        const { lifetime } = context
        const closed = claim === undefined ? leaving(inFlight, lifetime) : leavingOnceEnded(lifetime, claim)
        const { body, answering } = yield* dispatcher.stream(context, request, plan, writerFor, output, closed)
        // From here on the stream itself reports that its reader has left.
        lifetime.isCallerGone = undefined
        const response = new Response(body)
        response.headers.set("content-type", "text/event-stream")
        response.headers.set("cache-control", "no-cache")
        setHeaders(response.headers, context, answering, form)
        return response
      }

      const refused = ({ error }: Pick<Form, "error">, state: RequestState, cause: Cause.Cause<Failure>): Response => {
        const { requestId, generationId, lifetime } = state
        if (lifetime !== undefined) inFlight.leave(lifetime)
        // What is left of an incomplete body must not be taken for the next request.
        const closing = lifetime?.isReading === true ? { connection: "close" } : {}
        const failure = Cause.failureOption(cause)
        if (Option.isNone(failure)) {
          runner.effect(Effect.logError("a defect while answering", { requestId }, cause), () => {})
        }
        const rendered: Rendered = Option.match(failure, { onSome: render, onNone: () => defect })
        const body = error(rendered, requestId)
        const metadata = Option.isSome(failure) ? state.metadata?.() : undefined
        const ids = { ...requestIdHeaders(requestId), ...(generationId && { [generationIdHeader]: generationId }) }
        return Response.json(metadata === undefined ? body : { ...body, openrouter_metadata: metadata }, {
          status: rendered.status,
          headers: { "content-type": "application/json", ...notSniffed, ...rendered.headers, ...closing, ...ids },
        })
      }

      const handlerOf = <Spoken extends Pick<Form, "error">>(
        protocol: Spoken,
        allow: AllowOrigin,
        respond: Respond<Spoken>,
      ): InferenceHandler => ({
        effect: (request) =>
          Effect.suspend(() => {
            const state = newState()
            const watch = (lifetime: Lifetime) => listen(request, lifetime)
            return Effect.gen(() => respond(protocol, state, request, watch, queuedOutput)).pipe(
              Effect.catchAllCause((cause) => Effect.succeed(refused(protocol, state, cause))),
              Effect.map((response) => allow(request, response)),
              // So that every request is settled. The request's lifetime ends it.
              Effect.uninterruptible,
            )
          }),
        native: (request, isCallerGone) =>
          new Promise((resolve) => {
            const state = newState()
            const watch = (lifetime: Lifetime) => {
              lifetime.isCallerGone = isCallerGone
            }
            runner.steps(respond(protocol, state, request, watch, directOutput), (exit) =>
              resolve(
                closedByStop(
                  inFlight,
                  allow(request, Exit.isSuccess(exit) ? exit.value : refused(protocol, state, exit.cause)),
                ),
              ),
            )
          }),
      })

      const explain = yield* makeExplain
      const explained = makeExplainRoute({ admissions, keys, meter, inFlight, conversations, explain })
      const counted = makeCountRoute({ admissions, inFlight, registry })
      const upgrade = makeUpgradeRoute({ runner, keys, inFlight })
      return {
        handler: (form, allow) => handlerOf(form, allow, respond),
        explainer: (forms, allow) => handlerOf(forms, allow, explained),
        counter: (protocol, allow) => handlerOf(protocol, allow, counted),
        upgrader: (protocol, allow) => handlerOf(protocol, allow, upgrade),
      }
    }),
  )
}

const newState = (): RequestState => ({
  requestId: requestId(),
  lifetime: undefined,
  generationId: undefined,
  metadata: undefined,
})

/** Ends the request when its caller leaves, or at once if it has left already. */
const listen = ({ signal }: Request, lifetime: Lifetime): void => {
  const gone = () => lifetime.end(new CallerGone())
  signal.addEventListener("abort", gone, { once: true })
  // A signal that was aborted before does not fire the event again.
  if (signal.aborted) gone()
}

/** A function outside of the steps: a closure made within a generator keeps all of its variables, the prompt too. */
const leaving = (inFlight: Context.Tag.Service<InFlight>, lifetime: Lifetime) => () => inFlight.leave(lifetime)

/** The metadata for an error. Outside of the steps for the same reason. */
const withoutHost = (shown: ShownRoute, context: RequestContext) => () => routeMetadata(shown, context, undefined)

/** Sets the headers of every answer: the ids, and once a host answers its tag and the dropped members. */
const setHeaders = (
  headers: Headers,
  { requestId, generationId }: RequestContext,
  answering: Pick<Completed, "host" | "dropped"> | undefined,
  { ownNames }: Form,
): void => {
  setRequestId(headers, requestId)
  headers.set(generationIdHeader, generationId)
  if (answering === undefined) return
  const { host, dropped } = answering
  if (isHeaderSafe(host.tag)) headers.set(hostHeader, host.tag)
  if (dropped.length > 0) headers.set(droppedHeader, droppedMembers(dropped, ownNames))
}

/** Characters of the header with the dropped members, and of one name in it. All known names fit. */
const longestDropped = 1000
const longestName = 64

/** Value of the header with the dropped members. Their names may come from the caller: one that is not safe in a header is not written. */
const droppedMembers = (dropped: ReadonlyArray<string>, ownNames: Form["ownNames"]): string => {
  let value = ""
  for (const [at, canonical] of dropped.entries()) {
    const member = ownNames?.get(canonical) ?? canonical
    const name = member.length <= longestName && isHeaderSafe(member) ? member : "unnamed"
    if (value.length + name.length > longestDropped) return `${value}, and ${dropped.length - at} more`
    value += at === 0 ? name : `, ${name}`
  }
  return value
}
