/** Bedrock's Converse API, with a model of Anthropic's. */
import { converse } from "../../../../plugins/providers/bedrock/converse.ts"
import { isJsonObject, type JsonObject, objectIn } from "../../../../src/domain/json/json.ts"
import { assistants, type Block, type Family, input, stopOf, textIn, written } from "./Family.ts"

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

export const bedrock: Family = {
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
