/**
 * What a model said goes back to a host of its family unmodified and in the same order, whatever format the client
 * speaks, whole and streamed. docs/guarantees.md#g39
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import { converse } from "../../plugins/providers/bedrock/converse.ts"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import type { Charge } from "../../src/domain/money/Charge.ts"
import { noCost } from "../../src/domain/price/price.ts"
import { noUsage } from "../../src/domain/price/Usage.ts"
import type { ClientFormat } from "../../src/formats/ClientFormat.ts"
import { chat } from "../../src/formats/chat/chatClient.ts"
import { generateContent } from "../../src/formats/generateContent/generateContentClient.ts"
import { generateContentProtocol } from "../../src/formats/generateContent/generateContentHost.ts"
import { messages } from "../../src/formats/messages/messagesClient.ts"
import { messagesProtocol } from "../../src/formats/messages/messagesHost.ts"
import type { Protocol } from "../../src/formats/Protocol.ts"
import { responses } from "../../src/formats/responses/responsesClient.ts"
import { responsesProtocol } from "../../src/formats/responses/responsesHost.ts"
import { HostStream } from "../../src/formats/stream/HostStream.ts"
import { Target } from "../../src/formats/Target.ts"
import { eventStreamEvent } from "../../src/testing/eventStream.ts"
import { answerNames } from "../support/formats/answerNames.ts"
import { hostFor } from "../support/recordings/recordings.ts"

setDefaultTimeout(1_800_000)

/** What a model may say, in the words of no vendor. */
type Block =
  | { readonly kind: "thought"; readonly text: string; readonly signature: string }
  | { readonly kind: "hidden"; readonly data: string }
  | { readonly kind: "text"; readonly text: string; readonly signature?: string; readonly url?: string }
  | { readonly kind: "call"; readonly id: string; readonly signature?: string }

interface Family {
  readonly protocol: Protocol
  readonly model: string
  readonly whole: (blocks: ReadonlyArray<Block>) => JsonObject
  /** Name and data of each event. */
  readonly events: (blocks: ReadonlyArray<Block>) => ReadonlyArray<readonly [string, JsonObject]>
  /** The blocks of each turn of the assistant in a request to such a host. */
  readonly given: (body: JsonObject) => ReadonlyArray<ReadonlyArray<Block>>
  readonly mayHide: boolean
  /** Signs texts and calls too, as Gemini does. */
  readonly signsAll?: boolean
}

const listOf = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])
const textIn = (value: unknown): string => (typeof value === "string" ? value : "")
const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})
const input = { town: "Bern" }
const written = JSON.stringify(input)

const citationOf = (url: string): JsonObject => ({
  ...{ type: "web_search_result_location", url, title: "t", cited_text: "c", encrypted_index: "e" },
})
const anthropicBlock = (block: Block): JsonObject => {
  switch (block.kind) {
    case "thought":
      return { type: "thinking", thinking: block.text, signature: block.signature }
    case "hidden":
      return { type: "redacted_thinking", data: block.data }
    case "text":
      return {
        type: "text",
        text: block.text,
        ...(block.url === undefined ? {} : { citations: [citationOf(block.url)] }),
      }
    case "call":
      return { type: "tool_use", id: block.id, name: "weather", input }
  }
}
const usage = { input_tokens: 10, output_tokens: 5 }
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", usage }
const stopOf = (blocks: ReadonlyArray<Block>): string =>
  blocks.some(({ kind }) => kind === "call") ? "tool_use" : "end_turn"
/** What each turn of the assistant has. */
const assistants = (body: JsonObject, read: (block: JsonObject) => Block): ReadonlyArray<ReadonlyArray<Block>> =>
  listOf(body["messages"]).flatMap(({ role, content }) => (role === "assistant" ? [listOf(content).map(read)] : []))

