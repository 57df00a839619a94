/**
 * One call to one host: what goes out, how long we wait, and what is made of the answer in the terms of the house. The
 * plugin's pure functions say what the bytes mean; what they throw is a failure of that host, not of ours. G10, G29, G33.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ChatRequest, ChatResponse } from "../domain/Chat.ts"
import { HostFailed } from "../domain/Failure.ts"
import { dialFunction, type ReadAnswer, type Upstream, type UpstreamCall } from "../plugin/Upstream.ts"
import type { Decoder } from "../wire/Form.ts"
import { type ChunkWriter, HostStream } from "../wire/hostStream.ts"
import { isTooDeep } from "../wire/jsonDepth.ts"
import type { Alarms } from "./Alarms.ts"
import type { Call } from "./Call.ts"
import type { Endpoint } from "./ProviderRegistry.ts"
import { readStart, readText } from "./readBody.ts"

export interface HostCallOptions {
  /** Milliseconds to the first event of a stream; a provider may have its own. */
  readonly ttfbMs: number
  /** The largest whole answer of a host, bytes. */
  readonly answerBytes: number
}

/** What is used of a web stream's reader. */
export type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">

/** A stream whose first event has come. */
export interface Begun {
  readonly stream: HostStream
  readonly reader: BodyReader
  /** What the first events gave the caller. */
  readonly text: string
  /** Milliseconds since admission. */
  readonly latencyMs: number
}

export interface HostCall {
  readonly whole: (call: Call, endpoint: Endpoint, request: ChatRequest) => Effect.Effect<ChatResponse, HostFailed>
  /** Succeeds with the first event that a caller would see. */
  readonly open: (
    call: Call,
    endpoint: Endpoint,
    request: ChatRequest,
    writer: ChunkWriter,
  ) => Effect.Effect<Begun, HostFailed>
}

export const makeHostCall = (
  upstream: Context.Tag.Service<Upstream>,
  alarms: Context.Tag.Service<Alarms>,
  options: HostCallOptions,
): HostCall => {
  const dial = <A>(
    call: Call,
    endpoint: Endpoint,
    request: ChatRequest,
    read: ReadAnswer<A>,
  ): Effect.Effect<A, HostFailed> => {
    const { answer } = endpoint.provider
    const upstreamCall = ofPlugin(() => callTo(endpoint, request, call.attempt()))
    if (upstreamCall instanceof HostFailed) return upstreamCall
    const accepted = (response: Response) => (response.status === 200 ? read(response) : refused(endpoint, response))
    return answer === undefined ? upstream.dial(upstreamCall, accepted) : dialFunction(answer, upstreamCall, accepted)
  }

  const whole = (call: Call, endpoint: Endpoint, request: ChatRequest) =>
    dial(call, endpoint, request, async (response) => {
      const answer = wholeAnswer(await readText(response, options.answerBytes), endpoint, request)
      if (answer instanceof HostFailed) throw answer
      return answer
    })

  /** A streamed request answered by no stream: most likely an error that came with 200. Else it is read as the stream it may be. */
  const unstreamed = async (response: Response, endpoint: Endpoint, request: ChatRequest): Promise<Response> => {
    const text = await readText(response, options.answerBytes)
    const answer = wholeAnswer(text, endpoint, request)
    if (answer instanceof HostFailed && answer.reason !== "malformed") throw answer
    return new Response(text)
  }

  const firstEvent = Effect.fnUntraced(function* (
    call: Call,
    endpoint: Endpoint,
    request: ChatRequest,
    writer: ChunkWriter,
  ) {
    const { body } = yield* dial(call, endpoint, request, async (response) =>
      isJson(response) ? unstreamed(response, endpoint, request) : response,
    )
    if (body === null) return yield* new HostFailed({ reason: "malformed" })
    const reader: BodyReader = body.getReader()
    // The signal ends a body of the network; one of this process may not know of it.
    call.whenHungUp(() => reader.cancel().catch(() => {}))
    const stream = new HostStream({
      decoder: guarded(endpoint, request),
      choices: request.choices,
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
    return { stream, reader, text, latencyMs: call.elapsedMs() }
  })

  return {
    whole,
    open: (call, endpoint, request, writer) =>
      Effect.suspend(() => {
        const late = () => call.hangUp(new HostFailed({ reason: "timeout" }))
        const silence = alarms.set(endpoint.ttfbMs ?? options.ttfbMs, late)
        return Effect.ensuring(firstEvent(call, endpoint, request, writer), Effect.sync(silence.clear))
      }),
  }
}

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

/** Longer error bodies are not read: they explain nothing. G10. */
const longestErrorBody = 65_536

/** Any status but 200 is a failure, and the plugin explains which. */
const refused = async (endpoint: Endpoint, response: Response): Promise<never> => {
  const body = parsed(await readStart(response, longestErrorBody))
  const failure = ofPlugin(() => endpoint.provider.error(response.status, response.headers, body))
  throw withoutSecret(failure, endpoint)
}

const wholeAnswer = (text: string, endpoint: Endpoint, request: ChatRequest): ChatResponse | HostFailed => {
  const answer = ofPlugin(() => endpoint.form.response(parsed(text), request, endpoint.host))
  return answer instanceof HostFailed ? withoutSecret(answer, endpoint) : answer
}

/** The plugin's decoder, whose mistakes end this stream and nothing else. */
const guarded = (endpoint: Endpoint, request: ChatRequest): Decoder => {
  const decoder = ofPlugin(() => endpoint.form.decoder(request, endpoint.host))
  if (decoder instanceof HostFailed) return { event: () => decoder, end: () => [] }
  return {
    event: (name, data) => {
      const decoded = ofPlugin(() => decoder.event(name, data))
      return decoded instanceof HostFailed ? withoutSecret(decoded, endpoint) : decoded
    },
    end: () => {
      const last = ofPlugin(() => decoder.end())
      return last instanceof HostFailed ? [] : last
    },
    done: () => decoder.done?.() === true,
  }
}

const ofPlugin = <A>(read: () => A): A | HostFailed => {
  try {
    return read()
  } catch (cause) {
    return new HostFailed({ reason: "malformed", cause })
  }
}

/** The failure without our own key in it: a host that refuses a request may quote what it was sent. G27. */
const withoutSecret = (failure: HostFailed, { secret }: Endpoint): HostFailed => {
  const { reason, status, detail, code, retryAfterSeconds, cause } = failure
  if (secret === undefined || !`${detail ?? ""} ${code ?? ""}`.includes(secret)) return failure
  const hide = (text: string) => text.replaceAll(secret, "[secret]")
  return new HostFailed({
    reason,
    ...(status === undefined ? {} : { status }),
    ...(detail === undefined ? {} : { detail: hide(detail) }),
    ...(code === undefined ? {} : { code: hide(code) }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause,
  })
}

const isJson = ({ headers }: Response): boolean => /^application\/json\b/i.test(headers.get("content-type") ?? "")

/** The JSON in a text, or the text where there is none that one could walk. */
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
