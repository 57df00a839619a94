/** Bedrock's Converse API, with a model of Anthropic's. */
import { converse } from "../../../../plugins/providers/bedrock/converse.ts"
import { isJsonObject, type JsonObject, objectIn } from "../../../../src/domain/json/json.ts"
import { assistants, type Block, type Family, input, neverSaid, stopOf, textIn, written } from "./Family.ts"

const citationOf = (url: string): JsonObject => ({
  ...{ title: "t", sourceContent: [{ text: "c" }], location: { web: { url, domain: "c.test" } } },
})

const bedrockBlock = (block: Block): JsonObject => {
  switch (block.kind) {
    case "thought":
      return { reasoningContent: { reasoningText: { text: block.text, signature: block.signature } } }
    case "hidden":
      return { reasoningContent: { redactedContent: block.data } }
    case "text":
      if (block.url === undefined) return { text: block.text }
      return { citationsContent: { content: [{ text: block.text }], citations: [citationOf(block.url)] } }
    case "call":
      return { toolUse: { toolUseId: block.id, name: "weather", input } }
    case "image":
      return { image: { format: "jpeg", source: { bytes: block.data } } }
    case "refusal":
      return neverSaid(block.kind)
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
              ? [
                  delta({ text: block.text }),
                  ...(block.url === undefined ? [] : [delta({ citation: citationOf(block.url) })]),
                ]
              : block.kind === "image"
                ? [delta({ image: { source: { bytes: block.data } } })]
                : [delta({ toolUse: { input: written } })]
      const start =
        block.kind === "call"
          ? { toolUse: { toolUseId: block.id, name: "weather" } }
          : block.kind === "image"
            ? { image: { format: "jpeg" } }
            : undefined
      return [
        ...(start === undefined ? [] : [["contentBlockStart", { contentBlockIndex, start }] as const]),
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