const anthropic: Family = {
  protocol: messagesProtocol(),
  model: "claude-opus-4-5",
  mayHide: true,
  whole: (blocks) => ({ ...message, content: blocks.map(anthropicBlock), stop_reason: stopOf(blocks) }),
  events: (blocks) => {
    const all: ReadonlyArray<JsonObject> = [
      { type: "message_start", message: { ...message, content: [] } },
      ...blocks.flatMap((block, index): ReadonlyArray<JsonObject> => {
        const deltas: ReadonlyArray<JsonObject> =
          block.kind === "thought"
            ? [
                { type: "thinking_delta", thinking: block.text },
                { type: "signature_delta", signature: block.signature },
              ]
            : block.kind === "text"
              ? [
                  { type: "text_delta", text: block.text },
                  ...(block.url === undefined ? [] : [{ type: "citations_delta", citation: citationOf(block.url) }]),
                ]
              : block.kind === "call"
                ? [{ type: "input_json_delta", partial_json: written }]
                : []
        const empty = {
          thought: { thinking: "", signature: "" },
          text: { text: "", citations: [] },
          call: { input: {} },
          hidden: {},
        }
        return [
          { type: "content_block_start", index, content_block: { ...anthropicBlock(block), ...empty[block.kind] } },
          ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
          { type: "content_block_stop", index },
        ]
      }),
      { type: "message_delta", delta: { stop_reason: stopOf(blocks) }, usage },
      { type: "message_stop" },
    ]
    return all.map((event) => [String(event["type"]), event])
  },
  given: (body) =>
    assistants(body, (block): Block => {
      if (block["type"] === "thinking")
        return { kind: "thought", text: textIn(block["thinking"]), signature: textIn(block["signature"]) }
      if (block["type"] === "redacted_thinking") return { kind: "hidden", data: textIn(block["data"]) }
      return block["type"] === "tool_use"
        ? { kind: "call", id: textIn(block["id"]) }
        : { kind: "text", text: textIn(block["text"]) }
    }),
}

const bedrockBlock = (block: Block): JsonObject => {
  switch (block.kind) {
    case "thought":
      return { reasoningContent: { reasoningText: { text: block.text, signature: block.signature } } }
    case "hidden":
      return { reasoningContent: { redactedContent: block.data } }
    case "text":
      return { text: block.text }
    case "call":
      return { toolUse: { toolUseId: block.id, name: "weather", input } }
  }
}
const bedrockUsage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

const bedrock: Family = {
  protocol: converse,
  model: "anthropic.claude-opus-4-5-v1:0",
  mayHide: true,
  whole: (blocks) => ({
    output: { message: { role: "assistant", content: blocks.map(bedrockBlock) } },
    ...{ stopReason: stopOf(blocks), usage: bedrockUsage },
  }),
  events: (blocks) => [
    ["messageStart", { role: "assistant" }],
    ...blocks.flatMap((block, contentBlockIndex): ReadonlyArray<readonly [string, JsonObject]> => {
      const delta = (given: JsonObject) => ["contentBlockDelta", { contentBlockIndex, delta: given }] as const
      const pieces =
        block.kind === "thought"
          ? [
              delta({ reasoningContent: { text: block.text } }),
              delta({ reasoningContent: { signature: block.signature } }),
            ]
          : block.kind === "hidden"
            ? [delta({ reasoningContent: { redactedContent: block.data } })]
            : block.kind === "text"
              ? [delta({ text: block.text })]
              : [delta({ toolUse: { input: written } })]
      const start = { toolUse: { toolUseId: block.kind === "call" ? block.id : "", name: "weather" } }
      return [
        ...(block.kind === "call" ? [["contentBlockStart", { contentBlockIndex, start }] as const] : []),
        ...pieces,
        ["contentBlockStop", { contentBlockIndex }],
      ]
    }),
    ["messageStop", { stopReason: stopOf(blocks) }],
    ["metadata", { usage: bedrockUsage }],
  ],
  given: (body) =>
    assistants(body, (block): Block => {
      const { reasoningContent, text, toolUse } = block
      const { reasoningText, redactedContent } = objectIn(reasoningContent)
      const { text: thought, signature } = objectIn(reasoningText)
      if (typeof redactedContent === "string") return { kind: "hidden", data: redactedContent }
      if (reasoningText !== undefined) return { kind: "thought", text: textIn(thought), signature: textIn(signature) }
      return isJsonObject(toolUse)
        ? { kind: "call", id: textIn(toolUse["toolUseId"]) }
        : { kind: "text", text: textIn(text) }
    }),
}

const annotationsOf = ({ text, url }: { readonly text: string; readonly url?: string }): ReadonlyArray<JsonObject> =>
  url === undefined ? [] : [{ type: "url_citation", url, title: "t", start_index: 0, end_index: text.length }]
