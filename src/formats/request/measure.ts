/** Sizes of a prompt, which bound its cost. They are the same however the caller wrote the JSON. */

import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ChatPayload, ContentPart, Message } from "../../domain/request/chat.ts"
import { bytesOf, bytesSaid, valueBytes } from "../../domain/request/estimate.ts"
import {
  type MediaTokens,
  mediaTogether,
  noMedia,
  promptImageTokens,
  promptMedia,
} from "../../domain/request/MediaTokens.ts"

/** The kind of input that a part is, by its type. */
const kindOfPart: Readonly<Record<string, string>> = {
  image_url: "image",
  input_audio: "audio",
  video_url: "video",
  input_video: "video",
  file: "file",
}

const noInputs: ReadonlyArray<string> = []

/** Members of the payload that say how the answer is to be made, and are no part of the prompt. */
const settings: ReadonlySet<string> = new Set([
  ...["messages", "metadata", "logit_bias", "stop", "modalities", "audio", "image_config", "web_search_options"],
  ...["stream_options", "cache_control", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...["user", "safety_identifier", "service_tier", "verbosity", "tool_choice", "trace", "debug"],
])

/** Measures a checked payload. `native`: the caller's own body, where the payload lacks something of it. */
export const measure = (payload: ChatPayload, native: JsonObject | undefined): Sizes => {
  const measured = new Sizes()
  measured.mark(payload.cache_control)
  for (const message of payload.messages) measured.message(message)
  for (const { cache_control: mark, function: called } of payload.tools ?? [])
    measured.mark(mark ?? called?.["cache_control"])
  for (const name in payload) {
    const value = payload[name]
    if (value == null || settings.has(name)) continue
    if (typeof value === "object") measured.textBytes += valueBytes(value)
    else if (typeof value === "string") measured.textBytes += Buffer.byteLength(value)
  }
  if (native !== undefined) {
    measured.textBytes = Math.max(measured.textBytes, writtenBytes(native))
    for (const url of screenshotsIn(native)) measured.part({ type: "image_url", image_url: { url } })
  }
  return measured
}

/** Addresses of the results of a computer in the Responses form, which the canonical form has no place for. */
const screenshotsIn = ({ input }: JsonObject): ReadonlyArray<string> =>
  objectsIn(input).flatMap(({ type, output }) =>
    type === "computer_call_output" && isJsonObject(output) ? textOr(output["image_url"], "") : [],
  )

export class Sizes {
  /**
   * UTF-8 bytes of everything that is sent and no media: text, files of text, reasoning, tool calls, tools, schemas.
   */
  textBytes = 0
  /** Of the longest text, where texts are read one by one. */
  longestBytes = 0
  /** Bytes of base64 in parts that are not text. */
  mediaBytes = 0
  mediaParts = 0
  /** What an estimate counts for the parts that are not text. */
  tokens: MediaTokens | undefined
  images = 0
  /** Kinds of its parts other than text, each once: `image`, `audio`, `video`, `file`. */
  inputs: ReadonlyArray<string> = noInputs
  private marks = 0
  private hourlyMarks = 0

  /** `Bounds.cachesAnHour`. */
  get cachesAnHour(): boolean {
    return this.marks > 0 && this.marks === this.hourlyMarks
  }

  /** `Bounds.cachesPartAnHour`. */
  get cachesPartAnHour(): boolean {
    return this.hourlyMarks > 0
  }

  /** Counts a `cache_control`, if it is one. */
  mark(mark: unknown): void {
    if (mark == null) return
    this.marks += 1
    if (isJsonObject(mark) && mark["ttl"] === "1h") this.hourlyMarks += 1
  }

  /** `bytes`: of a text that is read by itself. */
  text(bytes: number): void {
    this.textBytes += bytes
    this.longestBytes = Math.max(this.longestBytes, bytes)
  }

  /** `kind`: of input, such as `image`. `data`: base64, or a URL that may have some. An image is a URL. */
  media(kind: string, data: unknown): void {
    const isUrl = kind === "image" || (typeof data === "string" && data.startsWith("data:"))
    this.add(kind, isUrl ? base64OfUrl(data) : bytesOf(data))
  }

  message(message: Message): void {
    this.mark(message["cache_control"])
    this.textBytes += bytesSaid(message)
    if (Array.isArray(message.content)) for (const part of message.content) this.part(part)
    if (message.role !== "assistant") return
    for (const call of message.tool_calls ?? []) this.mark(call["cache_control"])
    // Earlier images and audio of the model.
    const { images, audio } = message
    const made = Array.isArray(images) ? images.length : 0
    this.mediaParts += made + (audio == null ? 0 : 1)
    if (made > 0) this.tokens = mediaTogether(this.tokens, { ...noMedia, image: made * promptImageTokens })
    if (audio != null) this.tokens = mediaTogether(this.tokens, promptMedia("audio", 0))
  }

  part(part: ContentPart): void {
    this.textBytes += bytesOf(part.text)
    this.mark(part.cache_control)
    if (part.type === "text") return
    const kind = kindOfPart[part.type]
    if (kind === undefined) {
      this.mediaParts += 1
      this.textBytes += writtenBytes(part)
      return
    }
    const { base64, text } = contentIn(part)
    this.textBytes += text
    // A file of text has no tokens but those of its text.
    this.add(kind, base64, kind === "image" || text === 0)
  }

  private add(kind: string, base64: number, hasTokens = true): void {
    if (!this.inputs.includes(kind)) this.inputs = [...this.inputs, kind]
    this.mediaParts += 1
    this.mediaBytes += base64
    if (kind === "image") this.images += 1
    if (hasTokens) this.tokens = mediaTogether(this.tokens, promptMedia(kind, base64))
  }
}

interface PartContent {
  /** Bytes of base64 that is not text. */
  readonly base64: number
  /** UTF-8 bytes of a file of text. */
  readonly text: number
}

const contentIn = (part: JsonObject): PartContent => {
  const { image_url: image, input_audio: audio, file, video_url: video } = part
  if (isJsonObject(image)) return contentOfUrl(image["url"])
  if (isJsonObject(video)) return contentOfUrl(video["url"])
  if (isJsonObject(audio)) return { base64: bytesOf(audio["data"]), text: 0 }
  return isJsonObject(file) ? contentOfUrl(file["file_data"]) : nothing
}

const nothing: PartContent = { base64: 0, text: 0 }

const contentOfUrl = (url: unknown): PartContent => {
  const base64 = base64OfUrl(url)
  if (base64 > 0 || typeof url !== "string" || !url.startsWith("data:")) return { base64, text: 0 }
  const comma = url.indexOf(",")
  const isEncoded = url.lastIndexOf(";base64", comma) !== -1
  const text = url.length - comma - 1
  return { base64: 0, text: isEncoded ? Math.floor((text * 3) / 4) : text }
}

/** Members that have the address of media, or a data URL. The same in another member is text to a host. */
const addresses: ReadonlySet<string> = new Set(["image_url", "video_url", "file_url", "url"])

/**
 * UTF-8 bytes of a value as `valueBytes` counts them, without what is media in the forms that hosts have. `inside`: the
 * member's name.
 */
const writtenBytes = (value: unknown, inside = ""): number => {
  if (typeof value === "string") return addresses.has(inside) && base64OfUrl(value) > 0 ? 0 : valueBytes(value)
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + writtenBytes(item), 0)
  if (!isJsonObject(value)) return valueBytes(value)
  let bytes = 0
  for (const [member, inner] of Object.entries(value)) {
    const isMedia = (member === "data" && value["type"] === "base64") || member === "file_data"
    if (!isMedia && inner !== undefined) bytes += Buffer.byteLength(member) + 4 + writtenBytes(inner, member)
  }
  return bytes
}

/** Bytes after the comma of a data URL. 0 for a file of text, which counts as text. */
export const base64OfUrl = (url: unknown): number => {
  if (typeof url !== "string") return 0
  const head = /^data:([^,]{0,256}),/i.exec(url)
  if (head === null) return 0
  return /^(?:text\/|application\/json)/i.test(head[1] ?? "") ? 0 : url.length - head[0].length
}
