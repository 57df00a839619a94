/**
 * What all client protocols share: authenticate, decode, plan, dispatch, answer. The steps of a request are written
 * once. Bun's native routes run them without a fiber, an embedder's own app runs them as an Effect.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CallerGone, type Failure, NotPermitted, Unavailable } from "../../domain/Failure.ts"
import { generationId, requestId } from "../../domain/Ids.ts"
import type { KeyRecord } from "../../domain/Key.ts"
import type { Plan } from "../../domain/Plan.ts"
import type { ChatRequest } from "../../domain/Request.ts"
import { type Completed, Dispatcher } from "../../services/Dispatcher.ts"
import { InFlight } from "../../services/InFlight.ts"
import { KeyStore } from "../../services/KeyStore.ts"
import { Meter } from "../../services/Meter.ts"
import { ProviderRegistry } from "../../services/ProviderRegistry.ts"
import { type Lifetime, monotonic, RequestContext } from "../../services/RequestContext.ts"
import { RequestLimits } from "../../services/RequestLimits.ts"
import { Router } from "../../services/Router.ts"
import { isFinished, makeStepRunner, type Steps } from "../../services/Steps.ts"
import { directOutput, type OpenOutput, queuedOutput } from "../../services/StreamOutput.ts"
import { Timers } from "../../services/Timers.ts"
import { authenticate } from "../authenticate.ts"
import { parseBody } from "../decode/json.ts"
import { defect, type Rendered, render } from "../ErrorBody.ts"
import {
  attributionText,
  costHeader,
  costValue,
  droppedHeader,
  generationIdHeader,
  hostHeader,
  isHeaderSafe,
  requestIdHeader,
} from "../headers.ts"
import { readRequest } from "../readRequest.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"

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

export class Inference extends Context.Tag("headgate/Inference")<
  Inference,
  { readonly handler: (protocol: ClientProtocol) => InferenceHandler }
>() {
  static readonly layer = Layer.scoped(
    Inference,
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const router = yield* Router
      const meter = yield* Meter
      const dispatcher = yield* Dispatcher
      const inFlight = yield* InFlight
      const timers = yield* Timers
      const registry = yield* ProviderRegistry
      const limits = yield* RequestLimits
      const clock = yield* Effect.clock
      const nowMs = monotonic(clock)
      const runner = makeStepRunner(yield* Effect.runtime<never>())
      yield* keys.onRevoked(inFlight.revoke)

      const contextOf = (requestId: string, key: KeyRecord, lifetime: Lifetime, { headers }: Request) => {
        const admittedAt = clock.unsafeCurrentTimeMillis()
        const attribution = {
          appTitle: attributionText(
            headers.get("x-router-title") ?? headers.get("x-openrouter-title") ?? headers.get("x-title"),
          ),
          appUrl: attributionText(headers.get("http-referer")),
        }
        const id = generationId(Math.floor(admittedAt / 1000), requestId)
        return new RequestContext({ requestId, generationId: id, key, attribution, admittedAt, lifetime }, nowMs)
      }

      const respond = function* (
        protocol: ClientProtocol,
        state: RequestState,
        request: Request,
        output: OpenOutput,
        watchCaller: (lifetime: Lifetime) => void,
      ): Steps<Response, Failure> {
        const lifetime = inFlight.admit()
        if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
        state.lifetime = lifetime
        watchCaller(lifetime)
        const authenticating = authenticate(keys, request.headers)
        const key = yield* authenticating
        if (key.kind !== "ordinary") return yield* Exit.fail(managementKey)
        lifetime.key = key.id
        const limited = limits.admit(key)
        if (limited !== undefined) return yield* Exit.fail(limited)
        const { bodyBytes } = registry.current().limits
        const bytes = yield* readRequest(request, bodyBytes, timers, lifetime)
        const body = yield* parseBody(bytes)
        const asked = pinned(yield* protocol.decode(body, bytes.byteLength), request.headers.get(hostHeader))
        const budgeting = meter.budget({ _tag: "Key", key })
        const plan = yield* router.plan(asked, yield* budgeting, { permissions: key })
        if (!isFinished(authenticating) || !isFinished(budgeting)) lifetime.look()
        const context = contextOf(state.requestId, key, lifetime, request)
        return yield* asked.stream
          ? streamed(protocol, context, asked, plan, output)
          : whole(protocol, context, asked, plan)
      }

      const whole = function* (
        protocol: ClientProtocol,
        context: RequestContext,
        request: ChatRequest,
        plan: Plan,
      ): Steps<Response, Failure> {
        const completed = yield* dispatcher.complete(context, request, plan, protocol.answer(context, request))
        inFlight.leave(context.lifetime)
        const cost = costValue(completed.charge.cost.total)
        const headers = named({ "content-type": "application/json", [costHeader]: cost }, context, completed)
        return new Response(completed.text, { headers })
      }

      const streamed = function* (
        protocol: ClientProtocol,
        context: RequestContext,
        request: ChatRequest,
        plan: Plan,
        output: OpenOutput,
      ): Steps<Response, Failure> {
        const closed = leaving(inFlight, context.lifetime)
        const writerFor = protocol.stream(context, request)
        const { body, answering } = yield* dispatcher.stream(context, request, plan, writerFor, output, closed)
        // From here on the stream itself reports that its reader has left.
        context.lifetime.isCallerGone = undefined
        const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" }
        return new Response(body, { headers: named(headers, context, answering) })
      }

      const refused = (protocol: ClientProtocol, state: RequestState, cause: Cause.Cause<Failure>): Response => {
        const { requestId, lifetime } = state
        if (lifetime !== undefined) inFlight.leave(lifetime)
        const failure = Cause.failureOption(cause)
        if (Option.isNone(failure)) {
          runner.effect(Effect.logError("a defect while answering", { requestId }, cause), () => {})
        }
        const rendered: Rendered = Option.match(failure, { onSome: render, onNone: () => defect })
        return Response.json(protocol.error(rendered, requestId), {
          status: rendered.status,
          headers: { "content-type": "application/json", ...rendered.headers, [requestIdHeader]: requestId },
        })
      }

      return {
        handler: (protocol) => ({
          effect: (request) =>
            Effect.suspend(() => {
              const state = newState()
              // Not interruptible, so that every request is settled. The request's lifetime ends it.
              return Effect.uninterruptible(
                Effect.catchAllCause(
                  Effect.gen(() =>
                    respond(protocol, state, request, queuedOutput, (lifetime) => listen(request, lifetime)),
                  ),
                  (cause) => Effect.succeed(refused(protocol, state, cause)),
                ),
              )
            }),
          native: (request, isCallerGone) =>
            new Promise((resolve) => {
              const state = newState()
              const watch = (lifetime: Lifetime) => {
                lifetime.isCallerGone = isCallerGone
              }
              runner.steps(respond(protocol, state, request, directOutput, watch), (exit) =>
                resolve(Exit.isSuccess(exit) ? exit.value : refused(protocol, state, exit.cause)),
              )
            }),
        }),
      }
    }),
  )
}

/** State of one request, from its first byte on. */
interface RequestState {
  readonly requestId: string
  /** Set at admission. */
  lifetime: Lifetime | undefined
}