const itemOf = (block: Block, at: number): JsonObject => {
  switch (block.kind) {
    case "thought": {
      const summary = block.text === "" ? [] : [{ type: "summary_text", text: block.text }]
      return { type: "reasoning", id: `rs_${at}`, summary, encrypted_content: block.signature }
    }
    case "hidden":
      return { type: "reasoning", id: `rs_${at}`, summary: [], encrypted_content: block.data }
    case "text": {
      const content = [{ type: "output_text", text: block.text, annotations: annotationsOf(block), logprobs: [] }]
      return { type: "message", id: `msg_${at}`, role: "assistant", status: "completed", content }
    }
    case "call":
      return {
        ...{ type: "function_call", id: `fc_${at}`, call_id: block.id, status: "completed" },
        ...{ name: "weather", arguments: written },
      }
  }
}
const responseOf = (output: ReadonlyArray<JsonObject>, status: string): JsonObject => ({
  ...{ id: "resp_1", object: "response", created_at: 1, model: "m", status, output },
  usage: { ...usage, total_tokens: 15 },
})

const openai: Family = {
  protocol: responsesProtocol(),
  model: "gpt-5.5",
  mayHide: true,
  whole: (blocks) => responseOf(blocks.map(itemOf), "completed"),
  events: (blocks) => {
    const items = blocks.map(itemOf)
    const all: ReadonlyArray<JsonObject> = [
      { type: "response.created", response: responseOf([], "in_progress") },
      ...items.flatMap((item, output_index): ReadonlyArray<JsonObject> => {
        const place = { item_id: item["id"], output_index }
        const block = blocks[output_index]
        const text = block?.kind === "text" || block?.kind === "thought" ? block.text : ""
        const deltas: ReadonlyArray<JsonObject> =
          item["type"] === "message"
            ? [
                { type: "response.output_text.delta", ...place, content_index: 0, delta: text },
                ...(block?.kind === "text" ? annotationsOf(block) : []).map((annotation) => ({
                  ...{ type: "response.output_text.annotation.added", ...place, content_index: 0, annotation_index: 0 },
                  annotation,
                })),
              ]
            : item["type"] === "function_call"
              ? [{ type: "response.function_call_arguments.delta", ...place, delta: written }]
              : text === ""
                ? []
                : [{ type: "response.reasoning_summary_text.delta", ...place, summary_index: 0, delta: text }]
        const empty =
          item["type"] === "message"
            ? { content: [] }
            : item["type"] === "reasoning"
              ? { summary: [] }
              : { arguments: "" }
        const { encrypted_content: _, ...begun }: JsonObject = { ...item, ...empty }
        return [
          { type: "response.output_item.added", output_index, item: begun },
          ...deltas,
          { type: "response.output_item.done", output_index, item },
        ]
      }),
      { type: "response.completed", response: responseOf(items, "completed") },
    ]
    return all.map((event) => [String(event["type"]), event])
  },
  given: (body) => {
    const turns: Array<Array<Block>> = []
    let isOpen = false
    for (const item of listOf(body["input"])) {
      const block = blockOfItem(item)
      if (block !== undefined && !isOpen) turns.push([])
      if (block !== undefined) turns.at(-1)?.push(block)
      isOpen = block !== undefined
    }
    return turns
  },
}

const textsOf = (parts: unknown): string =>
  listOf(parts)
    .map((part) => textIn(part["text"]))
    .join("")

const blockOfItem = (item: JsonObject): Block | undefined => {
  const { type, role, content, summary, encrypted_content: encrypted } = item
  if (type === "function_call") return { kind: "call", id: textIn(item["call_id"]) }
  if (type === "reasoning") {
    const text = textsOf(summary)
    return text === ""
      ? { kind: "hidden", data: textIn(encrypted) }
      : { kind: "thought", text, signature: textIn(encrypted) }
  }
  if (role !== "assistant") return undefined
  return { kind: "text", text: typeof content === "string" ? content : textsOf(content) }
}

const partOf = (block: Block): JsonObject => {
  switch (block.kind) {
    case "thought":
      return { text: block.text, thought: true, thoughtSignature: block.signature }
    case "hidden":
      throw new Error("Gemini hides no thoughts")
    case "text":
      return { text: block.text, thoughtSignature: block.signature }
    case "call":
      return { functionCall: { id: block.id, name: "weather", args: input }, thoughtSignature: block.signature }
  }
}
const candidateOf = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
})

