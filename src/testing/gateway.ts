/** Checks that run the plugin in a gateway: an answer that is billed, and a caller who leaves. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Gateway from "../app/Gateway.ts"
import { HostFailed } from "../domain/failures/Failure.ts"
import { KeyId } from "../domain/ids.ts"
import { isJsonObject } from "../domain/json/json.ts"
import type { Protocol } from "../formats/Protocol.ts"
import { contractVersion, type Provider, type ProviderPlugin } from "../plugin/Provider.ts"
import { writerOf } from "../process/log/formats.ts"
import { lineOf } from "../process/log/lineOf.ts"
import { readOnAtMostMs } from "../services/dispatch/ReadingOn.ts"
import { KeyStore } from "../services/keys/KeyStore.ts"
import { layer as memoryStorage } from "../sql/sqlite/MemoryStorage.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { piecesOf } from "./answers/frames.ts"
import { reading } from "./answers/streams.ts"
import { readUsage } from "./answers/usage.ts"
import { type Check, must, shown } from "./Check.ts"
import { contextOf, head, host, maxTokens, publicModel, requestOf } from "./samples.ts"
import { tokensIn } from "./signing/tokens.ts"
import {
  answerBody,
  answerOf,
  gatewayConfig,
  load,
  type NamedSample,
  type ProtocolSubject,
  type ProviderSubject,
  secretsOf,
} from "./subject.ts"

export const gatewayChecks = (subject: ProtocolSubject): ReadonlyArray<Check> => {
  const sample = subject.streams.find(({ expects }) => expects.failure === undefined)
  const checks: Array<Check> = []
  if (isAnswering(subject)) {
    const name = `${subject.name}: a whole answer comes through the gateway, counted by its host`
    checks.push({ name, run: () => isAnswered(subject) })
  }
  if (sample !== undefined) {
    checks.push({
      name: `${subject.name}: a stream is passed on as it comes, and the call ends when the caller leaves`,
      run: () => endsWithCaller(subject, sample),
    })
  }
  checks.push({
    name: `${subject.name}: no secret is shown, whatever the host repeats`,
    run: () => showsNoSecret(subject),
  })
  return checks
}

/** The gateway's own lines. Those of libraries, such as the database's, say nothing of the plugin. */
const told = (log: ReadonlyArray<string>): string =>
  log.flatMap((line) => (line.includes(" event=other ") ? [] : [`; ${line}`])).join("")

const isAnswering = (subject: ProtocolSubject): boolean => {
  try {
    return answerOf(subject) !== undefined || load(subject.subject).transport !== undefined
  } catch {
    return false
  }
}

const isAnswered = async (subject: ProtocolSubject): Promise<void> => {
  const { plugin, lacks = [] } = subject.subject
  const answer = answerOf(subject)
  const text = await inGateway(subject, alone(plugin, answer === undefined), answer, async (ask, log) => {
    const response = await ask(false)
    const body = await response.text()
    must(
      response.status === 200,
      `The gateway got no answer out of the given one: ${response.status} ${body}${told(log)}`,
      "Protocol.decode, Provider.error",
    )
    return body
  })
  const decoded = subject.protocol().decode(head, await answerBody(subject), contextOf(false))
  if (lacks.includes("usage")) return
  const usage = readUsage(decoded instanceof HostFailed ? undefined : decoded.usage, "the given answer")
  const body: unknown = JSON.parse(text)
  const billed = isJsonObject(body) && isJsonObject(body["usage"]) ? body["usage"] : {}
  must(
    billed["prompt_tokens"] === usage.promptTokens && billed["completion_tokens"] === usage.completionTokens,
    `The gateway bills ${shown(billed)} for the usage ${shown(usage)}`,
    "ChatResponse.usage",
  )
}

/** The caller leaves after the first frames that it sees, and after each of a few more: the host is still sending each time. */
const endsWithCaller = async (subject: ProtocolSubject, sample: NamedSample): Promise<void> => {
  const protocol = subject.protocol()
  const frames = piecesOf(protocol, sample)
  const first = Math.min(speakingAfter(protocol, frames), frames.length - 1)
  const ends = [0, 1, 2].map((more) => first + more).filter((end) => end > 0 && end < frames.length)
  // A plugin with `sign` may send its own request first.
  const side = new Set<string>()
  const answerToSigning = load(subject.subject).sign === undefined ? undefined : subject.subject.answer
  /** The frames of each call, and when it ended. */
  const calls: Array<{ readonly kept: number; readonly aborted: PromiseWithResolvers<true> }> = []
  const answer = (request: Request) => {
    if (answerToSigning !== undefined && side.has(request.url)) return answerToSigning(request)
    const { signal } = request
    const call = calls.at(-1)
    signal.addEventListener("abort", () => call?.aborted.resolve(true), { once: true })
    return new Response(unfinished(frames.slice(0, call?.kept), signal), {
      headers: { "content-type": mediaTypes[protocol.framing] },
    })
  }
  await inGateway(subject, alone(subject.subject.plugin, false, side), answer, async (ask, log) => {
    for (const kept of ends.length === 0 ? [frames.length - 1] : ends) {
      calls.push({ kept, aborted: Promise.withResolvers<true>() })
      const { body } = await ask(true)
      const reader = body?.getReader()
      const began = reader === undefined ? undefined : await within(firstText(reader))
      await reader?.cancel()
      const isFault = log.some((line) => line.includes(" event=plugin_fault "))
      const why = isFault ? "the gateway refuses what the plugin gives" : "the decoder holds its chunks back"
      must(
        began === true,
        `Nothing of ${sample.name} reached the caller before its end: ${why}${told(log)}`,
        "Decoder.event",
      )
    }
    // The gateway reads a host for its usage after the client has left.
    const ended = await Promise.all(calls.map(({ aborted }) => within(aborted.promise, readOnAtMostMs + timeoutMs)))
    for (const [at, { kept }] of calls.entries()) {
      must(
        ended[at] === true,
        `The caller left after ${kept} of ${frames.length} frames, and the call to the host went on`,
        "Provider.transport",
      )
    }
  })
}

