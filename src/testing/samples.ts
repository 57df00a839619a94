/** Inputs for the checks: a request with many members, its host, and JSON of any shape. */
import * as FastCheck from "effect/FastCheck"
import type { Host } from "../domain/hosts/Host.ts"
import { HostTag, ModelId } from "../domain/ids.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { freePricing } from "../domain/price/price.ts"
import type { ChatPayload, ContentPart, Message, Tool } from "../domain/request/chat.ts"
import { noPreferences } from "../domain/request/Preferences.ts"
import { type ChatRequest, noReasoning, type Reasoning } from "../domain/request/request.ts"
import type { AnswerContext } from "../formats/Protocol.ts"
import type { Framing } from "../wire/Framing.ts"
import type { ResponseHead } from "../wire/head.ts"
import { sseEvent } from "../wire/sse.ts"
import type { Lack } from "./Expected.ts"
import { eventStreamEvent } from "./eventStream.ts"

/** The slug of the plugin under test in the configuration. */
export const slug = "checked"

export const publicModel = "headgate-check/public-name"
export const upstreamModel = "name-at-the-host"

/** The one model of the gateway under test. */
export const model = {
  id: publicModel,
  context_length: 100_000,
  hosts: [
    {
      provider: slug,
      model: upstreamModel,
      pricing: { prompt: "0.000001", completion: "0.000002" },
      max_completion_tokens: 5000,
    },
  ],
}

/** The same host as a value, for checks without a gateway. */
export const host: Host = {
  tag: HostTag.make(slug),
  provider: slug,
  providerName: "Checked",
  model: ModelId.make(publicModel),
  upstreamModel,
  tags: [],
  quantization: "unknown",
  pricing: freePricing,
  contextLength: 100_000,
  maxCompletionTokens: 5000,
  maxPromptTokens: null,
  supportedParameters: [],
  supportsToolChoice: { none: true, auto: true, required: true, function: true },
  supportsImplicitCaching: false,
  inputModalities: [],
  outputModalities: [],
  privacy: { mayTrain: true, retainsPrompts: true },
  local: false,
}

/** The caller asked for more tokens than the key's budget allows, so the bound is lower. */
export const maxTokens = { asked: 3777, bound: 1321 }

/** Texts of the sample that must reach the host. None of them occurs elsewhere in it. */
export const marks = {
  system: "Be brief.",
  question: "How warm is it in Oslo?",
  said: "Let me look that up.",
  firstResult: "12 degrees",
  secondResult: "9 degrees",
  last: "And in Rome?",
  toolDescription: "Says how warm it is",
  toolSchema: "celsius",
  stop: "HEADGATE-STOP",
} as const

export const temperature = 0.375

// Another name in each process, so that no plugin can know it. What it is makes no difference to a result.
const probe = `x_${crypto.randomUUID().slice(0, 8)}`

/** Members that no protocol knows. */
export const unknownMembers: JsonObject = {
  [`${probe}_object`]: { kept: ["as", { it: "is" }], count: 7 },
  [`${probe}_number`]: 40_961,
  [`${probe}_text`]: `text of ${probe}`,
  [`${probe}_switch`]: false,
}

/** The calls of the sample, in the order of their results. */
export const calls = [
  { id: "call_oslo_1", name: "weather", arguments: { city: "Oslo" }, result: marks.firstResult },
  { id: "call_bergen_2", name: "weather", arguments: { city: "Bergen" }, result: marks.secondResult },
] as const

export const tools: ReadonlyArray<Tool> = [
  {
    type: "function",
    function: {
      name: "weather",
      description: marks.toolDescription,
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, scale: { type: "string", enum: [marks.toolSchema, "kelvin"] } },
        required: ["city"],
      },
    },
  },
]

const toolTurns: ReadonlyArray<Message> = [
  {
    role: "assistant",
    content: marks.said,
    tool_calls: calls.map(({ id, name, arguments: written }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(written) },
    })),
  },
  ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result }) as const),
]

interface Variation {
  /** The user's last message. */
  readonly last?: string | ReadonlyArray<ContentPart>
  /** What of the sample the vendor cannot take. */
  readonly lacks?: ReadonlyArray<Lack> | undefined
}

/** A request as a plugin gets it: a conversation with a tool, two parameters, and members that nobody knows. */
export const requestOf = (stream: boolean, { last = marks.last, lacks = [] }: Variation = {}): ChatRequest => {
  const hasTools = !lacks.includes("tools")
  return chatRequest(stream, {
    messages: [
      ...(lacks.includes("system") ? [] : [{ role: "system", content: marks.system } as const]),
      { role: "user", content: [{ type: "text", text: marks.question }] },
      ...(hasTools ? toolTurns : [{ role: "assistant", content: marks.said } as const]),
      { role: "user", content: last },
    ],
    ...(hasTools ? { tools, tool_choice: "auto" } : {}),
    temperature,
    stop: [marks.stop],
    ...unknownMembers,
  })
}