const google: Family = {
  protocol: generateContentProtocol(),
  model: "gemini-3.5-flash",
  mayHide: false,
  signsAll: true,
  whole: (blocks) => candidateOf(blocks.map(partOf), { finishReason: "STOP" }),
  events: (blocks) => [
    ...blocks.map((block) => ["", candidateOf([partOf(block)])] as const),
    ["", candidateOf([], { finishReason: "STOP" })],
  ],
  given: (body) => {
    const turns: Array<Array<Block>> = []
    let before: unknown
    for (const { role, parts } of listOf(body["contents"])) {
      // Clients keep each event of a stream as a turn of its own.
      if (role === "model" && before !== "model") turns.push([])
      if (role === "model") turns.at(-1)?.push(...listOf(parts).flatMap(blockOfPart))
      before = role
    }
    return turns
  },
}

/** A text without words says something only where it is signed, and the mark of a foreign call is the gateway's own. */
const blockOfPart = ({ text, thought, functionCall: call, thoughtSignature }: JsonObject): ReadonlyArray<Block> => {
  const signature = textIn(thoughtSignature)
  const isNone = signature === "" || signature === "skip_thought_signature_validator"
  if (isJsonObject(call)) return [{ kind: "call", id: textIn(call["id"]), ...(isNone ? {} : { signature }) }]
  if (thought === true) return [{ kind: "thought", text: textIn(text), signature }]
  if (isNone) return text === "" ? [] : [{ kind: "text", text: textIn(text) }]
  return [{ kind: "text", text: textIn(text), signature }]
}

/** A client that gives an answer back as it got it, and the results of its calls. */
interface Client {
  readonly format: ClientFormat
  readonly ask: JsonObject
  /** Default: the one of a chat. */
  readonly target?: Target
  /** What a user says. Default: as in a chat. */
  readonly user?: (text: string) => JsonObject
  /** The answer as it is kept in the conversation. */
  readonly said: (answer: JsonObject) => ReadonlyArray<JsonObject>
  readonly results: (calls: ReadonlyArray<string>) => ReadonlyArray<JsonObject>
  /** A whole answer out of the events of a stream. */
  readonly collected: (events: ReadonlyArray<JsonObject>) => JsonObject
}

const chatUser = (content: string): JsonObject => ({ role: "user", content })

/** As the AI SDK keeps a stream's details: fragments of one index are one detail. */
const mergedDetails = (details: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const merged: Array<Record<string, unknown>> = []
  for (const detail of details) {
    const last = merged.at(-1)
    const same =
      last !== undefined &&
      last["index"] === detail["index"] &&
      last["type"] === detail["type"] &&
      last["id"] === detail["id"]
    if (!same) merged.push({ ...detail })
    else
      for (const [name, value] of Object.entries(detail)) {
        if (["text", "summary", "data"].includes(name)) last[name] = textIn(last[name]) + textIn(value)
        else if (value != null) last[name] = value
      }
  }
  return merged
}

