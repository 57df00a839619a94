/**
 * Recorded traffic of real providers, and how a wire form is held against it. The recordings lie beside the project
 * (`../shared/fixtures`) and are never copied into it; where the folder is absent, these tests are skipped.
 *
 * `replay` and `wholeOf` tell what an answer says after our own code read it; an `expected...` function of each dialect
 * tells the same from the recording without any of our code. Both give a `Told`, so a test is one `toEqual`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { ChatChunk, ChatRequest, ChatResponse } from "../../src/domain/Chat.ts"
import { HostFailed, type HostReason } from "../../src/domain/Failure.ts"
import type { Host } from "../../src/domain/Host.ts"
import { HostTag, ModelId } from "../../src/domain/Ids.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/Json.ts"
import { noPreferences } from "../../src/domain/Preferences.ts"
import { randomSequence } from "../../src/domain/randomSequence.ts"
import type { WireForm } from "../../src/wire/Form.ts"
import { sseReader } from "../../src/wire/sse.ts"

/** One exchange, as `../shared/fixtures/README.md` describes it. */
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

/** For tests of plugins, which import nothing of the house itself. */
export { randomSequence }

const folder = fileURLToPath(new URL("../../../shared/fixtures/", import.meta.url))

/** Whether the recordings are there. */
export const recordingsPresent = (): boolean => existsSync(folder)

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

/** The answer's body as the JSON that it is; text where it is none. */
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

export interface ToldCall {
  readonly id: string
  readonly name: string
  /** JSON as text, as the host wrote it. */
  readonly arguments: string
}

export interface ToldChoice {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: ReadonlyArray<ToldCall>
  /** In the canonical words; `null` when none came. */
  readonly finishReason: string | null
}

export interface ToldUsage {
  readonly promptTokens: unknown
  readonly completionTokens: unknown
  /** 0 where the host says nothing of them. */
  readonly cachedTokens: unknown
  readonly cacheWriteTokens: unknown
  readonly reasoningTokens: unknown
}

/** What an answer says, however it was carried. */
export interface Told {
  readonly choices: ReadonlyArray<ToldChoice>
  readonly usage: ToldUsage | null
  /** Why the host failed, when it said so within the answer; what came before it is still told. */
  readonly failed: HostReason | null
}

/** Gathers deltas and whole messages into a `Told`. Dialects use it for what they expect, too. */
export class Teller {
  private readonly choices = new Map<number, { -readonly [K in keyof ToldChoice]: ToldChoice[K] }>()
  private readonly calls = new Map<number, Map<number, { id: string; name: string; arguments: string }>>()
  usage: ToldUsage | null = null
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

  /** A piece of the tool call in place `at`: id and name are said once, arguments in pieces. */
  call(index: number, at: number, piece: Partial<ToldCall>): void {
    this.choice(index)
    const calls = this.calls.get(index) ?? new Map()
    this.calls.set(index, calls)
    const call = calls.get(at) ?? { id: "", name: "", arguments: "" }
    calls.set(at, call)
    if (piece.id) call.id = piece.id
    if (piece.name) call.name = piece.name
    call.arguments += piece.arguments ?? ""
  }

  told(): Told {
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

/** A canonical `usage` object as what it tells. */
export const canonicalUsage = (usage: unknown): ToldUsage | null =>
  isJsonObject(usage)
    ? {
        promptTokens: usage["prompt_tokens"],
        completionTokens: usage["completion_tokens"],
        cachedTokens: member(usage["prompt_tokens_details"], "cached_tokens") ?? 0,
        cacheWriteTokens: member(usage["prompt_tokens_details"], "cache_write_tokens") ?? 0,
        reasoningTokens: member(usage["completion_tokens_details"], "reasoning_tokens") ?? 0,
      }
    : null

const tellMessage = (teller: Teller, index: number, message: unknown): void => {
  teller.add(index, "text", member(message, "content"))
  teller.add(index, "reasoning", member(message, "reasoning"))
  teller.add(index, "refusal", member(message, "refusal"))
  for (const [at, call] of listOf(member(message, "tool_calls")).entries()) {
    const place = member(call, "index")
    teller.call(index, typeof place === "number" ? place : at, {
      id: textOf(member(call, "id")),
      name: textOf(member(member(call, "function"), "name")),
      arguments: textOf(member(member(call, "function"), "arguments")),
    })
  }
}

/** What canonical chunks say, together. */
export const tellChunks = (teller: Teller, chunks: ReadonlyArray<ChatChunk>): void => {
  for (const chunk of chunks) {
    for (const choice of chunk.choices) {
      tellMessage(teller, choice.index, choice.delta)
      teller.finish(choice.index, choice.finish_reason)
    }
    teller.usage = canonicalUsage(chunk.usage) ?? teller.usage
  }
}

/** What a canonical response says. */
export const tellResponse = (response: ChatResponse | HostFailed): Told => {
  const teller = new Teller()
  if (response instanceof HostFailed) {
    teller.failed = response.reason
    return teller.told()
  }
  for (const choice of response.choices) {
    tellMessage(teller, choice.index, choice.message)
    teller.finish(choice.index, choice.finish_reason)
  }
  teller.usage = canonicalUsage(response.usage)
  return teller.told()
}

/** A request as the edge would hand it on, with this body. */
export const requestWith = (body: JsonObject, more: Partial<ChatRequest> = {}): ChatRequest => ({
  models: [textOf(body["model"]) || "acme/small"],
  preferences: noPreferences,
  stream: body["stream"] === true,
  maxTokens: undefined,
  choices: 1,
  excludeReasoning: false,
  promptBound: 1000,
  mediaParts: 0,
  parameters: [],
  body,
  ...more,
})

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
  quantization: "unknown",
  pricing: null,
  contextLength: 128_000,
  maxCompletionTokens: 16_384,
  maxPromptTokens: null,
  supportedParameters: [],
  supportsToolChoice: { none: true, auto: true, required: true, function: true },
  supportsImplicitCaching: false,
  privacy: { mayTrain: true, retainsPrompts: true },
  local: false,
})

/** What a streamed answer says when its bytes come in these pieces, read by our SSE reader and the form's decoder. */
export const replay = (form: WireForm, recorded: RecordedCase, pieces: ReadonlyArray<Uint8Array>): Told => {
  const teller = new Teller()
  const reader = sseReader()
  const decoder = form.decoder(requestOf(recorded), hostFor(recorded.model ?? "model"))
  const read = (frames: ReturnType<typeof reader.push>): boolean => {
    for (const frame of frames) {
      if (frame.data === "[DONE]") return false
      const chunks = decoder.event(frame.event, JSON.parse(frame.data))
      if (chunks instanceof HostFailed) {
        teller.failed = chunks.reason
        return false
      }
      tellChunks(teller, chunks)
    }
    return true
  }
  if (pieces.every((piece) => read(reader.push(piece)))) read(reader.end())
  if (teller.failed === null) tellChunks(teller, decoder.end())
  return teller.told()
}

/** What a whole answer says after the form read it. */
export const wholeOf = (form: WireForm, recorded: RecordedCase): Told =>
  tellResponse(form.response(bodyOf(recorded), requestOf(recorded), hostFor(recorded.model ?? "model")))
