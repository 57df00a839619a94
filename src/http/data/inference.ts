/**
 * What all forms of inference share: who is it, what is asked, which host, call, answer. `Request → Effect<Response>`,
 * mounted on Bun's native routes and in an embedder's own app alike. Architecture, the way of one request.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ChatRequest } from "../../domain/Chat.ts"
import { type BadRequest, CallerGone, type Failure, NotPermitted } from "../../domain/Failure.ts"
import { generationId, requestId } from "../../domain/Ids.ts"
import type { JsonObject } from "../../domain/Json.ts"
import type { KeyRecord } from "../../domain/Key.ts"
import type { Plan } from "../../domain/Plan.ts"
import { Alarms } from "../../services/Alarms.ts"
import { Call, monotonic } from "../../services/Call.ts"
import { type Completed, Dispatcher } from "../../services/Dispatcher.ts"
import { InFlight } from "../../services/InFlight.ts"
import { KeyStore } from "../../services/KeyStore.ts"
import { Relay } from "../../services/Relay.ts"
import { Router } from "../../services/Router.ts"
import type { WriterFor } from "../../services/StreamBody.ts"
import { authenticate } from "../authenticate.ts"
import { parseBody } from "../decode/json.ts"
import { defect, type Rendered, render } from "../ErrorBody.ts"
import {
  attributionText,
  costHeader,
  costValue,
  generationIdHeader,
  hostHeader,
  isHeaderSafe,
  requestIdHeader,
} from "../headers.ts"
import { readRequest } from "../readRequest.ts"

/** One of the forms in which a caller may ask: how it is read, and how answers and errors look in it. */
export interface ClientForm {
  readonly decode: (body: JsonObject, bytes: number) => Either.Either<ChatRequest, BadRequest>
  readonly whole: (call: Call, request: ChatRequest, completed: Completed) => string
  readonly writer: (call: Call, request: ChatRequest) => WriterFor
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
}

/** Every failure is an answer: none is left to whoever mounts it. */
export type InferenceHandler = (request: Request) => Effect.Effect<Response>

export interface InferenceOptions {
  readonly bodyBytes: number
}

export class Inference extends Context.Tag("headgate/Inference")<
  Inference,
  { readonly handler: (form: ClientForm) => InferenceHandler }
>() {
  static readonly layer = ({ bodyBytes }: InferenceOptions) =>
    Layer.effect(
      Inference,
      Effect.gen(function* () {
        const keys = yield* KeyStore
        const router = yield* Router
        const dispatcher = yield* Dispatcher
        const relay = yield* Relay
        const inFlight = yield* InFlight
        const alarms = yield* Alarms
        const clock = yield* Effect.clock
        const monotonicMs = monotonic(clock)

        const callOf = (id: string, key: KeyRecord, { headers }: Request): Call => {
          const admittedAt = clock.unsafeCurrentTimeMillis()
          const facts = {
            requestId: id,
            generationId: generationId(Math.floor(admittedAt / 1000), id),
            key,
            attribution: {
              appTitle: attributionText(
                headers.get("x-router-title") ?? headers.get("x-openrouter-title") ?? headers.get("x-title"),
              ),
              appUrl: attributionText(headers.get("http-referer")),
            },
            admittedAt,
          }
          return new Call(facts, monotonicMs)
        }

        const stream = (form: ClientForm, call: Call, request: ChatRequest, plan: Plan) =>
          Effect.map(
            relay.stream(call, request, plan, form.writer(call, request)),
            ({ body, host }) =>
              new Response(body, {
                headers: {
                  "content-type": "text/event-stream",
                  "cache-control": "no-cache",
                  ...answerHeaders(call, host?.tag),
                },
              }),
          )

        const whole = (form: ClientForm, call: Call, request: ChatRequest, plan: Plan) =>
          Effect.map(dispatcher.complete(call, request, plan), (completed) => {
            inFlight.leave(call)
            return new Response(form.whole(call, request, completed), {
              headers: {
                "content-type": "application/json",
                [costHeader]: costValue(completed.charge.cost.total),
                ...answerHeaders(call, completed.host.tag),
              },
            })
          })

        const answer = Effect.fnUntraced(function* (form: ClientForm, visit: Visit, request: Request) {
          const refusal = inFlight.admit()
          if (refusal !== undefined) return yield* refusal
          visit.admitted = true
          const key = yield* authenticate(keys, request.headers)
          if (key.kind !== "ordinary") return yield* managementKey
          const bytes = yield* readRequest(request, bodyBytes, alarms)
          const asked = yield* Either.flatMap(parseBody(bytes), (body) => form.decode(body, bytes.byteLength))
          const chat = pinned(asked, request.headers.get(hostHeader))
          const plan = yield* router.plan(chat)
          const call = callOf(visit.requestId, key, request)
          visit.call = call
          request.signal.addEventListener("abort", () => call.end(new CallerGone()), { once: true })
          // Nobody is told twice: who left while the body was read is gone already.
          if (request.signal.aborted) call.end(new CallerGone())
          inFlight.enter(call)
          return yield* chat.stream ? stream(form, call, chat, plan) : whole(form, call, chat, plan)
        })

        const refused = (form: ClientForm, { requestId, admitted, call }: Visit, cause: Cause.Cause<Failure>) => {
          if (admitted) inFlight.leave(call)
          const respond = (rendered: Rendered) =>
            Response.json(form.error(rendered, requestId), {
              status: rendered.status,
              headers: { "content-type": "application/json", ...rendered.headers, [requestIdHeader]: requestId },
            })
          return Option.match(Cause.failureOption(cause), {
            onSome: (failure) => Effect.succeed(respond(render(failure))),
            onNone: () => Effect.as(Effect.logError("a defect while answering", { requestId }, cause), respond(defect)),
          })
        }

        return {
          handler: (form) => (request) =>
            Effect.suspend(() => {
              const visit: Visit = { requestId: requestId(), admitted: false, call: undefined }
              // Not interruptible: what was begun is settled, whoever mounted us; the call itself is ended by its signal.
              return Effect.uninterruptible(
                Effect.catchAllCause(answer(form, visit, request), (cause) => refused(form, visit, cause)),
              )
            }),
        }
      }),
    )
}

/** One request from its first byte: it has a name before anything is known of it. */
interface Visit {
  readonly requestId: string
  /** It has a place (`InFlight`). */
  admitted: boolean
  call: Call | undefined
}

const managementKey = new NotPermitted({ rule: "Management keys cannot call models: use an ordinary key." })

/** `X-GW-Host` in a request pins one host, whatever order the body asks for. Settled points. */
const pinned = (request: ChatRequest, tag: string | null): ChatRequest =>
  tag === null || tag === ""
    ? request
    : { ...request, preferences: { ...request.preferences, only: [tag], order: [], allowFallbacks: false } }

const answerHeaders = (call: Call, tag: string | undefined) => ({
  [requestIdHeader]: call.requestId,
  [generationIdHeader]: call.generationId,
  ...(tag !== undefined && isHeaderSafe(tag) ? { [hostHeader]: tag } : {}),
})
