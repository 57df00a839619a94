/** Clients of each format, as they keep a conversation. */
import { isJsonObject, type JsonObject, objectIn, objectsIn } from "../../../src/domain/json/json.ts"
import type { ClientFormat } from "../../../src/formats/ClientFormat.ts"
import { chat } from "../../../src/formats/chat/chatClient.ts"
import { generateContent } from "../../../src/formats/generateContent/generateContentClient.ts"
import { messages } from "../../../src/formats/messages/messagesClient.ts"
import { responses } from "../../../src/formats/responses/responsesClient.ts"
import { Target } from "../../../src/formats/Target.ts"
import { textIn } from "./families/Family.ts"

/** A client that gives an answer back as it got it, and the results of its calls. */
export interface Client {
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

export const chatUser = (content: string): JsonObject => ({ role: "user", content })

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

export const clients: Readonly<Record<"chat" | "messages" | "responses" | "generateContent", Client>> = {
  chat: {
    format: chat,
    ask: { reasoning: { enabled: true }, tools: [{ type: "function", function: { name: "weather" } }] },
    said: ({ choices }) => [objectIn(objectsIn(choices)[0]?.["message"])],
    results: (calls) => calls.map((id) => ({ role: "tool", tool_call_id: id, content: "sunny" })),
    collected: (events) => {
      const calls: Array<Record<string, unknown>> = []
      const details: Array<JsonObject> = []
      const annotations: Array<JsonObject> = []
      const images: Array<JsonObject> = []
      let content = ""
      let refusal = ""
      for (const { delta } of events.flatMap(({ choices }) => objectsIn(choices))) {
        const { content: text, reasoning_details: more, tool_calls: called, annotations: cited } = objectIn(delta)
        annotations.push(...objectsIn(cited))
        images.push(...objectsIn(objectIn(delta)["images"]))
        content += textIn(text)
        refusal += textIn(objectIn(delta)["refusal"])
        details.push(...objectsIn(more))
        for (const { index, id, function: given } of objectsIn(called)) {
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
        ...(images.length === 0 ? {} : { images }),
        ...(refusal === "" ? {} : { refusal }),
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
      const ending = objectIn(events.find(({ type }) => type === "message_delta")?.["delta"])
      for (const { type, index, content_block: block, delta } of events) {
        const at = Number(index)
        if (type === "content_block_start") content[at] = { ...objectIn(block) }
        const open = content[at]
        if (type !== "content_block_delta" || open === undefined) continue
        const { type: kind, text, thinking, signature, partial_json: json } = objectIn(delta)
        if (kind === "citations_delta")
          open["citations"] = [...objectsIn(open["citations"]), objectIn(delta)["citation"]]
        if (kind === "text_delta") open["text"] = textIn(open["text"]) + textIn(text)
        if (kind === "thinking_delta") open["thinking"] = textIn(open["thinking"]) + textIn(thinking)
        if (kind === "signature_delta") open["signature"] = signature
        if (kind === "input_json_delta") open["input"] = JSON.parse(textIn(json))
      }
      return { content, ...ending }
    },
  },
  responses: {
    format: responses,
    ask: {
      ...{ store: false, include: ["reasoning.encrypted_content"], reasoning: { effort: "medium", summary: "auto" } },
      tools: [{ type: "function", name: "weather", parameters: { type: "object" }, strict: false }],
    },
    said: ({ output }) => objectsIn(output),
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
    said: ({ candidates }) => objectsIn(candidates).flatMap(({ content }) => (isJsonObject(content) ? [content] : [])),
    results: (calls) => [
      {
        role: "user",
        parts: calls.map((id) => ({ functionResponse: { id, name: "weather", response: { output: "sunny" } } })),
      },
    ],
    // Clients keep each event as a turn of its own.
    collected: (events) => ({ candidates: events.flatMap(({ candidates }) => objectsIn(candidates)) }),
  },
}

const responsesClient: Client = clients.responses

/** As Codex keeps the output of a stream: each item when it is done. */
export const codex: Client = {
  ...responsesClient,
  collected: (events) => ({
    output: events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [objectIn(item)] : [])),
  }),
}

/** As opencode gives reasoning back by the AI SDK: its encrypted content and summary, without an id. */
export const opencode: Client = {
  ...responsesClient,
  said: (answer) =>
    responsesClient.said(answer).map((item) => {
      if (item["type"] !== "reasoning") return item
      const { type, summary, encrypted_content } = item
      return { type, summary, encrypted_content }
    }),
}
