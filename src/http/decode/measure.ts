/** Sizes of a conversation in the canonical form, which bound its cost. */
import type { Message } from "../../domain/Chat.ts"
import { bytesOf, bytesSaid } from "../../domain/Estimate.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"

/** Sizes of a conversation: how much of it is text, and how much is media. */
export interface Measured {
  /** UTF-8 bytes of text, reasoning and tool calls. */
  readonly textBytes: number
  /** Bytes of base64 in parts that are not text. */
  readonly mediaBytes: number
  readonly mediaParts: number
  readonly images: number
  /** Kinds of its parts other than text, each once: `image`, `audio`, `video`, `file`. */
  readonly inputs: ReadonlyArray<string>
}

/** The kind of input that a part is, by its type. */
const kindOfPart: Readonly<Record<string, string>> = {
  image_url: "image",
  input_audio: "audio",
  video_url: "video",
  input_video: "video",
  file: "file",
}

const noInputs: ReadonlyArray<string> = []
const noParts: ReadonlyArray<never> = []

/** Measures checked messages. */
export const measure = (messages: ReadonlyArray<Message>): Measured => {
  const measured = { textBytes: 0, mediaBytes: 0, mediaParts: 0, images: 0, inputs: noInputs }
  for (const message of messages) {
    measured.textBytes += bytesSaid(message)
    const parts = Array.isArray(message.content) ? message.content : noParts
    for (const part of parts) {
      measured.textBytes += bytesOf(part.text)
      if (part.type === "text") continue
      measured.mediaParts += 1
      measured.mediaBytes += base64In(part)
      if (part.type === "image_url") measured.images += 1
      const kind = kindOfPart[part.type]
      if (kind !== undefined && !measured.inputs.includes(kind)) measured.inputs = [...measured.inputs, kind]
    }
    if (message.role !== "assistant") continue
    // Earlier images and audio of the model.
    measured.mediaParts += listLength(message["images"]) + (message["audio"] == null ? 0 : 1)
  }
  return measured
}

const listLength = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const base64In = (part: JsonObject): number => {
  const { image_url: image, input_audio: audio, file, video_url: video } = part
  if (isJsonObject(image)) return base64OfUrl(image["url"])
  if (isJsonObject(video)) return base64OfUrl(video["url"])
  if (isJsonObject(audio)) return bytesOf(audio["data"])
  return isJsonObject(file) ? base64OfUrl(file["file_data"]) : 0
}

/** Bytes after the comma of a data URL. 0 for a file of text, which counts as text. */
export const base64OfUrl = (url: unknown): number => {
  if (typeof url !== "string") return 0
  const head = /^data:([^,]{0,256}),/i.exec(url)
  if (head === null) return 0
  return /^(?:text\/|application\/json)/i.test(head[1] ?? "") ? 0 : url.length - head[0].length
}
