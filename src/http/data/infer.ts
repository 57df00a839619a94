/** The steps of a request to a model, in any form: admitted, planned, then carried out and answered as a whole or as a stream. */
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { Failure } from "../../domain/failures/Failure.ts"
import { generationId } from "../../domain/Ids.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { type ConversationRecord, conversationOf } from "../../services/request/Conversations.ts"
import type { Claim } from "../../services/request/Idempotency.ts"
import { RequestContext } from "../../services/request/RequestContext.ts"
import { isFinished, type Steps, unwrap } from "../../services/request/Steps.ts"
import { attributionText, callerRequestId } from "../headers.ts"
import { type Admitted, admit, type Repeatable, type Terms } from "./admit.ts"
import type { DataRequest, DataRoute } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Asked, Form } from "./Form.ts"
import { onlyOnce } from "./onlyOnce.ts"
import { routeMetadata, type ShownRoute, wantsMetadata } from "./routeMetadata.ts"
import { streamed } from "./streamed.ts"
import { whole } from "./whole.ts"

type AdmittedForm = Admitted<Asked, Form>

/** The route of a form. */
export const inference = (form: Form): DataRoute => {
  const asked = Exit.succeed(form)
  const terms: Terms<Asked, Form> = { kinds: "ordinary", isCounted: true, isPaid: true, asked: () => asked }
  return { error: form.error, respond: (services, request) => infer(services, request, terms) }
}

const infer = function* (
  services: DataServices,
  request: DataRequest,
  terms: Terms<Asked, Form>,
): Steps<Response, Failure> {
  const admitted = yield* admit(services, request, terms)
  const { repeatable } = admitted
  return yield* repeatable === undefined
    ? answer(services, request, admitted, undefined)
    : answerOnce(services, request, admitted, repeatable)
}

const answerOnce = (
  services: DataServices,
  request: DataRequest,
  admitted: AdmittedForm,
  { value, bytes }: Repeatable,
): Steps<Response, Failure> => {
  const { key, lifetime, asked, content } = admitted
  const { stream, routing } = content.request
  const repeatable = {
    ...{ key: key.id, route: asked.name, value, body: bytes, requestId: request.requestId },
    mayKeepAnswer: !stream && !routing.preferences.zeroDataRetention,
  }
  return onlyOnce(services, repeatable, lifetime, (claim) => answer(services, request, admitted, claim))
}

const answer = function* (
  services: DataServices,
  request: DataRequest,
  { asked: form, content: asked, key, lifetime }: AdmittedForm,
  claim: Claim | undefined,
): Steps<Response, Failure> {
  const { meter, conversations, router } = services
  const budgeting = meter.budget({ _tag: "Key", key })
  const conversation = conversationOf(conversations, key.id, asked.request)
  const budget = yield* unwrap(budgeting)
  const plan = yield* unwrap(router.plan(asked.request, budget, { conversation, permissions: key, key: key.id }))
  if (!isFinished(budgeting)) lifetime.look()
  const context = contextOf(services, request, { form, key, lifetime }, asked.request, plan, conversation?.record())
  if (claim !== undefined) {
    claim.context = context
    context.isOnce = true
  }
  request.generationId = context.generationId
  const shown = wantsMetadata(request.http.headers) ? shownOf(services, asked.request, plan) : undefined
  if (shown !== undefined) request.metadata = withoutHost(shown, context)
  const planned = { form, context, asked, plan, shown, claim }
  const writerFor = asked.request.stream ? asked.stream?.(context, shown) : undefined
  return yield* asked.request.stream && writerFor !== undefined
    ? streamed(services, planned, asked.request, writerFor, request.output)
    : whole(services, planned)
}

const contextOf = (
  { clock, nowMs }: DataServices,
  { requestId, http: { headers } }: DataRequest,
  { form, key, lifetime }: Pick<RequestContext, "key" | "lifetime"> & { readonly form: Form },
  { operation }: AnyRequest,
  plan: Plan,
  conversation: ConversationRecord | undefined,
): RequestContext => {
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

const shownOf = ({ registry }: DataServices, { routing }: AnyRequest, plan: Plan): ShownRoute => {
  const [requested = ""] = routing.models
  const resolved = registry.resolve(requested)
  return { requested, model: Either.isRight(resolved) ? resolved.right.model.id : requested, plan }
}

/** The metadata for an error. Outside of the steps: a closure made within a generator keeps all of its variables, the prompt too. */
const withoutHost = (shown: ShownRoute, context: RequestContext) => () => routeMetadata(shown, context, undefined)