const clients: Readonly<Record<"chat" | "messages" | "responses" | "generateContent", Client>> = {
  chat: {
    format: chat,
    ask: { reasoning: { enabled: true }, tools: [{ type: "function", function: { name: "weather" } }] },
    said: ({ choices }) => [objectIn(listOf(choices)[0]?.["message"])],
    results: (calls) => calls.map((id) => ({ role: "tool", tool_call_id: id, content: "sunny" })),
    collected: (events) => {
      const calls: Array<Record<string, unknown>> = []
      const details: Array<JsonObject> = []
      const annotations: Array<JsonObject> = []
      let content = ""
      for (const { delta } of events.flatMap(({ choices }) => listOf(choices))) {
        const { content: text, reasoning_details: more, tool_calls: called, annotations: cited } = objectIn(delta)
        annotations.push(...listOf(cited))
        content += textIn(text)
        details.push(...listOf(more))
        for (const { index, id, function: given } of listOf(called)) {
          const { name, arguments: piece } = objectIn(given)
          const at = Number(index)
          const before = calls[at] ?? { id, type: "function", function: { name, arguments: "" } }
          const all = textIn(objectIn(before["function"])["arguments"]) + textIn(piece)
          calls[at] = { ...before, function: { ...objectIn(before["function"]), arguments: all } }
        }
      }
      const message = {
        ...{ role: "assistant", content, reasoning_details: mergedDetails(details) },
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...(annotations.length === 0 ? {} : { annotations }),
      }
      return { choices: [{ message }] }
    },
  },
  messages: {
    format: messages,
    ask: {
      ...{ max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 } },
      tools: [{ name: "weather", input_schema: { type: "object" } }],
    },
    said: ({ content }) => [{ role: "assistant", content }],
    results: (calls) => [
      { role: "user", content: calls.map((tool_use_id) => ({ type: "tool_result", tool_use_id, content: "sunny" })) },
    ],
    collected: (events) => {
      const content: Array<Record<string, unknown>> = []
      for (const { type, index, content_block: block, delta } of events) {
        const at = Number(index)
        if (type === "content_block_start") content[at] = { ...objectIn(block) }
        const open = content[at]
        if (type !== "content_block_delta" || open === undefined) continue
        const { type: kind, text, thinking, signature, partial_json: json } = objectIn(delta)
        if (kind === "citations_delta") open["citations"] = [...listOf(open["citations"]), objectIn(delta)["citation"]]
        if (kind === "text_delta") open["text"] = textIn(open["text"]) + textIn(text)
        if (kind === "thinking_delta") open["thinking"] = textIn(open["thinking"]) + textIn(thinking)
        if (kind === "signature_delta") open["signature"] = signature
        if (kind === "input_json_delta") open["input"] = JSON.parse(textIn(json))
      }
      return { content }
    },
  },
  responses: {
    format: responses,
    ask: {
      ...{ store: false, include: ["reasoning.encrypted_content"], reasoning: { effort: "medium", summary: "auto" } },
      tools: [{ type: "function", name: "weather", parameters: { type: "object" }, strict: false }],
    },
    said: ({ output }) => listOf(output),
    results: (calls) => calls.map((call_id) => ({ type: "function_call_output", call_id, output: "sunny" })),
    collected: (events) => objectIn(events.find(({ type }) => type === "response.completed")?.["response"]),
  },
  generateContent: {
    format: generateContent,
    target: new Target(
      "/api/v1beta/models/{model}:streamGenerateContent",
      "http://127.0.0.1/api/v1beta/models/acme/small:streamGenerateContent?alt=sse",
    ),
    user: (text) => ({ role: "user", parts: [{ text }] }),
    ask: {
      generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } },
      tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: { type: "object" } }] }],
    },
    said: ({ candidates }) => listOf(candidates).flatMap(({ content }) => (isJsonObject(content) ? [content] : [])),
    results: (calls) => [
      {
        role: "user",
        parts: calls.map((id) => ({ functionResponse: { id, name: "weather", response: { output: "sunny" } } })),
      },
    ],
    // Clients keep each event as a turn of its own.
    collected: (events) => ({ candidates: events.flatMap(({ candidates }) => listOf(candidates)) }),
  },
}

const responsesClient: Client = clients.responses

/** As Codex keeps the output of a stream: each item when it is done. */
const codex: Client = {
  ...responsesClient,
  collected: (events) => ({
    output: events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [objectIn(item)] : [])),
  }),
}

/** As opencode gives reasoning back by the AI SDK: its encrypted content and summary, without an id. */
const opencode: Client = {
  ...responsesClient,
  said: (answer) =>
    responsesClient.said(answer).map((item) => {
      if (item["type"] !== "reasoning") return item
      const { type, summary, encrypted_content } = item
      return { type, summary, encrypted_content }
    }),
}

const names = answerNames()
const charge: Charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }
const head = { status: 200, headers: new Headers() }
const noHeaders = new Headers()
const target = new Target("/api/v1/chat/completions", "http://127.0.0.1/api/v1/chat/completions")

const requestOf = ({ format, ask, target: own = target }: Client, conversation: ReadonlyArray<JsonObject>) => {
  const body = { model: "acme/small", ...ask, [format.prompt]: conversation }
  const decoded = format.decode(body, noHeaders, own)
  if (Either.isLeft(decoded)) throw new Error(JSON.stringify(decoded.left.issues))
  return decoded.right
}

