/** Hosts and callers of the Messages form. */
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readMessagesStream } from "../../../src/testing/grammar/messages.ts"
import { inputOf } from "../forms/script.ts"
import type { TestGateway } from "../gateways/gateway.ts"
import { configFor, type ScriptedHost } from "./host.ts"

/** Events as a host of the form writes them. */
export const eventText = (data: JsonObject): string =>
  `event: ${String(data["type"])}\ndata: ${JSON.stringify(data)}\n\n`

export const hostUsage = {
  input_tokens: 20,
  cache_creation_input_tokens: 4,
  cache_read_input_tokens: 6,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 3 },
  output_tokens: 1,
  service_tier: "standard",
}

export const startEvent: JsonObject = {
  type: "message_start",
  message: {
    id: "msg_host",
    type: "message",
    role: "assistant",
    model: "name-at-the-host",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: hostUsage,
    future: { of: "the start" },
  },
}

export const blockEvents = (index: number, block: JsonObject, deltas: ReadonlyArray<JsonObject>) => [
  { type: "content_block_start", index, content_block: block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
]

export const textBlock = (index: number, words: ReadonlyArray<string>) =>
  blockEvents(
    index,
    { type: "text", text: "" },
    words.map((text) => ({ type: "text_delta", text })),
  )

export const endEvents = (reason: string, output = 12): ReadonlyArray<JsonObject> => [
  {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null, stop_details: null },
    usage: { output_tokens: output },
    context_management: { applied_edits: [] },
  },
  { type: "message_stop" },
]

/** A streamed answer of a host of the form. */
export const nativeStream = (events: ReadonlyArray<JsonObject>): Response =>
  new Response(events.map(eventText).join(""), { headers: { "content-type": "text/event-stream" } })

/** A stream of which the test gives the rest once the caller has the beginning. */
export const inTwoParts = (first: ReadonlyArray<JsonObject>, then: ReadonlyArray<JsonObject>) => {
  const begun = Promise.withResolvers<void>()
  const bytes = (events: ReadonlyArray<JsonObject>) => new TextEncoder().encode(events.map(eventText).join(""))
  const answer = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: async (controller) => {
          controller.enqueue(bytes(first))
          await begun.promise
          controller.enqueue(bytes(then))
          controller.close()
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  return { answer, goOn: () => begun.resolve() }
}

/** A whole answer of a host of the form. */
export const nativeAnswer = (content: ReadonlyArray<JsonObject>, more: JsonObject = {}): Response =>
  Response.json({
    id: "msg_host",
    type: "message",
    role: "assistant",
    model: "name-at-the-host",
    content,
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { ...hostUsage, output_tokens: 12 },
    ...more,
  })

/** One model `acme/small` at a host of the Messages form (`claude`), or of the chat form (`other`), or at both. */
export const messagesConfig = (
  hosts: { readonly claude?: ScriptedHost; readonly other?: ScriptedHost },
  host: JsonObject = {},
  more: Record<string, unknown> = {},
) => {
  const urls = Object.fromEntries(Object.entries(hosts).map(([slug, { url }]) => [slug, { url }]))
  const { providers, models, ...rest } = configFor(urls, more)
  const claude = hosts.claude && {
    claude: { plugin: "anthropic", base_url: hosts.claude.url, network: "private" as const, api_key: "key-of-claude" },
  }
  return {
    ...rest,
    providers: { ...providers, ...claude },
    models: models.map((model) => ({ ...model, hosts: model.hosts.map((one) => ({ ...one, ...host })) })),
  }
}

/** `POST /messages` of this body, with `model` and a message unless it has its own. */
export const ask = (gateway: TestGateway, body: JsonObject = {}, headers: Record<string, string> = {}) =>
  gateway.call("/messages", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...body, ...missing(body) }),
  })

const missing = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries({ model: "acme/small", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] }).filter(
      ([name]) => !(name in body),
    ),
  )

/** The events of a stream, which has to keep the grammar. */
export const eventsOf = async (response: Response): Promise<ReadonlyArray<JsonObject>> =>
  readMessagesStream(await response.text())

/** The message that the events of a stream add up to. Its `error` is that of an `error` event. */
export const assembled = (events: ReadonlyArray<JsonObject>): JsonObject => {
  let message: Record<string, unknown> = {}
  const content: Array<Record<string, unknown>> = []
  for (const event of events) {
    const block = content[Number(event["index"])]
    const delta = isJsonObject(event["delta"]) ? event["delta"] : {}
    switch (event["type"]) {
      case "message_start":
        message = { ...(isJsonObject(event["message"]) ? event["message"] : {}) }
        break
      case "content_block_start":
        content.push({ ...(isJsonObject(event["content_block"]) ? event["content_block"] : {}), json: "" })
        break
      case "content_block_delta":
        if (block !== undefined) add(block, delta)
        break
      case "message_delta":
        message = { ...message, ...delta, usage: { ...Object(message["usage"]), ...Object(event["usage"]) } }
        break
      case "error":
        message = { ...message, error: event["error"] }
    }
  }
  return { ...message, content: content.map(finished) }
}

const add = (
  block: Record<string, unknown>,
  { type, text, thinking, signature, partial_json, citation }: JsonObject,
) => {
  switch (type) {
    case "text_delta":
      block["text"] += String(text)
      break
    case "thinking_delta":
      block["thinking"] += String(thinking)
      break
    case "signature_delta":
      block["signature"] = signature
      break
    case "input_json_delta":
      block["json"] += String(partial_json)
      break
    case "citations_delta":
      block["citations"] = [...(Array.isArray(block["citations"]) ? block["citations"] : []), citation]
  }
}

const finished = ({ json, ...block }: Record<string, unknown>): JsonObject =>
  block["type"] === "tool_use" ? { ...block, input: json === "" ? {} : inputOf(json) } : block
