/**
 * The corridor: carries a plan out. Reserves, calls, falls back before the first event, hands the outcome to the
 * meter. Knows no provider's wire form and no caller's. Architecture, services; G5, G10, G11, G14.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Charge } from "../domain/Charge.ts"
import type { ChatRequest, ChatResponse } from "../domain/Chat.ts"
import { bytesSaid } from "../domain/Estimate.ts"
import {
  type FailedAttempt,
  HostFailed,
  type PaymentRequired,
  type RoutingExhausted,
  type Unavailable,
} from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { Plan } from "../domain/Plan.ts"
import { parseUsage } from "../domain/Usage.ts"
import { dialFunction, type ReadAnswer, Upstream, type UpstreamCall } from "../plugin/Upstream.ts"
import { type ChunkWriter, HostStream } from "../wire/hostStream.ts"
import { isTooDeep } from "../wire/jsonDepth.ts"
import { Alarms } from "./Alarms.ts"
import type { Call, Ending } from "./Call.ts"
import { blame, type Cooldowns, exhausted, withoutSecret } from "./exhausted.ts"
import { HostStats } from "./HostStats.ts"
import { type Hold, Meter } from "./Meter.ts"
import { type Endpoint, ProviderRegistry } from "./ProviderRegistry.ts"
import { readStart, readText } from "./readBody.ts"

export interface DispatcherOptions {
  /** To the first event of a stream; a provider may have its own. */
  readonly ttfbMs: number
  /** The largest whole answer of a host, bytes. */
  readonly answerBytes: number
  readonly cooldowns: Cooldowns
}

/** A whole answer, paid for and in the ledger. */
export interface Completed {
  readonly host: Host
  readonly response: ChatResponse
  readonly charge: Charge
}

/** What is used of a web stream's reader. */
export type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">

/** A stream that has begun: no other host takes over from here. */
export interface Opened {
  readonly host: Host
  readonly hold: Hold
  readonly stream: HostStream
  /** The provider's key: for nobody's eyes. */
  readonly secret: string | undefined
  readonly reader: BodyReader
  /** What the first events gave the caller. */
  readonly text: string
  /** Milliseconds since admission. */
  readonly latencyMs: number
}

export type DispatchFailure = RoutingExhausted | PaymentRequired | Ending

export class Dispatcher extends Context.Tag("headgate/Dispatcher")<
  Dispatcher,
  {
    /** Succeeds when the answer is paid for. */
    readonly complete: (call: Call, request: ChatRequest, plan: Plan) => Effect.Effect<Completed, DispatchFailure>
    /** Succeeds with the first event. The rest, and its settlement, are `Relay`'s. `writer` is asked for anew at each attempt. */
    readonly open: (
      call: Call,
      request: ChatRequest,
      plan: Plan,
      writer: (host: Host) => ChunkWriter,
    ) => Effect.Effect<Opened, DispatchFailure>
    /** Milliseconds since the call was admitted. */
    readonly elapsed: (call: Call) => number
  }