const bytesFor = ({ framing }: Protocol, [name, data]: readonly [string, JsonObject]): Uint8Array =>
  framing === "aws-eventstream"
    ? eventStreamEvent(name, JSON.stringify(data))
    : Buffer.from(`${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)

/** How the host and the gateway answer. `wholeToStream`: the host gave no stream although the client asked for one. */
type Mode = "whole" | "streamed" | "wholeToStream"

/**
 * The conversation after an answer of a host with these blocks, with the results of its calls or a further question.
 */
const afterTurn = (
  { protocol, model, ...family }: Family,
  client: Client,
  before: ReadonlyArray<JsonObject>,
  blocks: ReadonlyArray<Block>,
  mode: Mode,
): ReadonlyArray<JsonObject> => {
  const { format } = client
  const host = hostFor(model)
  const request = requestOf(client, before)
  const isNative = protocol.native?.form === format.name
  const whole = () => {
    const read = protocol.decode(head, family.whole(blocks), { request, host })
    if (read instanceof HostFailed) throw read
    return read
  }
  let answer: JsonObject
  if (mode === "whole") {
    const written = format.answer(names, request)(host, whole(), isNative ? family.whole(blocks) : undefined)
    answer = JSON.parse(String(written(charge)))
  } else {
    const writer = format.stream(names, request, client.target ?? target)(host)
    const stream = new HostStream({
      ...{ framing: protocol.framing, transparent: false, decoder: protocol.decoder(head, { request, host }) },
      ...{ writer, excludeReasoning: false, choices: 1 },
      native: mode === "streamed" && isNative && writer.native !== undefined,
    })
    let text = ""
    if (mode === "wholeToStream") text = stream.whole(whole())
    else for (const event of family.events(blocks)) text += stream.push(bytesFor(protocol, event))
    if (mode === "streamed") text += stream.end()
    if (stream.state !== "ended") throw new Error(`the stream ${stream.state}: ${String(stream.failure?.cause)}`)
    text += writer.finish(stream.finish(), charge)
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? ""))
    answer = client.collected(events)
  }
  const calls = blocks.flatMap((block) => (block.kind === "call" ? [block.id] : []))
  const { user = chatUser } = client
  return [...before, ...client.said(answer), ...(calls.length === 0 ? [user("Go on.")] : client.results(calls))]
}

/** What a host gets with a conversation, whose order is not lost. */
const sentTo = ({ protocol, model }: Family, client: Client, conversation: ReadonlyArray<JsonObject>) => {
  const host = hostFor(model)
  const request = requestOf(client, conversation)
  const { native } = protocol
  const encoded =
    native?.form === client.format.name && request.native !== undefined
      ? native.encode(request, request.native, host)
      : protocol.encode(request, host)
  if (Either.isLeft(encoded)) throw new Error(JSON.stringify(encoded.left))
  const { body, dropped = [] } = encoded.right
  expect(dropped).not.toContain("order")
  const json: JsonObject = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
  return { json, dropped }
}

/** The turns of the assistant in it. */
const turnsAt = (family: Family, client: Client, conversation: ReadonlyArray<JsonObject>) =>
  family.given(sentTo(family, client, conversation).json)

const question = ({ user = chatUser }: Client): ReadonlyArray<JsonObject> => [user("How is the weather?")]

/** Texts that follow each other are one. */
const joined = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => {
  const all: Array<Block> = []
  for (const block of blocks) {
    const last = all.at(-1)
    if (block.kind === "text" && last?.kind === "text" && !block.signature && !last.signature)
      all[all.length - 1] = { kind: "text", text: last.text + block.text }
    else all.push(block)
  }
  return all
}

const word = fc.string({ unit: fc.constantFrom("a", "b", "é", "💡"), minLength: 1, maxLength: 6 })
/** What a host of the family may say. `of`: begins the ids of its calls. */
const answersOf = ({ mayHide, signsAll = false }: Family, of = "call") =>
  fc
    .array(
      fc.oneof(
        fc
          .tuple(word, word)
          .map(([text, signature]): Block => ({ kind: "thought", text, signature: `sig${signature}` })),
        word.map((text): Block => ({ kind: "text", text })),
        fc.constant<Block>({ kind: "call", id: "" }),
        ...(mayHide ? [word.map((data): Block => ({ kind: "hidden", data: `hid${data}` }))] : []),
      ),
      { minLength: 1, maxLength: 7 },
    )
    .map((blocks) =>
      blocks.map((block, at): Block => {
        const signature = signsAll ? { signature: `c2ln${at}` } : {}
        if (block.kind === "call") return { kind: "call", id: `${of}_${at}`, ...signature }
        return block.kind === "text" ? { ...block, ...signature } : block
      }),
    )
    // An answer says something besides reasoning.
    .filter((blocks) => blocks.some(({ kind }) => kind === "text" || kind === "call"))

/** Where Google's client gets a whole answer of Google's as a stream, signatures are parts of their own. */
const isWrittenAnew = (family: Family, { format }: Client, mode: Mode): boolean =>
  family === google && format === generateContent && mode === "wholeToStream"

/** All signatures, in no order. */
const signaturesIn = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> =>
  blocks.flatMap((block) => ("signature" in block && block.signature ? [block.signature] : [])).toSorted()

const families = { anthropic, bedrock, openai, google }

describe.each(Object.entries(families))("an answer of %s", (_, family) => {
  describe.each(Object.entries({ ...clients, codex, opencode }))("to a %s client", (_name, client) => {
    test.each<Mode>(["whole", "streamed", "wholeToStream"])("comes back in any order (%s)", (mode) => {
      fc.assert(
        fc.property(answersOf(family), (blocks) => {
          const turns = turnsAt(family, client, afterTurn(family, client, question(client), blocks, mode))
          if (isWrittenAnew(family, client, mode)) {
            expect(turns.map(spoken)).toEqual([spoken(blocks)])
            expect(turns.map(signaturesIn)).toEqual([signaturesIn(blocks)])
          } else expect(turns.map(joined)).toEqual([joined(blocks)])
        }),
        { numRuns: 200, seed: 20_261_128 },
      )
    })

    test.each(Object.entries(families).filter(([, other]) => other !== family))(
      "comes back after a turn at %s",
      (__, other) => {
        fc.assert(
          fc.property(
            answersOf(family),
            answersOf(other, "other"),
            fc.constantFrom<Mode>("whole", "streamed"),
            (blocks, between, mode) => {
              const first = afterTurn(family, client, question(client), blocks, mode)
              turnsAt(other, client, first)
              const second = afterTurn(other, client, first, between, mode)
              const [own = [], others = []] = turnsAt(family, client, second)
              expect(joined(own)).toEqual(joined(blocks))
              // Reasoning of one family is nothing to another.
              expect(spoken(others)).toEqual(spoken(between))
            },
          ),
          { numRuns: 30, seed: 20_261_128 },
        )
      },
    )
  })
})

/** What is said and the addresses that it cites, as a client sees it. Texts are those that stand at the places. */
const citedIn: Readonly<Record<"chat" | "messages" | "responses", (said: JsonObject) => ReadonlyArray<unknown>>> = {
  chat: ({ content, annotations }) =>
    listOf(annotations).map(({ url_citation: cited }) => placed(textIn(content), objectIn(cited))),
  messages: ({ content }) =>
    listOf(content).flatMap(({ text, citations }) => listOf(citations).map(({ url }) => [text, url])),
  responses: ({ content }) =>
    listOf(content).flatMap(({ text, annotations }) => listOf(annotations).map((one) => placed(textIn(text), one))),
}
const placed = (text: string, { url, start_index: from, end_index: to }: JsonObject) => [
  text.slice(Number(from), Number(to)),
  url,
]

describe.each(Object.entries({ anthropic, openai }))("citations of %s", (_, family) => {
  test.each(
    (["chat", "messages", "responses"] as const).flatMap((name) =>
      (["whole", "streamed", "wholeToStream"] as const).map((mode) => [name, mode] as const),
    ),
  )("stay with their text: %s, %s", (name, mode) => {
    fc.assert(
      fc.property(answersOf(family), (given) => {
        const blocks = given.map((block, at) =>
          block.kind === "text" ? { ...block, text: `${block.text}${at}`, url: `https://c.test/${at}` } : block,
        )
        const client = clients[name]
        const said = afterTurn(family, client, question(client), blocks, mode)
        const cited = blocks.flatMap((block) => (block.kind === "text" ? [[block.text, block.url]] : []))
        // Texts that follow each other may be one block of the Messages form, whose citations have no places in it.
        const holding = cited.map(([text, url]) => [expect.stringContaining(text ?? ""), url])
        expect(said.flatMap(citedIn[name])).toEqual(name === "messages" ? holding : cited)
        // They do not keep the conversation from going back.
        const turns = turnsAt(family, client, said)
        const plain = blocks.map((block): Block => (block.kind === "text" ? { kind: "text", text: block.text } : block))
        expect(turns.map(joined)).toEqual([joined(plain)])
      }),
      { numRuns: 40, seed: 20_261_128 },
    )
  })
})