/** A request with this payload. */
export const chatRequest = (
  stream: boolean,
  payload: ChatPayload,
  reasoning: Partial<Reasoning> = {},
): ChatRequest => ({
  operation: "chat",
  routing: {
    models: [publicModel],
    preferences: noPreferences,
    parameters: Object.keys(payload).filter((name) => name !== "messages"),
    needs: { inputs: [], outputs: [], toolChoice: payload.tools == null ? undefined : "auto" },
  },
  bounds: {
    ...{ promptBytes: 2000, mediaBytes: 0, mediaParts: 0, textBytes: 400, images: 0, searches: 1 },
    ...{ messages: payload.messages.length, maxTokens: maxTokens.asked, choices: payload.n ?? 1 },
  },
  stream,
  maxTokens: maxTokens.bound,
  reasoning: { ...noReasoning, ...reasoning },
  payload,
})

/** Base64 of this text. */
export const packed = (text: string): string => Buffer.from(text).toString("base64")

const media = "HEADGATE media that must arrive whole"

/** A part of each kind that a user may send, and what of it must be sent. */
export const everyPart: ReadonlyArray<readonly [part: ContentPart, mark: string]> = [
  [{ type: "text", text: "HEADGATE-TEXT" }, "HEADGATE-TEXT"],
  [{ type: "image_url", image_url: { url: `data:image/png;base64,${packed(media)}` } }, media],
  [
    { type: "image_url", image_url: { url: "https://example.com/headgate.png", detail: "low" } },
    "https://example.com/headgate.png",
  ],
  [{ type: "input_audio", input_audio: { data: packed(media), format: "wav" } }, media],
  [{ type: "video_url", video_url: { url: `data:video/mp4;base64,${packed(media)}` } }, media],
  [{ type: "input_video", video_url: { url: "https://example.com/headgate.mp4" } }, "https://example.com/headgate.mp4"],
  [{ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${packed(media)}` } }, media],
  [{ type: "file", file: { filename: "b.pdf", file_data: packed(media) } }, media],
  [{ type: "file", file: { file_data: "data:text/plain,HEADGATE-PLAIN" } }, "HEADGATE-PLAIN"],
  [{ type: "file", file: { file_id: "HEADGATE-FILE" } }, "HEADGATE-FILE"],
]

/** The head of a whole or streamed answer. */
export const head: ResponseHead = { status: 200, headers: new Headers() }

export const contextOf = (stream: boolean): AnswerContext => ({ request: requestOf(stream), host })

const utf8 = new TextEncoder()

/** Writes a frame with this JSON in each framing. */
export const framed: Readonly<Record<Framing, (json: string) => Uint8Array>> = {
  sse: (json) => utf8.encode(sseEvent(json)),
  ndjson: (json) => utf8.encode(`${json}\n`),
  "json-array": (json) => utf8.encode(`[${json}]`),
  "aws-eventstream": (json) => eventStreamEvent("event", json),
}

/** Words that hosts use, so that random values pass a decoder's first checks. */
const words = [
  ...["choices", "message", "delta", "content", "text", "role", "refusal", "reasoning", "reasoning_content"],
  ...["tool_calls", "function", "name", "arguments", "id", "index", "type", "finish_reason", "logprobs", "object"],
  ...["usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "input_tokens"],
  ...["error", "code", "status", "param", "detail", "msg", "content_block", "thinking", "signature", "citations"],
  ...["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"],
  ...["message_stop", "text_delta", "input_json_delta", "tool_use", "partial_json", "stop_reason", "stop", "input"],
  ...["candidates", "parts", "usageMetadata", "output", "response", "item", "__proto__", "constructor", "toString"],
]

/** JSON of any shape. */
export const anyJson: FastCheck.Arbitrary<unknown> = FastCheck.letrec((tie) => ({
  leaf: FastCheck.oneof(
    FastCheck.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e300, "", ...words),
    FastCheck.integer(),
    FastCheck.string(),
  ),
  tree: FastCheck.oneof(
    { maxDepth: 5 },
    tie("leaf"),
    FastCheck.array(tie("tree"), { maxLength: 4 }),
    FastCheck.array(FastCheck.tuple(FastCheck.constantFrom(...words), tie("tree")), { maxLength: 6 }).map(
      // Only a parser can make a member called "__proto__".
      (members) => JSON.parse(`{${members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join()}}`),
    ),
  ),
})).tree

/** `json` with one value in it replaced by any other. */
export const mutated = (json: unknown): FastCheck.Arbitrary<unknown> =>
  FastCheck.tuple(FastCheck.array(FastCheck.nat({ max: 100 }), { maxLength: 8 }), anyJson).map(([steps, value]) =>
    exchanged(json, steps, value),
  )

const exchanged = (json: unknown, [step, ...steps]: ReadonlyArray<number>, value: unknown): unknown => {
  if (step === undefined) return value
  if (Array.isArray(json)) {
    return json.length === 0 ? value : json.with(step % json.length, exchanged(json[step % json.length], steps, value))
  }
  if (!isJsonObject(json)) return value
  const names = Object.keys(json)
  const name = names[step % names.length]
  return name === undefined ? value : { ...json, [name]: exchanged(json[name], steps, value) }
}

/** What a broken host may send in place of an answer. */
export const noAnswers: ReadonlyArray<unknown> = [null, [], {}, [{}], "", "<html>Bad gateway</html>", 7, true]

// A fixed seed, so that a plugin gets the same result at every run.
const seed = 7

/** Fails with the smallest value for which `holds` throws, and with the seed to reproduce it. */
export const forAll = <A>(values: FastCheck.Arbitrary<A>, holds: (value: A) => void, runs = 150): void =>
  FastCheck.assert(FastCheck.property(values, holds), { numRuns: runs, seed })