const newState = (): RequestState => ({ requestId: requestId(), lifetime: undefined })

/** Ends the request when its caller leaves, or at once if it has left already. */
const listen = ({ signal }: Request, lifetime: Lifetime): void => {
  const gone = () => lifetime.end(new CallerGone())
  signal.addEventListener("abort", gone, { once: true })
  // A signal that was aborted before does not fire the event again.
  if (signal.aborted) gone()
}

/** A function outside of the steps: a closure made within a generator keeps all of its variables, the prompt too. */
const leaving = (inFlight: Context.Tag.Service<InFlight>, lifetime: Lifetime) => () => inFlight.leave(lifetime)

const managementKey = new NotPermitted({ rule: "Management keys cannot call models: use an ordinary key." })

/** Applies `X-GW-Host`, which pins one host in place of the body's order. */
const pinned = (request: ChatRequest, tag: string | null): ChatRequest => {
  if (tag === null || tag === "") return request
  const { routing } = request
  const preferences = { ...routing.preferences, only: [tag], order: [], allowFallbacks: false }
  return { ...request, routing: { ...routing, preferences } }
}

/** Adds the headers of every answer: the ids, and once a host answers its tag and the dropped members. */
const named = (
  headers: Record<string, string>,
  { requestId, generationId }: RequestContext,
  answering: Pick<Completed, "host" | "dropped"> | undefined,
): Record<string, string> => {
  headers[requestIdHeader] = requestId
  headers[generationIdHeader] = generationId
  if (answering === undefined) return headers
  const { host, dropped } = answering
  if (isHeaderSafe(host.tag)) headers[hostHeader] = host.tag
  if (dropped.length > 0) headers[droppedHeader] = droppedMembers(dropped)
  return headers
}

/**
 * Value of the header with the dropped members. Their names come from the caller, so they are written only if all of
 * them are safe in a header.
 */
const droppedMembers = (dropped: ReadonlyArray<string>): string => {
  const value = dropped.join(", ").slice(0, 200)
  return isHeaderSafe(value) ? value : "unnamed"
}
