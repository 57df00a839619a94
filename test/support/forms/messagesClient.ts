/** Callers of the Messages form. */
import { expect } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readMessagesStream } from "../../../src/testing/grammar/messages.ts"
import { assembled } from "../hosts/messages.ts"
import { type ClientForm, type Failed, filled, userContent, withoutNames } from "./ClientForm.ts"
import { type Heard, numberIn, objectIn, objectsIn, type Part, present, type Question, textIn } from "./script.ts"

const sourceOf = (url: string): JsonObject => {
  const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? []
  return type === undefined ? { type: "url", url } : { type: "base64", media_type: type, data }
}

const messagesPart = (part: Part): JsonObject | undefined => {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text }
    case "image":
      return { type: "image", source: sourceOf(part.url) }
    case "file":
      return { type: "document", title: part.name, source: sourceOf(part.data) }
    case "stored":
      return { type: "document", source: { type: "file", file_id: part.id } }
    default:
      return undefined
  }
}

const messagesBody = ({ turns, tools, stop, schema, temperature }: Question): JsonObject => {
  const system = turns.flatMap((turn) => (turn.role === "system" ? turn.parts.map(messagesPart) : []))
  const messages = turns.flatMap((turn): ReadonlyArray<JsonObject> => {
    if (turn.role === "system") return []
    if (turn.role === "assistant") return [{ role: "assistant", content: turn.items }]
    if (turn.role === "result")
      return [{ role: "user", content: [{ type: "tool_result", tool_use_id: turn.id, content: turn.text }] }]
    return [{ role: "user", content: userContent(turn.parts, messagesPart) }]
  })
  return present({
    max_tokens: 400,
    thinking: { type: "adaptive" },
    messages: merged(messages),
    system: system.length === 0 ? undefined : system,
    tools: tools?.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    stop_sequences: stop,
    output_config: schema === undefined ? undefined : { format: { type: "json_schema", schema } },
    temperature,
  })
}

/** Results that follow each other are one message. */
const merged = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const found: Array<JsonObject> = []
  for (const message of messages) {
    const last = found.at(-1)
    if (last?.["role"] !== "user" || message["role"] !== "user") found.push(message)
    else {
      const content = [...objectsIn(last["content"]), ...objectsIn(message["content"])]
      found[found.length - 1] = { role: "user", content }
    }
  }
  return found
}

const messagesHeard = (body: JsonObject): Heard => {
  const blocks = objectsIn(body["content"])
  const textsOf = (type: string, member: string) =>
    blocks.map((block) => (block["type"] === type ? textIn(block[member]) : "")).join("")
  const usage = objectIn(body["usage"])
  const cached = numberIn(usage["cache_read_input_tokens"])
  const written = numberIn(usage["cache_creation_input_tokens"])
  return {
    reasoning: textsOf("thinking", "thinking"),
    text: textsOf("text", "text"),
    refusal: textIn(objectIn(body["stop_details"])["explanation"]),
    calls: blocks
      .filter(({ type }) => type === "tool_use")
      .map(({ id, name, input }) => ({ id: textIn(id), name: textIn(name), input: objectIn(input) })),
    end: textIn(body["stop_reason"]),
    counts: {
      prompt: numberIn(usage["input_tokens"]) + cached + written,
      cached,
      completion: numberIn(usage["output_tokens"]),
      reasoning: numberIn(objectIn(usage["output_tokens_details"])["thinking_tokens"]),
    },
    cost: numberIn(usage["cost"]),
    model: textIn(body["model"]),
  }
}

const messagesFailed = (body: JsonObject, response: Response): Failed => {
  expect(
    Object.keys(body)
      .filter((name) => name !== "openrouter_metadata")
      .toSorted(),
  ).toEqual(["error", "request_id", "type"])
  expect([body["type"], body["request_id"]]).toEqual(["error", response.headers.get("x-gw-request-id")])
  return messagesError(objectIn(body["error"]))
}

const messagesError = (error: JsonObject): Failed => {
  expect(textIn(error["type"])).toEndWith("_error")
  return { type: textIn(error["error_type"]), message: textIn(error["message"]) }
}

export const messagesClient: ClientForm = {
  name: "messages",
  path: "/messages",
  isChat: true,
  choices: 1,
  ends: { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" },
  body: messagesBody,
  several: (n) => ({ n }),
  given: (answer) => objectsIn(answer["content"]),
  assembled: (stream) => {
    const events = readMessagesStream(stream)
    const failure = events.find(({ type }) => type === "error")
    const last = objectIn(events.at(-1))
    return {
      ...assembled(events),
      ...(failure === undefined ? {} : { usage: failure["usage"] }),
      ...present({ openrouter_metadata: last["openrouter_metadata"] }),
    }
  },
  same: ({ usage, ...body }) => ({
    ...withoutNames(body),
    usage,
    // A stream begins a text without saying that it has no citations.
    content: objectsIn(body["content"]).map((block) => (block["type"] === "text" ? filled(block) : block)),
  }),
  heard: (body) => [messagesHeard(body)],
  failed: messagesFailed,
  broken: (body) => (isJsonObject(body["error"]) ? messagesError(body["error"]) : undefined),
  partOf: messagesPart,
}
