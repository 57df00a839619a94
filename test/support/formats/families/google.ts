/** Google's generateContent API. */
import { isJsonObject, type JsonObject, objectsIn } from "../../../../src/domain/json/json.ts"
import { generateContentProtocol } from "../../../../src/formats/generateContent/generateContentHost.ts"
import { type Block, type Family, input, neverSaid, textIn } from "./Family.ts"

const partOf = (block: Block): JsonObject => {
  switch (block.kind) {
    case "thought":
      return { text: block.text, thought: true, thoughtSignature: block.signature }
    case "hidden":
    case "refusal":
      return neverSaid(block.kind)
    case "text":
      return { text: block.text, thoughtSignature: block.signature }
    case "image":
      return { inlineData: { mimeType: "image/jpeg", data: block.data }, thoughtSignature: block.signature }
    case "call":
      return { functionCall: { id: block.id, name: "weather", args: input }, thoughtSignature: block.signature }
  }
}
const candidateOf = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
})

/** Google cites in its last event, by places in the bytes of the whole text. */
const groundingOf = (blocks: ReadonlyArray<Block>): JsonObject => {
  const groundingChunks: Array<JsonObject> = []
  const groundingSupports: Array<JsonObject> = []
  let endIndex = 0
  for (const block of blocks) {
    if (block.kind !== "text") continue
    const startIndex = endIndex
    endIndex += Buffer.byteLength(block.text)
    if (block.url === undefined) continue
    const segment = { startIndex, endIndex, text: block.text }
    groundingSupports.push({ segment, groundingChunkIndices: [groundingChunks.length] })
    groundingChunks.push({ web: { uri: block.url, title: "t" } })
  }
  return groundingChunks.length === 0 ? {} : { groundingMetadata: { groundingChunks, groundingSupports } }
}

export const google: Family = {
  protocol: generateContentProtocol(),
  model: "gemini-3.5-flash",
  mayHide: false,
  signsAll: true,
  whole: (blocks) => candidateOf(blocks.map(partOf), { finishReason: "STOP", ...groundingOf(blocks) }),
  events: (blocks) => [
    ...blocks.map((block) => ["", candidateOf([partOf(block)])] as const),
    ["", candidateOf([], { finishReason: "STOP", ...groundingOf(blocks) })],
  ],
  given: (body) => {
    const turns: Array<Array<Block>> = []
    let before: unknown
    for (const { role, parts } of objectsIn(body["contents"])) {
      // Clients keep each event of a stream as a turn of its own.
      if (role === "model" && before !== "model") turns.push([])
      if (role === "model") turns.at(-1)?.push(...objectsIn(parts).flatMap(blockOfPart))
      before = role
    }
    return turns
  },
}

/** A text without words says something only where it is signed, and the mark of a foreign call is the gateway's own. */
const blockOfPart = ({
  text,
  thought,
  functionCall: call,
  inlineData,
  thoughtSignature,
}: JsonObject): ReadonlyArray<Block> => {
  const signature = textIn(thoughtSignature)
  const isNone = signature === "" || signature === "skip_thought_signature_validator"
  if (isJsonObject(call)) return [{ kind: "call", id: textIn(call["id"]), ...(isNone ? {} : { signature }) }]
  if (isJsonObject(inlineData))
    return [{ kind: "image", data: textIn(inlineData["data"]), ...(isNone ? {} : { signature }) }]
  if (thought === true) return [{ kind: "thought", text: textIn(text), signature }]
  if (isNone) return text === "" ? [] : [{ kind: "text", text: textIn(text) }]
  return [{ kind: "text", text: textIn(text), signature }]
}
