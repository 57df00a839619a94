/** Anthropic's Messages API. */
import type { JsonObject } from "../../../../src/domain/json/json.ts"
import { messagesProtocol } from "../../../../src/formats/messages/messagesHost.ts"
import { assistants, type Block, type Family, input, neverSaid, stopOf, textIn, written } from "./Family.ts"

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
    case "image":
    case "refusal":
      return neverSaid(block.kind)
  }
}
const usage = { input_tokens: 10, output_tokens: 5 }
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", usage }

export const anthropic: Family = {
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
          ...{ image: {}, refusal: {} },
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
