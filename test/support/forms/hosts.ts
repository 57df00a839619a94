/** The forms that hosts speak: how each writes an answer, and how it reads what it is asked. */

import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ReasoningDetail } from "../../../src/domain/request/chat.ts"
import {
  type Answer,
  type Asked,
  type Call,
  counts,
  inputOf,
  joined,
  objectIn,
  objectsIn,
  type Part,
  pieces,
  present,
  type Turn,
  textIn,
  textPart,
  withoutIndex,
} from "./script.ts"

export interface HostForm {
  readonly name: string
  readonly plugin: string
  /** The host's name of the model. */
  readonly model: string
  /** Whether its reasoning may have this format. */
  readonly writes: (format: string) => boolean
  /** How many choices an answer may have. */
  readonly choices: number
  /** The body of a whole answer, which has these choices. */
  readonly whole: (choices: ReadonlyArray<Answer>) => JsonObject
  /** The events of a stream, as they are written. */
  readonly events: (choices: ReadonlyArray<Answer>) => ReadonlyArray<string>
  /** How many of its events come before the first that a caller sees. */
  readonly silent: number
  /** An event that says that the host failed with this status. */
  readonly failure: (status: number) => string
  readonly read: (body: JsonObject) => Asked
}

// --- chat

const names = (object: string) => ({ id: "chatcmpl-host", object, created: 1, model: "at-the-host" })

const chatUsage = {
  prompt_tokens: counts.prompt,
  completion_tokens: counts.completion,
  prompt_tokens_details: { cached_tokens: counts.cached },
  completion_tokens_details: { reasoning_tokens: counts.reasoning },
}

const indexed = (thoughts: ReadonlyArray<ReasoningDetail>) => thoughts.map((detail, index) => ({ ...detail, index }))

const reasoningText = (thoughts: ReadonlyArray<ReasoningDetail>): string =>
  thoughts.map(({ text, summary }) => text ?? summary ?? "").join("")

const chatCall = ({ id, name, input }: Call) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
})

const chatMessage = ({ thoughts = [], text, refusal, calls = [] }: Answer): JsonObject => ({
  role: "assistant",
  content: text ?? null,
  ...(refusal === undefined ? {} : { refusal }),
  ...(thoughts.length === 0 ? {} : { reasoning: reasoningText(thoughts), reasoning_details: indexed(thoughts) }),
  ...(calls.length === 0 ? {} : { tool_calls: calls.map(chatCall) }),
})

/** The deltas of a piece of reasoning: its text first, what seals it last. */
const thoughtDeltas = ({ text, summary, ...detail }: ReasoningDetail, index: number): ReadonlyArray<JsonObject> => {
  const told = pieces(text ?? summary ?? "", 3)
  const { signature, ...rest } = detail
  const common = present({ ...rest, index, data: undefined })
  return [
    ...told.map((piece) => ({
      reasoning: piece,
      reasoning_details: [{ ...common, [summary === undefined ? "text" : "summary"]: piece }],
    })),
    ...(signature == null ? [] : [{ reasoning_details: [{ ...common, signature }] }]),
    ...(detail.data == null ? [] : [{ reasoning_details: [{ ...rest, index }] }]),
  ]
}

