/** A request to a model, in any form: admitted, planned, then carried out and answered as a whole or as a stream. */
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/failures/Failure.ts"
import { generationId } from "../../domain/ids.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { callerOf } from "../../domain/keys/key.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import { type FormRoute, routeName } from "../../domain/request/forms.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { userOf } from "../../domain/request/userHash.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { routedOf } from "../../domain/routing/routed.ts"
import type { BodyPieces } from "../../formats/AnswerWriter.ts"
import type { WriterFor } from "../../formats/StreamWriter.ts"
import { pathIn } from "../../formats/Target.ts"
import type { StreamHead } from "../../services/dispatch/StreamOpening.ts"
import type { Completed } from "../../services/dispatch/WholeAnswer.ts"
import { type Conversation, conversationOf } from "../../services/request/Conversations.ts"
import { Claim, type KeptAnswer } from "../../services/request/Idempotency.ts"
import { RequestContext } from "../../services/request/RequestContext.ts"
import type { EndFailure, ServedRequest } from "../../services/request/ServedRequest.ts"
import { isGoogles } from "../dataPaths.ts"
import {
  callerRequestId,
  costHeader,
  costValue,
  idempotencyStatusHeader,
  replayedHeader,
  requestIdHeaders,
} from "../headers.ts"
import { setAnswerHeaders } from "./answerHeaders.ts"
import { attributionOf, DataRequest, type DataRoute, type Incoming } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Asked, Form } from "./Form.ts"
import { idempotencyKeyOf } from "./idempotencyKeyOf.ts"
import { isLongBody, LongAnswer } from "./LongAnswer.ts"
import { routeMetadata, type ShownRoute, wantsMetadata } from "./routeMetadata.ts"

/** The route of a form, at this path. */
export const modelRoute = ({ method, path }: FormRoute, form: Form): DataRoute => {
  const route: DataRoute = {
    ...{ name: routeName(method, path), path, form: form.name, error: form.error },
    takesGoogleKeys: isGoogles(path),
    receive: (services, incoming) => new ModelRequest(services, route, incoming, form),
  }
  return route
}

class ModelRequest extends DataRequest<Asked> {
  private readonly form: Form
  /** The value of its `Idempotency-Key`; `null`: it has none. */
  private repeatedBy: string | null = null
  /** Of the body. Kept for an `Idempotency-Key` alone: they would be in memory twice. */
  private bytes: Uint8Array | undefined
  private conversation: Conversation | undefined
  /** The routing, for callers who ask for it. */
  private shown: ShownRoute | undefined
  // Each is set by the step that finds it out, and read by later ones only.
  private asked!: Asked
  private context!: RequestContext

  constructor(services: DataServices, route: DataRoute, incoming: Incoming, form: Form) {
    super(services, route, incoming)
    this.form = form
  }

  protected override withinLimits(): void {
    const value = idempotencyKeyOf(this.incoming.http.headers)
    if (value instanceof BadRequest) this.fail(value)
    else {
      this.repeatedBy = value
      this.receive(this.form.body)
    }
  }

  protected override received(bytes: Uint8Array): void {
    if (this.repeatedBy !== null) this.bytes = bytes
    this.decode(bytes)
  }

  protected override admitted(asked: Asked): void {
    this.asked = asked
    const { observed } = this.served
    this.served.models = asked.request.routing.models
    this.served.isStreamed = asked.request.stream
    if (observed !== undefined) {
      observed.isStreamed = asked.request.stream
      observed.user = userOf(asked.request)
      if (observed.trace !== null) this.services.traces.name(observed.trace, asked.trace)
    }
    const { repeatedBy, bytes } = this
    this.bytes = undefined
    if (repeatedBy === null || bytes === undefined) this.askBudget()
    else this.claim(repeatedBy, bytes)
  }

  /** A request with an `Idempotency-Key` is carried out once. See `services/request/Idempotency.ts`. */
  private claim(value: string, body: Uint8Array): void {
    const { served, route, key, target } = this
    const { stream, routing } = this.asked.request
    const repeatable = {
      ...{
        key: key.id,
        route: target.parameter === undefined ? (served.form ?? route.name) : pathIn(this.incoming.http.url),
        value,
        body,
        requestId: served.requestId,
      },
      mayKeepAnswer: !stream && !routing.preferences.zeroDataRetention,
    }
    this.after(this.services.idempotency.begin(repeatable), this.claimed)
  }

  /** The first such request holds the claim to its end. Any other gets the answer of the first one. */
  private claimed(begun: Claim | KeptAnswer): void {
    const { served, lifetime } = this
    if (begun instanceof Claim) {
      served.claim = begun
      lifetime.look()
      this.askBudget()
      return
    }
    const headers = { ...begun.headers, ...requestIdHeaders(served.requestId), [replayedHeader]: "true" }
    this.succeed(this.answer(begun.body, { headers }))
  }

  private askBudget(): void {
    this.conversation = conversationOf(this.services.conversations, this.key.id, this.asked.request)
    this.ask(this.budgetOf(this.key), this.plan)
  }

  private plan(budget: BudgetSnapshot): void {
    const { key, conversation, asked } = this
    const options = { conversation, permissions: key, key: key.id, caller: callerOf(key) }
    this.after(this.services.router.plan(asked.request, budget, options), this.carryOut)
  }

