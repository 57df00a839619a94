/**
 * Recorded traffic of real providers, and how a protocol is tested against it. The recordings lie beside the project
 * (`../shared/fixtures`) and are never copied into it; where the folder is absent, these tests are skipped.
 *
 * `replay` and `wholeOf` give what an answer says after our own code read it; an `expected...` function of each protocol
 * gives the same from the recording without any of our code. Both give a `Transcript`, so a test is one `toEqual`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { HostTag, ModelId } from "../../../src/domain/ids.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk, ChatPayload, ChatResponse } from "../../../src/domain/request/chat.ts"
import { noPreferences } from "../../../src/domain/request/Preferences.ts"
import {
  type ChatRequest,
  type Effort,
  noNeeds,
  type Reasoning,
  routerOnly,
} from "../../../src/domain/request/request.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"
import type { Encoded, Protocol } from "../../../src/formats/Protocol.ts"
import { frameReader } from "../../../src/wire/Framing.ts"
import type { Frame } from "../../../src/wire/framing/FrameReader.ts"

/** One exchange. The README of that folder describes its members. */
export interface RecordedCase {
  readonly id: string
  readonly provider: string
  readonly kind: string
  readonly dialect: string
  readonly stream: boolean
  readonly model: string | null
  readonly categories: ReadonlyArray<string>
  readonly fidelity: string
  readonly request: { readonly path: string; readonly host?: string; readonly body: unknown } | null
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>> | null
    readonly body?: unknown
    readonly raw?: string
    readonly rawBase64?: string
  }
}

/** For tests of plugins, which import nothing of the gateway itself. */
export { randomSequence }

const folder = fileURLToPath(new URL("../../../../shared/fixtures/", import.meta.url))

/** Whether the recordings are there. `TEST_RECORDINGS=off` leaves them out. */
export const recordingsPresent = (): boolean => process.env["TEST_RECORDINGS"] !== "off" && existsSync(folder)

/** The ids of all recorded cases, whatever the dialect; none where the folder is absent. */
export const recordedIds = (): ReadonlyArray<string> =>
  recordingsPresent()
    ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory()
          ? readdirSync(`${folder}${entry.name}`).map((file) => `${entry.name}/${file.replace(/\.json$/, "")}`)
          : [],
      )
    : []

/** Every recorded case of a dialect, such as "openai-chat", whatever the provider; none where the folder is absent. */
export const recordings = (dialect: string): ReadonlyArray<RecordedCase> => {
  if (!recordingsPresent()) return []
  const cases: Array<RecordedCase> = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    for (const name of readdirSync(`${folder}${entry.name}`).toSorted()) {
      // The format is fixed by the folder's own README; a file that breaks it fails the test that reads it.
      const found = JSON.parse(readFileSync(`${folder}${entry.name}/${name}`, "utf8")) as RecordedCase
      if (found.dialect === dialect) cases.push(found)
    }
  }
  return cases
}

/** A request as an agent sent it. */
export interface RecordedRequest {
  /** Of its file, without the ending. */
  readonly name: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

const agents = fileURLToPath(new URL("../../../../shared/agents/", import.meta.url))

/** Requests of agents in the forms that the gateway speaks; none where the folder is absent. */
export const recordedRequests = (): ReadonlyArray<RecordedRequest> =>
  process.env["TEST_RECORDINGS"] === "off" || !existsSync(agents)
    ? []
    : readdirSync(agents)
        .filter((name) => name.endsWith(".json"))
        .toSorted()
        // As above: the format is fixed by the folder's README.
        .map((name) => ({ ...(JSON.parse(readFileSync(`${agents}${name}`, "utf8")) as RecordedRequest), name }))
        .map((recorded) => ({ ...recorded, name: recorded.name.replace(/\.json$/, "") }))
        .filter(({ path }) => /\/v1\/(?:chat\/completions|messages|responses)$/.test(path))

/** The answer's body as parsed JSON, or as text where it is not JSON. */
export const bodyOf = ({ response }: RecordedCase): unknown => {
  if (response.body !== undefined) return response.body
  try {
    return JSON.parse(response.raw ?? "")
  } catch {
    return response.raw ?? ""
  }
}

/** The bytes of a streamed answer. */
export const bytesOf = ({ response }: RecordedCase): Uint8Array =>
  response.rawBase64 === undefined
    ? new TextEncoder().encode(response.raw ?? JSON.stringify(response.body))
    : Uint8Array.from(Buffer.from(response.rawBase64, "base64"))

export interface Split {
  readonly name: string
  readonly pieces: ReadonlyArray<Uint8Array>
}

/** The bytes in one read, one by one, and cut at random places. */
export const splits = (bytes: Uint8Array, seed: number): ReadonlyArray<Split> => {
  const random = randomSequence(seed)
  const cut: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; ) {
    const next = at + 1 + Math.floor(random() * 90)
    cut.push(bytes.subarray(at, next))
    at = next
  }
  return [
    { name: "whole", pieces: [bytes] },
    { name: "one by one", pieces: Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)) },
    { name: "at random cuts", pieces: cut },
  ]
}