/** Texts and images of a turn: each is found again in any form by its own word. */
const marks = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 5 })
  .map((all) => all.map((isImage, at) => (isImage ? `IMG${at}` : `TXT${at}`)))
const marksIn = (sent: unknown): ReadonlyArray<string> => JSON.stringify(sent).match(/(?:IMG|TXT)\d/g) ?? []

/** A turn of the user with these, in each client's words. */
const mediaOf: Readonly<Record<keyof typeof clients, (words: ReadonlyArray<string>) => JsonObject>> = {
  chat: (words) => ({ role: "user", content: words.map((word) => (isImage(word) ? chatImage(word) : chatText(word))) }),
  messages: (words) => ({
    role: "user",
    content: words.map((word) => {
      const source = { type: "base64", media_type: "image/png", data: word }
      return isImage(word) ? { type: "image", source } : chatText(word)
    }),
  }),
  responses: (words) => ({
    role: "user",
    content: words.map((word) =>
      isImage(word) ? { type: "input_image", image_url: dataUrl(word) } : { type: "input_text", text: word },
    ),
  }),
  generateContent: (words) => ({
    role: "user",
    parts: words.map((word) => (isImage(word) ? inlineImage(word) : { text: word })),
  }),
}
const isImage = (word: string): boolean => word.startsWith("IMG")
const dataUrl = (data: string): string => `data:image/png;base64,${data}`
const chatText = (text: string): JsonObject => ({ type: "text", text })
const chatImage = (data: string): JsonObject => ({ type: "image_url", image_url: { url: dataUrl(data) } })
const inlineImage = (data: string): JsonObject => ({ inlineData: { mimeType: "image/png", data } })