  private carryOut(plan: Plan): void {
    const { asked, served } = this
    const { request } = asked
    const context = this.contextOf(plan)
    this.context = context
    served.context = context
    if (wantsMetadata(this.incoming.http.headers)) this.shown = this.shownOf(plan)
    const writerFor = request.stream ? asked.stream?.(context, this.shown, this.target) : undefined
    if (request.stream && writerFor !== undefined) this.open(request, plan, writerFor)
    else {
      const reader = asked.answer(context, this.shown, this.target)
      this.after(this.services.dispatcher.complete(context, request, plan, reader), this.completed)
    }
  }

  private completed(completed: Completed): void {
    const { served, form, context } = this
    const { body, contentType = "application/json", charge } = completed
    const response = isLongBody(body) ? this.longAnswer(body) : this.answer(body)
    const { headers } = response
    headers.set("content-type", contentType)
    headers.set(costHeader, costValue(charge.cost.total))
    setAnswerHeaders(headers, context, completed, form)
    if (served.claim !== undefined) {
      // Binary answers are not kept.
      if (typeof body === "string") served.kept = { headers: Object.fromEntries(headers), body }
      this.tellIfNotKept(served.claim, served.kept, headers)
    }
    this.succeed(response)
  }

  private tellIfNotKept(claim: Claim, answer: KeptAnswer | undefined, headers: Headers): void {
    const isKept = answer !== undefined && this.services.idempotency.keeps(claim, answer)
    if (!isKept) headers.set(idempotencyStatusHeader, "not-kept")
  }

  /** Ends the request once the client has the whole answer: its bytes count until then. */
  private longAnswer(body: string | BodyPieces): Response {
    const { services, served, lifetime } = this
    const { observed } = served
    const { clientStallMs } = services.registry.current().limits
    this.isStreamed = true
    observed?.findAddress()
    observed?.wroteFirst()
    const end = ending(services, served)
    const answer = new LongAnswer(body, {
      timers: services.timers,
      open: this.incoming.output,
      stallMs: clientStallMs,
      onDefect: (cause) => this.logDefect(Cause.die(cause)),
      onClosed: (failure, bytes) => {
        lifetime.forget(answer.cut)
        observed?.wroteLast(bytes)
        end(failure)
      },
    })
    // From here on, the output itself reports when its reader leaves.
    lifetime.isCallerGone = undefined
    lifetime.onEnd(answer.cut)
    for (const held of lifetime.answers) held.cut = answer.cut
    return new Response(answer.body)
  }

  private open(request: ChatRequest, plan: Plan, writerFor: WriterFor): void {
    const { services, served, context } = this
    const target = { writerFor, open: this.incoming.output, onClosed: ending(services, served) }
    this.after(services.dispatcher.stream(context, request, plan, target), this.opened)
  }

  private opened({ body, answering }: StreamHead): void {
    const { context, form, lifetime } = this
    this.isStreamed = true
    this.served.observed?.findAddress()
    // From here on the stream itself reports that its reader has left.
    lifetime.isCallerGone = undefined
    const response = new Response(body)
    response.headers.set("content-type", this.asked.streamType?.(this.target) ?? "text/event-stream")
    response.headers.set("cache-control", "no-cache")
    setAnswerHeaders(response.headers, context, answering, form)
    if (this.served.claim !== undefined) this.tellIfNotKept(this.served.claim, undefined, response.headers)
    this.succeed(response)
  }

  override metadata(): JsonObject | undefined {
    return this.shown === undefined ? undefined : routeMetadata(this.shown, this.context, undefined)
  }

  private contextOf(plan: Plan): RequestContext {
    const { clock, nowMs } = this.services
    const { requestId, observed, claim } = this.served
    const { headers } = this.incoming.http
    const admittedAt = clock.unsafeCurrentTimeMillis()
    const facts = {
      requestId,
      generationId: generationId(Math.floor(admittedAt / 1000), requestId),
      key: this.key,
      callerRequestId: observed?.callerRequestId ?? callerRequestId(headers),
      user: userOf(this.asked.request) ?? "",
      attribution: observed?.app ?? attributionOf(headers),
      admittedAt,
      lifetime: this.lifetime,
      form: this.form.name,
      operation: this.asked.request.operation,
      models: plan.requested,
      strategy: plan.strategy,
      seed: plan.seed,
      routed: routedOf(plan),
      conversation: this.conversation?.record(),
      observed,
    }
    const context = new RequestContext(facts, nowMs)
    if (claim !== undefined) {
      claim.context = context
      context.isOnce = true
    }
    return context
  }

  private shownOf(plan: Plan): ShownRoute {
    const [requested = ""] = this.asked.request.routing.models
    const resolved = this.services.registry.resolve(requested)
    return { requested, model: Either.isRight(resolved) ? resolved.right.model.id : requested, plan }
  }
}

/** Ends the request when its stream is over. Not a method: a running stream must not keep the prompt, which the request has. */
const ending =
  ({ ends, runner }: DataServices, served: ServedRequest) =>
  (failure?: EndFailure): void => {
    runner.run(ends.end(served, 200, failure), () => {})
  }