/** How many frames it takes until a caller sees something. */
const speakingAfter = (protocol: Protocol, frames: ReadonlyArray<Uint8Array>): number => {
  const { stream } = reading(protocol)
  const at = frames.findIndex((frame) => {
    stream.push(frame)
    return stream.state !== "silent"
  })
  return at + 1
}

const canary = "sk-headgate-canary-5f2c91e07ab4"

/**
 * The host quotes all that it was sent, as an error of each kind: the gateway takes every credential out of it, those that `sign`
 * fetched or made too.
 */
const showsNoSecret = async (given: ProtocolSubject): Promise<void> => {
  const { subject } = given
  const { plugin, config = {} } = subject
  const isKeyless = plugin.auth?._tag === "None" || config["api_key"] !== undefined
  const keyed = isKeyless ? given : { ...given, subject: { ...subject, config: { ...config, api_key: canary } } }
  const provider = load(subject)
  if (provider.transport !== undefined) return
  await quotesNothing(keyed, provider)
  // With a key there may be nothing to sign.
  if (provider.sign !== undefined && keyed !== given) await quotesNothing(given, provider)
}

/** What nobody may read, and where it is from, for the author of the plugin. */
interface Quoted {
  readonly text: string
  readonly whence: string
}

const quotesNothing = async (given: ProtocolSubject, provider: Provider): Promise<void> => {
  const { subject } = given
  const configured = [
    ...secretsOf(subject),
    ...Object.values(provider.credentials ?? {}).map((secret) => Redacted.value(secret)),
  ].flatMap((text): ReadonlyArray<Quoted> => (text.length < 8 ? [] : [{ text, whence: "from the configuration" }]))
  const side = new Set<string>()
  let status = 400
  let secrets = configured
  let fetched: ReadonlyArray<Quoted> = []
  const answer = async (request: Request) => {
    if (side.has(request.url) && subject.answer !== undefined) {
      const response = await subject.answer(request)
      const tokens = tokensIn(await response.clone().text())
      fetched = [...fetched, ...tokens.map((text) => ({ text, whence: "that `sign` fetched" }))]
      return response
    }
    // A signature holds for one request.
    secrets = [...configured, ...fetched, ...credentialsSent(given, request)]
    const said = `${request.url} ${JSON.stringify(Object.fromEntries(request.headers))} ${secrets.map(({ text }) => text).join(" ")}`
    const error = { message: said, code: said, type: said, status: said }
    return Response.json({ error, message: said, detail: said }, { status })
  }
  await inGateway(given, alone(subject.plugin, false, side), answer, async (ask, log) => {
    for (status of [400, 401, 403, 404, 429, 500]) {
      for (const stream of [false, true]) {
        const response = await ask(stream)
        const shownToAll = `${JSON.stringify(Object.fromEntries(response.headers))} ${await response.text()} ${log.join(" ")}`
        const leak = secrets.find(({ text }) => shownToAll.includes(text))
        must(
          leak === undefined,
          `A secret ${leak?.whence} is shown to the caller or in the log where the host answers ${status} and quotes it: the gateway knows \`api_key\`, \`credentials\`, each \`Secret\`, and what \`sign\` adds as a credential`,
          "Provider.credentials, Provider.sign, HostFailed.cause",
        )
      }
    }
  })
}

/** Headers that every call has, or that describe it. */
const plainHeader = /^(?:accept|connection$|content-|date$|host$|user-agent$)|(?:date|sha256|project|region)$/

/** A shorter word of a header is no credential. */
const shortestCredential = 8

/** A time stands in lines of the log and in answers, too: ISO 8601, or Unix seconds or milliseconds. */
const time = /^(?:\d{4}-\d\d-\d\dT.*|\d{10}(?:\d{3})?)$/