const callDeltas = ({ id, name, input }: Call, index: number): ReadonlyArray<JsonObject> => [
  { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
  ...pieces(JSON.stringify(input), 3).map((json) => ({ tool_calls: [{ index, function: { arguments: json } }] })),
]

const chatDeltas = ({ thoughts = [], text, refusal, calls = [] }: Answer): ReadonlyArray<JsonObject> => [
  { role: "assistant", content: "" },
  ...thoughts.flatMap(thoughtDeltas),
  ...pieces(text ?? "").map((content) => ({ content })),
  ...pieces(refusal ?? "").map((piece) => ({ refusal: piece })),
  ...calls.flatMap(callDeltas),
]

const data = (json: unknown): string => `data: ${JSON.stringify(json)}\n\n`

const chatChunk = (choice: JsonObject): string => data({ ...names("chat.completion.chunk"), choices: [choice] })

const chatEvents = (choices: ReadonlyArray<Answer>): ReadonlyArray<string> => [
  ...choices.flatMap((answer, index) => [
    ...chatDeltas(answer).map((delta) => chatChunk({ index, delta, finish_reason: null })),
    chatChunk({ index, delta: {}, finish_reason: answer.finish }),
  ]),
  data({ ...names("chat.completion.chunk"), choices: [], usage: chatUsage }),
  "data: [DONE]\n\n",
]

const chatPart = (part: JsonObject): Part => {
  switch (part["type"]) {
    case "image_url":
      return { kind: "image", url: textIn(objectIn(part["image_url"])["url"]) }
    case "file": {
      const { filename, file_data: data } = objectIn(part["file"])
      return { kind: "file", name: textIn(filename), data: textIn(data) }
    }
    case "input_audio": {
      const { data, format } = objectIn(part["input_audio"])
      return { kind: "audio", data: textIn(data), format: textIn(format) }
    }
    case "video_url":
    case "input_video":
      return { kind: "video", url: textIn(objectIn(part["video_url"])["url"]) }
    default:
      return textPart(textIn(part["text"]))
  }
}

const contentParts = (content: unknown, partOf: (part: JsonObject) => Part): ReadonlyArray<Part> =>
  typeof content === "string" ? [textPart(content)] : objectsIn(content).map(partOf)

const textOf = (parts: ReadonlyArray<Part>): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("")

const chatTurn = (message: JsonObject): Asked["turns"][number] => {
  const { role, content } = message
  const parts = contentParts(content, chatPart)
  if (role === "tool") return { role: "result", id: textIn(message["tool_call_id"]), text: textOf(parts) }
  if (role !== "assistant") return { role: role === "user" ? "user" : "system", parts }
  return {
    role,
    thoughts: joined(objectsIn(message["reasoning_details"])).map(thoughtOf),
    text: textOf(parts),
    refusal: textIn(message["refusal"]),
    calls: objectsIn(message["tool_calls"]).map((call) => {
      const called = objectIn(call["function"])
      return { id: textIn(call["id"]), name: textIn(called["name"]), input: inputOf(called["arguments"]) }
    }),
  }
}

/** A piece of reasoning as a test describes it. */
const thoughtOf = (detail: JsonObject): ReasoningDetail => {
  const { type, ...rest } = withoutIndex(detail)
  if (type !== "reasoning.text" && type !== "reasoning.summary" && type !== "reasoning.encrypted")
    throw new Error(`not a kind of reasoning: ${String(type)}`)
  return { type, ...rest }
}

const chatHost: HostForm = {
  name: "chat",
  plugin: "openai-compatible",
  model: "upstream",
  writes: () => true,
  choices: 8,
  whole: (choices) => ({
    ...names("chat.completion"),
    choices: choices.map((answer, index) => ({ index, message: chatMessage(answer), finish_reason: answer.finish })),
    usage: chatUsage,
  }),
  events: chatEvents,
  silent: 1,
  failure: (status) => data({ error: { code: status, message: "the host is tired" } }),
  read: (body) => {
    const format = objectIn(objectIn(body["response_format"])["json_schema"])
    return {
      turns: objectsIn(body["messages"]).map(chatTurn),
      tools: toolsIn(body, (tool) => toolOf(objectIn(tool["function"]), "parameters")),
      stop: body["stop"] ?? undefined,
      schema: format["schema"],
      temperature: body["temperature"],
    }
  },
}

const toolsIn = ({ tools }: JsonObject, read: (tool: JsonObject) => JsonObject) =>
  Array.isArray(tools) ? objectsIn(tools).map(read) : undefined

const toolOf = ({ name, description, ...rest }: JsonObject, schema: string) => ({
  name,
  description,
  parameters: rest[schema],
})

// --- Messages

const messagesUsage = {
  input_tokens: counts.prompt - counts.cached,
  cache_read_input_tokens: counts.cached,
  cache_creation_input_tokens: 0,
  output_tokens: counts.completion,
  output_tokens_details: { thinking_tokens: counts.reasoning },
}

const stopReasons = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
} as const

const claudes = "anthropic-claude-v1"

const thoughtBlock = ({ type, text, signature, data }: ReasoningDetail): JsonObject =>
  type === "reasoning.encrypted"
    ? { type: "redacted_thinking", data }
    : { type: "thinking", thinking: text ?? "", signature: signature ?? "" }

const ending = ({ finish, refusal, stoppedAt }: Answer): JsonObject => ({
  stop_reason: stoppedAt === undefined ? stopReasons[finish] : "stop_sequence",
  stop_sequence: stoppedAt ?? null,
  stop_details: finish === "content_filter" ? { type: "refusal", category: null, explanation: refusal ?? null } : null,
})

const messagesNames = { id: "msg_host", type: "message", role: "assistant", model: "at-the-host" }

const messagesWhole = (answer: Answer): JsonObject => {
  const { thoughts = [], text, calls = [] } = answer
  return {
    ...messagesNames,
    content: [
      ...thoughts.map(thoughtBlock),
      ...(text === undefined ? [] : [{ type: "text", text, citations: null }]),
      ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
    ],
    ...ending(answer),
    usage: messagesUsage,
  }
}

/** A block's start and its pieces. */
type Block = readonly [start: JsonObject, deltas: ReadonlyArray<JsonObject>]

