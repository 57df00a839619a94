/** The steps of a request to a model, in any form: admitted, planned, then carried out and answered as a whole or as a stream. */
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { Failure } from "../../domain/failures/Failure.ts"
import { generationId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { type ConversationRecord, conversationOf } from "../../services/request/Conversations.ts"
import type { IdempotentRequest } from "../../services/request/Idempotency.ts"
import { RequestContext } from "../../services/request/RequestContext.ts"
import { isFinished, type Steps, unwrap } from "../../services/request/Steps.ts"
import { callerRequestId } from "../headers.ts"
import { admit, type Repeatable, type Terms } from "./admit.ts"
import { attributionOf, type DataRequest, type DataRoute } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"
import type { Asked, Form } from "./Form.ts"
import { claimOf } from "./onlyOnce.ts"
import { routeMetadata, type ShownRoute, wantsMetadata } from "./routeMetadata.ts"
import { streamed } from "./streamed.ts"
import { whole } from "./whole.ts"

/** The route of a form, at this path. */
export const inference = (path: string, form: Form): DataRoute => {
  const asked = Exit.succeed(form)
  const terms: Terms<Asked, Form> = { kinds: "ordinary", isCounted: true, isPaid: true, asked: () => asked }
  return {
    ...{ name: `POST ${path}`, form: form.name, error: form.error },
    respond: (services, request) => infer(services, request, terms),
  }
}

const infer = function* (
  services: DataServices,
  request: DataRequest,
  terms: Terms<Asked, Form>,
): Steps<Response, Failure> {
  const { key, lifetime, asked: form, content: asked, repeatable } = yield* admit(services, request, terms)
  request.served.models = asked.request.routing.models
  if (repeatable !== undefined) {
    const replayed = yield* claimOf(services, request, idempotentOf(request, key, asked, repeatable))
    if (replayed !== undefined) return replayed
  }
  const { meter, conversations, router } = services
  const budgeting = meter.budget({ _tag: "Key", key })
  const conversation = conversationOf(conversations, key.id, asked.request)
  const budget = yield* unwrap(budgeting)
  const plan = yield* unwrap(router.plan(asked.request, budget, { conversation, permissions: key, key: key.id }))
  if (!isFinished(budgeting)) lifetime.look()
  const context = contextOf(services, request, { form, key, lifetime }, asked.request, plan, conversation?.record())
  request.served.context = context
  const shown = wantsMetadata(request.http.headers) ? shownOf(services, asked.request, plan) : undefined
  if (shown !== undefined) request.metadata = withoutHost(shown, context)
  const planned = { form, context, asked, plan, shown }
  const writerFor = asked.request.stream ? asked.stream?.(context, shown) : undefined
  return yield* asked.request.stream && writerFor !== undefined
    ? streamed(services, request, planned, asked.request, writerFor)
    : whole(services, request, planned)
}

const idempotentOf = (
  { route, served }: DataRequest,
  key: KeyRecord,
  { request: { stream, routing } }: Asked,
  { value, bytes }: Repeatable,
): IdempotentRequest => ({
  ...{ key: key.id, route: served.form ?? route.name, value, body: bytes, requestId: served.requestId },
  mayKeepAnswer: !stream && !routing.preferences.zeroDataRetention,
})

const contextOf = (
  { clock, nowMs }: DataServices,
  { served, http: { headers } }: DataRequest,
  { form, key, lifetime }: Pick<RequestContext, "key" | "lifetime"> & { readonly form: Form },
  { operation }: AnyRequest,
  plan: Plan,
  conversation: ConversationRecord | undefined,
): RequestContext => {
  const { requestId, observed, claim } = served
  const admittedAt = clock.unsafeCurrentTimeMillis()
  const facts = {
    requestId,
    generationId: generationId(Math.floor(admittedAt / 1000), requestId),
    key,
    callerRequestId: callerRequestId(headers),
    attribution: observed?.app ?? attributionOf(headers),
    admittedAt,
    lifetime,
    form: form.name,
    operation,
    models: plan.requested,
    strategy: plan.strategy,
    seed: plan.seed,
    conversation,
    observed,
  }
  const context = new RequestContext(facts, nowMs)
  if (claim !== undefined) {
    claim.context = context
    context.isOnce = true
  }
  return context
}

const shownOf = ({ registry }: DataServices, { routing }: AnyRequest, plan: Plan): ShownRoute => {
  const [requested = ""] = routing.models
  const resolved = registry.resolve(requested)
  return { requested, model: Either.isRight(resolved) ? resolved.right.model.id : requested, plan }
}

/** The metadata for an error. Outside of the steps: a closure made within a generator keeps all of its variables, the prompt too. */
const withoutHost = (shown: ShownRoute, context: RequestContext) => () => routeMetadata(shown, context, undefined)