const clientNames = ["chat", "messages", "responses", "generateContent"] as const

describe.each(Object.entries(families))("what a host of %s is given", (_, family) => {
  test.each(clientNames)("texts and images of the user in order, from a %s client", (name) => {
    fc.assert(
      fc.property(marks, (words) => {
        const { json, dropped } = sentTo(family, clients[name], [mediaOf[name](words)])
        expect([marksIn(json), dropped]).toEqual([words, []])
      }),
      { numRuns: 30, seed: 20_261_128 },
    )
  })

  test("images that a model made, or their place in what is dropped, from a chat client", () => {
    fc.assert(
      fc.property(marks, (words) => {
        const images = words.filter(isImage).map(chatImage)
        const said = { role: "assistant", content: "TXT9", ...(images.length === 0 ? {} : { images }) }
        const { json, dropped } = sentTo(family, clients.chat, [chatUser("x"), said, chatUser("y")])
        const isCarried = family === google || images.length === 0
        expect(dropped).toEqual(isCarried ? [] : ["messages[1].images"])
        expect(marksIn(json)).toEqual(["TXT9", ...(isCarried ? words.filter(isImage) : [])])
      }),
      { numRuns: 30, seed: 20_261_128 },
    )
  })

  test.each(["refusal", "content"])("a refusal in %s, from a chat client", (place) => {
    const content = [{ type: "refusal", refusal: "TXT1" }]
    const said = { role: "assistant", ...(place === "content" ? { content } : { content: "", refusal: "TXT1" }) }
    const { json, dropped } = sentTo(family, clients.chat, [chatUser("x"), said, chatUser("y")])
    expect([marksIn(json), dropped]).toEqual([["TXT1"], []])
    if (family === openai) expect(JSON.stringify(json)).toContain('{"type":"refusal","refusal":"TXT1"}')
  })
})

test("reasoning in two pieces behind a call was taken apart at another place, from Google's clients", () => {
  const [client, thought] = [clients.generateContent, { kind: "thought", text: "a", signature: "siga" } as const]
  const blocks: ReadonlyArray<Block> = [{ kind: "call", id: "call_0" }, thought, { ...thought, text: "b" }]
  expect(turnsAt(openai, client, afterTurn(openai, client, question(client), blocks, "whole"))).toEqual([blocks])
})

/** Texts and calls, without signatures. */
const spoken = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  joined(
    blocks.flatMap((block): ReadonlyArray<Block> => {
      if (block.kind === "text") return block.text === "" ? [] : [{ kind: "text", text: block.text }]
      return block.kind === "call" ? [{ kind: "call", id: block.id }] : []
    }),
  )
