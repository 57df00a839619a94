/**
 * Estimates where a host reported no usage: bytes of text, and tokens by a rule of thumb. See docs/guarantees.md#g5.
 */
import { isJsonObject, type JsonObject, objectsIn } from "../json/json.ts"
import { isOrderEntryId } from "./chat.ts"
import { type MediaTokens, outputAudioTokens, outputImageTokens } from "./MediaTokens.ts"

/** Four, since there is no tokenizer. */
const bytesPerToken = 4

export const tokensIn = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** Output tokens that a host makes in so many milliseconds at this speed. `null`: the speed is not known, and counts as 0. */
export const tokensWritten = (tokensPerSecond: number | null, milliseconds: number): number =>
  Math.round(((tokensPerSecond ?? 0) * milliseconds) / 1000)

/** The most bytes that are estimated as so many tokens. */
export const bytesOfTokens = (tokens: number): number => tokens * bytesPerToken

export const bytesOf = (text: unknown): number => (typeof text === "string" ? Buffer.byteLength(text) : 0)

/**
 * UTF-8 bytes of everything in a delta or a message that is output but images and sound: text, reasoning, refusals, tool calls,
 * citations, and members that the gateway does not know.
 */
export const bytesSaid = (said: JsonObject): number => {
  let bytes = 0
  for (const member in said) {
    const value = said[member]
    if (value === null || value === undefined) continue
    switch (member) {
      case "content":
      case "reasoning":
      case "refusal":
        bytes += bytesOf(value)
        break
      case "reasoning_details":
        bytes += detailBytes(value, Boolean(said["reasoning"]))
        break
      case "tool_calls":
        bytes += callBytes(value)
        break
      case "annotations":
        bytes += citationBytes(value)
        break
      case "audio":
        bytes += isJsonObject(value) ? bytesOf(value["transcript"]) : 0
        break
      case "images":
      case "role":
      case "name":
      case "id":
      case "type":
      case "status":
      case "tool_call_id":
      case "cache_control":
        break
      default:
        bytes += typeof value === "object" ? valueBytes(value) : bytesOf(value)
    }
  }
  return bytes
}

/** `isSaid`: the reasoning was sent as plain text too, so it counts only there. Encrypted pieces have no plain text, and always count. */
const detailBytes = (details: unknown, isSaid: boolean): number => {
  let bytes = 0
  for (const { id, text, summary, data, signature } of objectsIn(details)) {
    if (isOrderEntryId(id)) continue
    if (!isSaid) bytes += bytesOf(text) + bytesOf(summary)
    bytes += bytesOf(data) + bytesOf(signature)
  }
  return bytes
}

const callBytes = (calls: unknown): number => {
  let bytes = 0
  for (const { function: called } of objectsIn(calls)) {
    if (isJsonObject(called)) bytes += bytesOf(called["name"]) + bytesOf(called["arguments"])
  }
  return bytes
}

/** Without the quoted passage: that is text of the source, not of the model. */
const citationBytes = (annotations: unknown): number => {
  let bytes = 0
  for (const { url_citation: cited } of objectsIn(annotations)) {
    if (isJsonObject(cited)) bytes += bytesOf(cited["url"]) + bytesOf(cited["title"])
  }
  return bytes
}

/** UTF-8 bytes of a parsed value, written as JSON without blanks. They do not depend on how the caller wrote it. */
export const valueBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "")

/** Tokens of the images and the sound in a delta or a message of a model; `undefined`: it has neither. */
export const mediaSaid = ({ images, audio }: JsonObject): MediaTokens | undefined => {
  if (images == null && audio == null) return undefined
  let image = 0
  for (const { image_url: made } of objectsIn(images)) {
    const url = isJsonObject(made) ? made["url"] : undefined
    image += outputImageTokens(typeof url === "string" && url.startsWith("data:") ? url.length : 0)
  }
  const data = isJsonObject(audio) ? audio["data"] : undefined
  return { image, audio: typeof data === "string" ? outputAudioTokens(data.length) : 0, other: 0 }
}

/** Whether all of the reasoning in a delta or a message is there as text. */
export const showsReasoning = (said: JsonObject): boolean => Boolean(said["reasoning"]) && !hidesReasoning(said)

/** Whether a summary, a signature or an encrypted piece shows that there was more reasoning than its text. */
export const hidesReasoning = ({ reasoning_details: details }: JsonObject): boolean =>
  details != null &&
  objectsIn(details).some(
    ({ id, summary, data, signature }) => !isOrderEntryId(id) && (summary != null || data != null || signature != null),
  )