export interface TranscriptCall {
  readonly id: string
  readonly name: string
  /** JSON as text, as the host wrote it. */
  readonly arguments: string
}

export interface TranscriptChoice {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: ReadonlyArray<TranscriptCall>
  /** In the canonical words; `null` when none came. */
  readonly finishReason: string | null
}

export interface TranscriptUsage {
  readonly promptTokens: unknown
  readonly completionTokens: unknown
  /** 0 where the host says nothing of them. */
  readonly cachedTokens: unknown
  readonly cacheWriteTokens: unknown
  readonly reasoningTokens: unknown
}

/** What an answer says, whatever carries it. */
export interface Transcript {
  readonly choices: ReadonlyArray<TranscriptChoice>
  readonly usage: TranscriptUsage | null
  /** Why the host failed, where the answer itself says so. What came before the failure is kept. */
  readonly failed: HostReason | null
}

/** Gathers deltas and whole messages into a `Transcript`. Dialects use it for what they expect, too. */
export class TranscriptBuilder {
  private readonly choices = new Map<number, { -readonly [K in keyof TranscriptChoice]: TranscriptChoice[K] }>()
  private readonly calls = new Map<number, Map<number, { id: string; name: string; arguments: string }>>()
  usage: TranscriptUsage | null = null
  failed: HostReason | null = null

  private choice(index: number) {
    const known = this.choices.get(index)
    if (known !== undefined) return known
    const fresh = { text: "", reasoning: "", refusal: "", toolCalls: [], finishReason: null }
    this.choices.set(index, fresh)
    return fresh
  }

  add(index: number, member: "text" | "reasoning" | "refusal", piece: unknown): void {
    if (typeof piece === "string") this.choice(index)[member] += piece
    else this.choice(index)
  }

  finish(index: number, reason: string | null): void {
    if (reason !== null) this.choice(index).finishReason = reason
  }

  /** A piece of the tool call with index `at`. Its id and name come once, its arguments in pieces. */
  call(index: number, at: number, piece: Partial<TranscriptCall>): void {
    this.choice(index)
    const calls = this.calls.get(index) ?? new Map()
    this.calls.set(index, calls)
    const call = calls.get(at) ?? { id: "", name: "", arguments: "" }
    calls.set(at, call)
    if (piece.id) call.id = piece.id
    if (piece.name) call.name = piece.name
    call.arguments += piece.arguments ?? ""
  }

  transcript(): Transcript {
    const choices = [...this.choices.entries()].toSorted(([a], [b]) => a - b)
    return {
      choices: choices.map(([index, choice]) => ({
        ...choice,
        toolCalls: [...(this.calls.get(index)?.entries() ?? [])].toSorted(([a], [b]) => a - b).map(([, call]) => call),
      })),
      usage: this.usage,
      failed: this.failed,
    }
  }
}

const member = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Reads a canonical `usage` object. */
export const canonicalUsage = (usage: unknown): TranscriptUsage | null =>
  isJsonObject(usage)
    ? {
        promptTokens: usage["prompt_tokens"],
        completionTokens: usage["completion_tokens"],
        cachedTokens: member(usage["prompt_tokens_details"], "cached_tokens") ?? 0,
        cacheWriteTokens: member(usage["prompt_tokens_details"], "cache_write_tokens") ?? 0,
        reasoningTokens: member(usage["completion_tokens_details"], "reasoning_tokens") ?? 0,
      }
    : null

const addMessage = (builder: TranscriptBuilder, index: number, message: unknown): void => {
  builder.add(index, "text", member(message, "content"))
  builder.add(index, "reasoning", member(message, "reasoning"))
  builder.add(index, "refusal", member(message, "refusal"))
  for (const [at, call] of listOf(member(message, "tool_calls")).entries()) {
    const place = member(call, "index")
    builder.call(index, typeof place === "number" ? place : at, {
      id: textOf(member(call, "id")),
      name: textOf(member(member(call, "function"), "name")),
      arguments: textOf(member(member(call, "function"), "arguments")),
    })
  }
}

/** Adds canonical chunks. */
export const addChunks = (builder: TranscriptBuilder, chunks: ReadonlyArray<ChatChunk>): void => {
  for (const chunk of chunks) {
    for (const choice of chunk.choices) {
      addMessage(builder, choice.index, choice.delta)
      builder.finish(choice.index, choice.finish_reason)
    }
    builder.usage = canonicalUsage(chunk.usage) ?? builder.usage
  }
}

/** The transcript of a canonical response. */
export const transcriptOfResponse = (response: ChatResponse | HostFailed): Transcript => {
  const builder = new TranscriptBuilder()
  if (response instanceof HostFailed) {
    builder.failed = response.reason
    return builder.transcript()
  }
  for (const choice of response.choices) {
    addMessage(builder, choice.index, choice.message)
    builder.finish(choice.index, choice.finish_reason)
  }
  builder.usage = canonicalUsage(response.usage)
  return builder.transcript()
}

