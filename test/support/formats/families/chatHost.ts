/** A host of chat completions. Its answers have one text, and their images and a refusal beside it. */
import { type JsonObject, objectIn, objectsIn } from "../../../../src/domain/json/json.ts"
import { chatProtocol } from "../../../../src/formats/chat/chatHost.ts"
import { type Block, type Family, textIn, written } from "./Family.ts"

const imageOf = (data: string): JsonObject => ({
  type: "image_url",
  image_url: { url: `data:image/jpeg;base64,${data}` },
})

/** What a block is, in a whole answer and in the delta of a stream. */
const saidOf = (blocks: ReadonlyArray<Block>): JsonObject => {
  const texts = blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []))
  const refusals = blocks.flatMap((block) => (block.kind === "refusal" ? [block.text] : []))
  const images = blocks.flatMap((block) => (block.kind === "image" ? [imageOf(block.data)] : []))
  const calls = blocks
    .flatMap((block) => (block.kind === "call" ? [block.id] : []))
    .map((id, index) => ({ index, id, type: "function", function: { name: "weather", arguments: written } }))
  return {
    ...(texts.length === 0 ? {} : { content: texts.join("") }),
    ...(refusals.length === 0 ? {} : { refusal: refusals.join("") }),
    ...(images.length === 0 ? {} : { images }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const answer = { id: "chatcmpl-1", created: 1, model: "m" }
const finishOf = (blocks: ReadonlyArray<Block>): string =>
  blocks.some(({ kind }) => kind === "call") ? "tool_calls" : "stop"

export const chatHost: Family = {
  protocol: chatProtocol(),
  model: "m",
  mayHide: false,
  whole: (blocks) => {
    const message = { role: "assistant", content: null, ...saidOf(blocks) }
    return { ...answer, choices: [{ index: 0, message, finish_reason: finishOf(blocks) }], usage }
  },
  events: (blocks) => [
    ...blocks.map((block, at) => {
      // A call is numbered among all of the answer.
      const calls = objectsIn(saidOf(blocks.slice(0, at + 1))["tool_calls"]).slice(-1)
      const delta = block.kind === "call" ? { tool_calls: calls } : saidOf([block])
      return ["", { ...answer, choices: [{ index: 0, delta, finish_reason: null }] }] as const
    }),
    ["", { ...answer, choices: [{ index: 0, delta: {}, finish_reason: finishOf(blocks) }], usage }],
  ],
  given: (body) =>
    objectsIn(body["messages"]).flatMap(({ role, content, refusal, images, tool_calls: calls }) => {
      if (role !== "assistant") return []
      const parts = typeof content === "string" ? [{ text: content }] : objectsIn(content)
      const said: ReadonlyArray<Block> = [
        ...[...parts, { refusal }].flatMap((part: JsonObject): ReadonlyArray<Block> => {
          if (textIn(part["text"]) !== "") return [{ kind: "text", text: textIn(part["text"]) }]
          return textIn(part["refusal"]) === "" ? [] : [{ kind: "refusal", text: textIn(part["refusal"]) }]
        }),
        ...objectsIn(images).map(({ image_url: image }) => {
          const url = textIn(objectIn(image)["url"])
          return { kind: "image", data: url.slice(url.indexOf(",") + 1) } as const
        }),
        ...objectsIn(calls).map(({ id }) => ({ kind: "call", id: textIn(id) }) as const),
      ]
      return [said]
    }),
}