>() {
  static readonly layer = (options: DispatcherOptions) =>
    Layer.effect(
      Dispatcher,
      Effect.gen(function* () {
        const registry = yield* ProviderRegistry
        const upstream = yield* Upstream
        const meter = yield* Meter
        const stats = yield* HostStats
        const alarms = yield* Alarms
        const clock = yield* Effect.clock
        const elapsed = (call: Call) => Number(clock.unsafeCurrentTimeNanos()) / 1e6 - call.startedAt

        /** Calls a host and reads its answer; any status but 200 is a failure that the plugin explains. */
        const dial = <A>(call: Call, endpoint: Endpoint, request: ChatRequest, read: ReadAnswer<A>) => {
          const { answer, error } = endpoint.provider
          const upstreamCall = callTo(endpoint, request, call.attempt())
          const accepted = async (response: Response): Promise<A> => {
            if (response.status === 200) return read(response)
            throw error(response.status, response.headers, parsed(await readStart(response, longestErrorBody)))
          }
          return answer === undefined
            ? upstream.dial(upstreamCall, accepted)
            : dialFunction(answer, upstreamCall, accepted)
        }

        const completeAt = (call: Call, endpoint: Endpoint, request: ChatRequest) =>
          dial(call, endpoint, request, async (response) => {
            const body = parsed(await readText(response, options.answerBytes))
            const answer = endpoint.form.response(body, request, endpoint.host)
            if (answer instanceof HostFailed) throw answer
            return answer
          })

        /** A streamed request answered by no stream: most likely an error that came with 200. Else it is read as the stream it may be. */
        const unstreamed = async (response: Response, endpoint: Endpoint, request: ChatRequest) => {
          const text = await readText(response, options.answerBytes)
          const answer = endpoint.form.response(parsed(text), request, endpoint.host)
          if (answer instanceof HostFailed && answer.reason !== "malformed") throw answer
          return new Response(text)
        }

        const openAt = (call: Call, endpoint: Endpoint, request: ChatRequest, hold: Hold, writer: ChunkWriter) =>
          Effect.suspend(() => {
            const silence = alarms.set(endpoint.ttfbMs ?? options.ttfbMs, () =>
              call.hangUp(new HostFailed({ reason: "timeout" })),
            )
            return Effect.ensuring(firstEvent(call, endpoint, request, hold, writer), Effect.sync(silence.clear))
          })

        const firstEvent = Effect.fnUntraced(function* (
          call: Call,
          endpoint: Endpoint,
          request: ChatRequest,
          hold: Hold,
          writer: ChunkWriter,
        ) {
          const { body } = yield* dial(call, endpoint, request, (response) =>
            isJson(response) ? unstreamed(response, endpoint, request) : response,
          )
          if (body === null) return yield* new HostFailed({ reason: "malformed" })
          const reader: BodyReader = body.getReader()
          // The signal ends a body of the network; one of this process may not know of it.
          call.whenHungUp(() => reader.cancel().catch(() => {}))
          const stream = new HostStream({
            decoder: endpoint.form.decoder(request, endpoint.host),
            writer,
            transparent: endpoint.form.transparent === true,
            excludeReasoning: request.excludeReasoning,
          })
          let text = ""
          while (stream.state === "silent") {
            const next = yield* read(reader)
            text += next.done ? stream.end() : stream.push(next.value)
          }
          if (stream.failure !== undefined) {
            reader.cancel().catch(() => {})
            return yield* stream.failure
          }
          const { host, secret } = endpoint
          return { host, secret, hold, stream, reader, text, latencyMs: elapsed(call) }
        })

        /** Tries the hosts of a plan one after another until one has an answer. */
        const walk = Effect.fnUntraced(function* <A>(
          call: Call,
          request: ChatRequest,
          plan: Plan,
          attempt: (endpoint: Endpoint, request: ChatRequest, hold: Hold) => Effect.Effect<A, HostFailed>,
        ) {
          const failed: Array<FailedAttempt> = []
          const spoiled = new Set<string>()
          let unaffordable: PaymentRequired | Unavailable | undefined
          let coolingMs: number | undefined
          for (const host of plan.attempts) {
            const endpoint = registry.endpoint(host)
            if (endpoint === undefined || spoiled.has(host.model)) continue
            const wait = stats.coolingFor(host)
            if (wait > 0) {
              coolingMs = Math.min(coolingMs ?? wait, wait)
              continue
            }
            const reserved = yield* Effect.either(meter.reserve(call, request, host))
            if (Either.isLeft(reserved)) {
              unaffordable = reserved.left
              continue
            }
            const hold = reserved.right
            // Who left before this host was asked does not pay for it.
            if (call.ending !== undefined) {
              meter.release(hold)
              break
            }
            const result = yield* Effect.exit(Effect.suspend(() => attempt(endpoint, within(request, hold), hold)))
            if (Exit.isSuccess(result)) return { host, hold, answer: result.value }
            const wrong = Cause.failureOrCause(result.cause)
            if (Either.isRight(wrong)) {
              meter.release(hold)
              return yield* Effect.failCause(wrong.right)
            }
            if (call.ending !== undefined) {
              yield* abandoned(call, request, hold)
              break
            }
            meter.release(hold)
            const failure = withoutSecret(call.hungUp ?? wrong.left, endpoint.secret)
            failed.push({ provider: host.providerName, host: host.tag, model: host.model, failure })
            blame(stats, host, failure, options.cooldowns)
            // Another host would find the same fault with the request; another model may not.
            if (failure.reason === "request") spoiled.add(host.model)
          }
          if (call.ending !== undefined) return yield* call.ending
          if (failed.length === 0 && unaffordable !== undefined) return yield* unaffordable
          return yield* exhausted(failed, coolingMs)
        })

        /** A caller who left pays for the prompt that the host was given; whom we cut off before any output does not. G5. */
        const abandoned = (call: Call, request: ChatRequest, hold: Hold): Effect.Effect<void, Unavailable> => {
          if (call.ending?._tag !== "CallerGone") return Effect.sync(() => meter.release(hold))
          return meter.settle(hold, {
            outcome: "caller-gone",
            usage: undefined,
            asked: request.body,
            outputBytes: 0,
            finishReason: "",
            streamed: request.stream,
            latencyMs: elapsed(call),
            durationMs: elapsed(call),
          })
        }

        const complete = Effect.fnUntraced(function* (call: Call, request: ChatRequest, plan: Plan) {
          const { host, hold, answer } = yield* walk(call, request, plan, (endpoint, bounded) =>
            completeAt(call, endpoint, bounded),
          )
          const durationMs = elapsed(call)
          const usage = parseUsage(answer.usage)
          const charge = yield* meter.settle(hold, {
            outcome: "finished",
            usage,
            asked: request.body,
            outputBytes: answer.choices.reduce((sum, { message }) => sum + bytesSaid(message), 0),
            finishReason: answer.choices[0]?.finish_reason ?? "",
            streamed: false,
            latencyMs: durationMs,
            durationMs,
          })
          stats.record(host, { ok: true, latencyMs: durationMs, ...speed(charge, durationMs) })
          return { host, response: answer, charge }
        })

        return {
          complete,
          open: (call, request, plan, writer) =>
            Effect.map(
              walk(call, request, plan, (endpoint, bounded, hold) =>
                openAt(call, endpoint, bounded, hold, writer(endpoint.host)),
              ),
              ({ answer }) => answer,
            ),
          elapsed,
        }
      }),
    )
}