const membersOfReasoning = ["reasoning", "reasoning_effort", "include_reasoning"]
const notPayload = new Set([
  ...[...routerOnly, ...membersOfReasoning],
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
])

const reasoningOf = (body: JsonObject): Reasoning => {
  const asked = isJsonObject(body["reasoning"]) ? body["reasoning"] : {}
  const effort = asked["effort"] ?? body["reasoning_effort"]
  return {
    // Tests write valid efforts only.
    effort: typeof effort === "string" ? (effort as Effort) : undefined,
    maxTokens: typeof asked["max_tokens"] === "number" ? asked["max_tokens"] : undefined,
    enabled: typeof asked["enabled"] === "boolean" ? asked["enabled"] : undefined,
    exclude: asked["exclude"] === true || body["include_reasoning"] === false,
    written: Object.fromEntries(Object.entries(body).filter(([name]) => membersOfReasoning.includes(name))),
  }
}

/**
 * The request that the HTTP layer would decode from this body. `maxTokens`: the bound in force, which may differ from
 * the body's.
 */
export const requestWith = (
  body: JsonObject,
  more: Partial<Pick<ChatRequest, "stream" | "maxTokens">> = {},
): ChatRequest => ({
  operation: "chat",
  routing: {
    models: [textOf(body["model"]) || "acme/small"],
    preferences: noPreferences,
    parameters: [],
    needs: noNeeds,
  },
  bounds: {
    ...{ promptBytes: 1000, mediaBytes: 0, mediaParts: 0, textBytes: 1000, messages: 1, images: 0, searches: 1 },
    ...{ maxTokens: more.maxTokens, choices: 1 },
  },
  stream: body["stream"] === true,
  maxTokens: undefined,
  reasoning: reasoningOf(body),
  // Tests write bodies that the HTTP layer would accept.
  payload: {
    messages: [],
    ...Object.fromEntries(Object.entries(body).filter(([name]) => !notPayload.has(name))),
  } as ChatPayload,
  ...more,
})

/** The request in the host's words, its body read again; throws where the protocol cannot carry it. */
export const encodedBy = (
  protocol: Protocol,
  request: ChatRequest,
  host: Host,
): Omit<Encoded, "body"> & { readonly body: JsonObject; readonly text: string } => {
  const encoded = Either.getOrThrow(protocol.encode(request, host))
  const text = typeof encoded.body === "string" ? encoded.body : new TextDecoder().decode(encoded.body)
  return { ...encoded, body: JSON.parse(text), text }
}

/** The request of a recording; an empty one where it was not kept. */
export const requestOf = (recorded: RecordedCase): ChatRequest =>
  requestWith(isJsonObject(recorded.request?.body) ? recorded.request.body : {}, { stream: recorded.stream })

/** A host of which only the names matter. */
export const hostFor = (upstreamModel: string): Host => ({
  tag: HostTag.make("acme"),
  provider: "acme",
  providerName: "Acme",
  model: ModelId.make("acme/small"),
  upstreamModel,
  tags: [],
  quantization: "unknown",
  pricing: null,
  contextLength: 128_000,
  maxCompletionTokens: 16_384,
  maxPromptTokens: null,
  supportedParameters: [],
  supportsToolChoice: { none: true, auto: true, required: true, function: true },
  supportsImplicitCaching: false,
  inputModalities: [],
  outputModalities: [],
  privacy: { mayTrain: true, retainsPrompts: true },
  local: false,
})

const head = { status: 200, headers: new Headers() }

const contextOf = (recorded: RecordedCase) => ({
  request: requestOf(recorded),
  host: hostFor(recorded.model ?? "model"),
})

/**
 * What a streamed answer says when its bytes come in these pieces, read by the framing and the decoder of the protocol.
 */
export const replay = (protocol: Protocol, recorded: RecordedCase, pieces: ReadonlyArray<Uint8Array>): Transcript => {
  const builder = new TranscriptBuilder()
  const reader = frameReader(protocol.framing)
  const decoder = protocol.decoder(head, contextOf(recorded))
  const take = (chunks: ReadonlyArray<ChatChunk> | HostFailed): boolean => {
    if (chunks instanceof HostFailed) builder.failed = chunks.reason
    else addChunks(builder, chunks)
    return builder.failed === null
  }
  const read = (frames: ReadonlyArray<Frame>): boolean =>
    frames.every(({ name, data }) => data !== "[DONE]" && take(decoder.event(name, JSON.parse(data))))
  if (pieces.every((piece) => read(reader.push(piece)))) read(reader.end())
  if (builder.failed === null) take(decoder.end())
  return builder.transcript()
}

/** What a whole answer says after the protocol read it. */
export const wholeOf = (protocol: Protocol, recorded: RecordedCase): Transcript =>
  transcriptOfResponse(protocol.decode(head, bodyOf(recorded), contextOf(recorded)))
