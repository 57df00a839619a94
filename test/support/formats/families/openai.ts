/** OpenAI's Responses API. */
import { type JsonObject, objectsIn } from "../../../../src/domain/json/json.ts"
import { responsesProtocol } from "../../../../src/formats/responses/responsesHost.ts"
import { type Block, type Family, textIn, written } from "./Family.ts"

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
    case "refusal": {
      const content = [{ type: "refusal", refusal: block.text }]
      return { type: "message", id: `msg_${at}`, role: "assistant", status: "completed", content }
    }
    case "image":
      return {
        ...{ type: "image_generation_call", id: `ig_${at}`, status: "completed" },
        ...{ result: block.data, output_format: "jpeg" },
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
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
})

export const openai: Family = {
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
          block?.kind === "image"
            ? []
            : block?.kind === "refusal"
              ? [{ type: "response.refusal.delta", ...place, content_index: 0, delta: block.text }]
              : item["type"] === "message"
                ? [
                    { type: "response.output_text.delta", ...place, content_index: 0, delta: text },
                    ...(block?.kind === "text" ? annotationsOf(block) : []).map((annotation) => ({
                      ...{
                        type: "response.output_text.annotation.added",
                        ...place,
                        content_index: 0,
                        annotation_index: 0,
                      },
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
              : block?.kind === "image"
                ? { result: null }
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
    for (const item of objectsIn(body["input"])) {
      const blocks = blocksOfItem(item)
      if (blocks.length > 0 && !isOpen) turns.push([])
      turns.at(-1)?.push(...blocks)
      isOpen = blocks.length > 0
    }
    return turns
  },
}

const textsOf = (parts: unknown): string =>
  objectsIn(parts)
    .map((part) => textIn(part["text"]))
    .join("")

const blocksOfItem = (item: JsonObject): ReadonlyArray<Block> => {
  const { type, role, content, summary, encrypted_content: encrypted } = item
  if (type === "function_call") return [{ kind: "call", id: textIn(item["call_id"]) }]
  if (type === "image_generation_call") return [{ kind: "image", data: textIn(item["result"]) }]
  if (type === "reasoning") {
    const text = textsOf(summary)
    return text === ""
      ? [{ kind: "hidden", data: textIn(encrypted) }]
      : [{ kind: "thought", text, signature: textIn(encrypted) }]
  }
  if (role !== "assistant") return []
  if (typeof content === "string") return [{ kind: "text", text: content }]
  return objectsIn(content).map(({ text, refusal }) =>
    refusal === undefined ? { kind: "text", text: textIn(text) } : { kind: "refusal", text: textIn(refusal) },
  )
}