const isJson = ({ headers }: Response): boolean => /^application\/json\b/i.test(headers.get("content-type") ?? "")

/** Longer error bodies are not read: they explain nothing. G10. */
const longestErrorBody = 65_536

const speed = (charge: Charge, durationMs: number) =>
  durationMs > 0 ? { tokensPerSecond: charge.usage.completionTokens / (durationMs / 1000) } : {}

const callTo = (
  { form, host, baseUrl, headers, proxy }: Endpoint,
  request: ChatRequest,
  signal: AbortSignal,
): UpstreamCall => {
  const { method = "POST", path, headers: formHeaders, body } = form.request(request, host)
  return {
    url: baseUrl + path,
    method,
    headers: formHeaders === undefined ? headers : { ...formHeaders, ...headers },
    body: JSON.stringify(body),
    signal,
    ...(proxy === undefined ? {} : { proxy }),
  }
}

/** The request with the bound on its output that the meter put, where that is tighter than the caller's. */
const within = (request: ChatRequest, { outputBound }: Hold): ChatRequest =>
  outputBound === undefined || outputBound === request.maxTokens ? request : { ...request, maxTokens: outputBound }

const parsed = (text: string): unknown => {
  try {
    return isTooDeep(text) ? text : JSON.parse(text)
  } catch {
    return text
  }
}

const read = (reader: BodyReader) =>
  Effect.async<Awaited<ReturnType<BodyReader["read"]>>, HostFailed>((resume) => {
    reader.read().then(
      (next) => resume(Effect.succeed(next)),
      (cause) => resume(new HostFailed({ reason: "unreachable", cause })),
    )
  })