const messagesBlocks = ({ thoughts = [], text, calls = [] }: Answer): ReadonlyArray<Block> => [
  ...thoughts.map((detail): Block => {
    if (detail.type === "reasoning.encrypted") return [thoughtBlock(detail), []]
    const told = pieces(detail.text ?? "", 3).map((thinking) => ({ type: "thinking_delta", thinking }))
    const { signature } = detail
    const sealed = signature == null ? [] : [{ type: "signature_delta", signature }]
    return [{ type: "thinking", thinking: "", signature: "" }, [...told, ...sealed]]
  }),
  ...(text === undefined
    ? []
    : [
        [
          { type: "text", text: "", citations: null },
          pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
        ] as const,
      ]),
  ...calls.map(({ id, name, input }): Block => {
    // A call without arguments has no pieces, as Anthropic writes it.
    const told = Object.keys(input).length === 0 ? [] : pieces(JSON.stringify(input), 3)
    const deltas = told.map((json) => ({ type: "input_json_delta", partial_json: json }))
    return [{ type: "tool_use", id, name, input: {} }, deltas]
  }),
]

const event = (type: string, members: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

const messagesEvents = (answer: Answer): ReadonlyArray<string> => [
  event("message_start", {
    message: {
      ...messagesNames,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...messagesUsage, output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } },
    },
  }),
  ...messagesBlocks(answer).flatMap(([start, deltas], index) => [
    event("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ]),
  event("message_delta", { delta: ending(answer), usage: messagesUsage }),
  event("message_stop", {}),
]

const errorTypes: Readonly<Record<number, string>> = { 429: "rate_limit_error", 529: "overloaded_error" }

const urlOf = (source: JsonObject): string =>
  source["type"] === "base64" ? `data:${source["media_type"]};base64,${source["data"]}` : textIn(source["url"])

const messagesPart = (block: JsonObject): Part => {
  const source = objectIn(block["source"])
  switch (block["type"]) {
    case "image":
      return { kind: "image", url: urlOf(source) }
    case "document":
      return { kind: "file", name: textIn(block["title"]), data: urlOf(source) }
    default:
      return textPart(textIn(block["text"]))
  }
}

const messagesTurns = ({ role, content }: JsonObject): ReadonlyArray<Asked["turns"][number]> => {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content)
  const of = (...types: ReadonlyArray<string>) => blocks.filter(({ type }) => types.includes(textIn(type)))
  if (role === "assistant") {
    const thoughts = of("thinking", "redacted_thinking").map(
      ({ type, thinking, signature, data }): ReasoningDetail =>
        type === "thinking"
          ? { type: "reasoning.text", text: textIn(thinking), signature: textIn(signature), format: claudes }
          : { type: "reasoning.encrypted", data: textIn(data), format: claudes },
    )
    const calls = of("tool_use").map(({ id, name, input }) => ({
      id: textIn(id),
      name: textIn(name),
      input: objectIn(input),
    }))
    return [{ role, thoughts, text: textOf(of("text").map(messagesPart)), refusal: "", calls }]
  }
  const results = of("tool_result").map(
    (block): Turn => ({
      role: "result",
      id: textIn(block["tool_use_id"]),
      text: textOf(contentParts(block["content"], messagesPart)),
    }),
  )
  const parts = blocks.filter(({ type }) => type !== "tool_result").map(messagesPart)
  return [...results, ...(parts.length === 0 ? [] : [{ role: "user", parts } as const])]
}

const messagesHost: HostForm = {
  name: "messages",
  plugin: "anthropic",
  model: "claude-opus-4-6",
  writes: (format) => format === claudes,
  choices: 1,
  whole: ([answer]) => messagesWhole(answer ?? { finish: "stop" }),
  events: ([answer]) => messagesEvents(answer ?? { finish: "stop" }),
  silent: 2,
  failure: (status) =>
    event("error", { error: { type: errorTypes[status] ?? "api_error", message: "the host is tired" } }),
  read: (body) => ({
    turns: [
      ...(body["system"] == null
        ? []
        : [{ role: "system", parts: contentParts(body["system"], messagesPart) } as const]),
      ...objectsIn(body["messages"]).flatMap(messagesTurns),
    ],
    tools: toolsIn(body, (tool) => toolOf(tool, "input_schema")),
    stop: body["stop_sequences"],
    schema: objectIn(objectIn(body["output_config"])["format"])["schema"],
    temperature: body["temperature"],
  }),
}

export const hostForms: readonly [HostForm, ...ReadonlyArray<HostForm>] = [chatHost, messagesHost]

/** What a scripted host of a form answers to a request: whole, or as a stream. */
export const answerIn = (form: HostForm, body: JsonObject, choices: ReadonlyArray<Answer>): Response =>
  body["stream"] === true ? streamOf(form.events(choices)) : Response.json(form.whole(choices))

const streamHeaders = { headers: { "content-type": "text/event-stream" } }

/** A stream of these events. */
export const streamOf = (events: ReadonlyArray<string>): Response => new Response(events.join(""), streamHeaders)

/** A stream whose second part comes once the test says so. */
export const inTwoParts = (first: ReadonlyArray<string>, second: ReadonlyArray<string>) => {
  const seen = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      controller.enqueue(new TextEncoder().encode(first.join("")))
      await seen.promise
      controller.enqueue(new TextEncoder().encode(second.join("")))
      controller.close()
    },
  })
  return { answer: () => new Response(body, streamHeaders), goOn: () => seen.resolve() }
}