/** Words of the headers of a request that its protocol did not write. */
const credentialsSent = (
  { protocol, subject: { lacks } }: ProtocolSubject,
  { headers }: Request,
): ReadonlyArray<Quoted> => {
  const encoded = protocol().encode(requestOf(true, { lacks }), host)
  const written = Either.isRight(encoded) ? Object.values(encoded.right.headers ?? {}) : []
  return Array.from(headers)
    .filter(([name, value]) => !plainHeader.test(name) && !written.includes(value))
    .flatMap(([name, value]) =>
      value
        .split(/\s+/)
        .slice(value.includes(" ") ? 1 : 0)
        .map((word) => ({ text: word.replace(/^[\w-]+=(?=.)|,$/g, ""), whence: `in the header "${name}"` })),
    )
    .filter(({ text }) => text.length >= shortestCredential && !text.includes(";") && !time.test(text))
}

const mediaTypes: Readonly<Record<Protocol["framing"], string>> = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
  "json-array": "application/json",
  "aws-eventstream": "application/vnd.amazon.eventstream",
}

interface TextReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

/** Whether anything other than comments comes. */
const firstText = async (reader: TextReader): Promise<boolean> => {
  const decoder = new TextDecoder()
  for (;;) {
    const next = await reader.read()
    if (next.done) return false
    if (
      decoder
        .decode(next.value)
        .replaceAll(/^:.*\n\n/gm, "")
        .includes('"delta"')
    )
      return true
  }
}

/** Far longer than a stream in memory takes. Only a failing check waits so long. */
const timeoutMs = 1000

const within = <A>(promise: Promise<A>, milliseconds = timeoutMs): Promise<A | undefined> => {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, milliseconds, undefined)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

/** Sends a frame for each read, then stays open until `signal` aborts it, as a connection would. */
const unfinished = (frames: ReadonlyArray<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> => {
  const rest = [...frames]
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      signal.addEventListener("abort", () => controller.error(new Error("aborted")), { once: true })
    },
    pull: (controller) => {
      const frame = rest.shift()
      if (frame === undefined) return new Promise(() => {})
      controller.enqueue(frame)
    },
  })
}

/**
 * The plugin with only the model of the check. `inProcess`: with its transport in place of a host. `side` gets the addresses that
 * `sign` calls.
 */
const alone = (plugin: ProviderPlugin, inProcess: boolean, side = new Set<string>()): ProviderPlugin => ({
  ...plugin,
  // Whether it has the right one is checked elsewhere.
  contract: contractVersion,
  // It is configured, and must not be on a second time without configuration.
  always: false,
  load: (config, context) =>
    Either.map(plugin.load(config, context), async (provider) => withoutModels(await provider, inProcess, side)),
})

const withoutModels = (provider: Provider, inProcess: boolean, side: Set<string>): Provider => {
  const { protocols, baseUrl, credentials, transport } = provider
  const sign: Provider["sign"] = (encoded, context) => {
    const http: typeof context.http = (request) => {
      side.add(new URL(request.url).href)
      return context.http(request)
    }
    return provider.sign?.(encoded, { ...context, http }) ?? Effect.succeed(encoded)
  }
  return {
    protocols,
    error: (status, headers, body) => provider.error(status, headers, body),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(provider.sign === undefined ? {} : { sign }),
    ...(inProcess && transport !== undefined ? { transport: transport.bind(provider) } : {}),
  }
}

/** The sample as a caller would send it. */
const bodyOf = (stream: boolean, lacks: ProviderSubject["lacks"]) =>
  JSON.stringify({ ...requestOf(stream, { lacks }).payload, model: publicModel, max_tokens: maxTokens.asked, stream })

const anyKey = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("check"), name: "check" }))

/** Runs `work` with a gateway whose only provider is the plugin. `log`: what the gateway logs. */
const inGateway = async <A>(
  { subject, name }: ProtocolSubject,
  plugin: ProviderPlugin,
  answer: ((request: Request) => Response | Promise<Response>) | undefined,
  work: (ask: (stream: boolean) => Promise<Response>, log: ReadonlyArray<string>) => Promise<A>,
): Promise<A> => {
  const log: Array<string> = []
  const written = writerOf("logfmt", false)
  const logger = Logger.make((options) => void log.push(written(lineOf(options))))
  const app = Gateway.allRoutesAt("").pipe(
    Layer.provide(Gateway.servicesOf({ plugins: [plugin], config: gatewayConfig(subject, name) })),
    Layer.provide([anyKey, Upstream.layerFrom(answer ?? (() => new Response(null, { status: 404 })))]),
    Layer.provide([memoryStorage, HttpServer.layerContext]),
    // Single failures of hosts are lines for debugging.
    Layer.provide([Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(LogLevel.Debug)]),
  )
  const { handler, dispose } = HttpLayerRouter.toWebHandler(app, { disableLogger: true })
  const ask = (stream: boolean) =>
    handler(
      new Request("http://gateway.test/api/v1/chat/completions", {
        method: "POST",
        headers: { authorization: "Bearer check", "content-type": "application/json" },
        body: bodyOf(stream, subject.lacks),
      }),
    )
  try {
    return await work(ask, log)
  } finally {
    await dispose()
  }
}
