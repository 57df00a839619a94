/** Media as Google's parts and as canonical ones: embedded (`inlineData`), or by an address that Google fetches (`fileData`). */

import { withoutEndDots } from "../../domain/hosts/hostName.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { ContentPart } from "../../domain/request/chat.ts"
import { base64Of, readDataUrl } from "../content.ts"
import type { ModelFacts } from "./generateContentModels.ts"

/** Where and by which model a request is read. */
export interface Reader {
  readonly facts: ModelFacts
  /** Vertex AI, and not the Gemini API of AI Studio. */
  readonly vertex: boolean
}

/** The part, or why the host cannot take it. */
export type Carried = JsonObject | string

/** Types by the end of an address, where nothing else says what is there. */
const typesByEnding: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", webp: "image/webp", gif: "image/gif" },
    ...{ heic: "image/heic", heif: "image/heif", avif: "image/avif", bmp: "image/bmp" },
    ...{ pdf: "application/pdf", txt: "text/plain", md: "text/markdown", html: "text/html", csv: "text/csv" },
    ...{ mp4: "video/mp4", mov: "video/quicktime", webm: "video/webm", mpeg: "video/mpeg", mpg: "video/mpeg" },
    ...{ mp3: "audio/mpeg", wav: "audio/wav", flac: "audio/flac", ogg: "audio/ogg", m4a: "audio/m4a" },
  }),
)

/** Videos of YouTube, whose type Google knows. */
const isYouTube = (host: string): boolean => /^(?:(?:www|m)\.)?youtube\.com$|^youtu\.be$/.test(host)

/**
 * What Google may read by the right of our key or account: files and caches of the Gemini API, buckets of the same project. It
 * belongs to the operator, or to another caller.
 */
const isOperators = (host: string, vertex: boolean): boolean =>
  /(?:^|\.)(?:generativelanguage|aiplatform)\.googleapis\.com$|-aiplatform\.googleapis\.com$/.test(host) ||
  /(?:^|\.)storage\.cloud\.google\.com$/.test(host) ||
  (vertex && /(?:^|\.)storage\.googleapis\.com$/.test(host))

/** Whether an address may be of what belongs to the operator, at either of Google's APIs: so is a mere name, `files/a`. */
export const isOperatorsAddress = (url: string): boolean => {
  const host = hostOf(url)
  return host === undefined || isOperators(host, true)
}

/** The Gemini API fetches addresses for models from 2.5 on (its page on file input methods, 2026-11). */
const fetches = ({ vertex, facts }: Reader): boolean => vertex || facts.generation >= 2.5

const inline = (mimeType: string, data: string): JsonObject => ({
  inlineData: { mimeType: mimeType === "image/jpg" ? "image/jpeg" : mimeType, data },
})

/** `otherwise`: the type where neither the address nor the data says it. */
const fromAddress = (url: string, otherwise: string, reader: Reader): Carried => {
  const embedded = readDataUrl(url)
  if (embedded !== undefined) return inline(textual(embedded.mediaType || otherwise), base64Of(embedded))
  const host = /^https:/i.test(url) ? hostOf(url) : undefined
  if (host === undefined) return "this host fetches https addresses only"
  if (isOperators(host, reader.vertex)) return "the address is of what belongs to the operator"
  if (!fetches(reader)) return "this model takes embedded media only"
  if (isYouTube(host) && !reader.vertex) return { fileData: { fileUri: url } }
  return { fileData: { mimeType: typesByEnding.get(endingOf(url)) ?? otherwise, fileUri: url } }
}

/** The name of the host, as a resolver would have it; `undefined` where it is no address. */
const hostOf = (url: string): string | undefined => {
  const parsed = URL.parse(url)
  return parsed === null ? undefined : withoutEndDots(parsed.hostname)
}

const endingOf = (url: string): string => /\.(\w+)$/.exec(url.replace(/[?#].*$/s, ""))?.[1]?.toLowerCase() ?? ""

/** Google has no type for JSON, which is text. */
const textual = (mimeType: string): string => (mimeType === "application/json" ? "text/plain" : mimeType)

/** A part that is not text, of a conversation or of what is embedded. */
export const mediaPart = (part: JsonObject, reader: Reader): Carried => {
  const { type, image_url, video_url, input_audio: audio, file } = part
  if (type === "image_url" && isJsonObject(image_url))
    return fromAddress(String(image_url["url"]), "image/jpeg", reader)
  if (isJsonObject(video_url)) return fromAddress(String(video_url["url"]), "video/mp4", reader)
  if (type === "input_audio" && isJsonObject(audio))
    return audioPart(textOr(audio["data"], ""), String(audio["format"]))
  return type === "file" && isJsonObject(file) ? filePart(file["file_data"], reader) : "this host has no such part"
}

const audioPart = (data: string, format: string): Carried =>
  format.startsWith("pcm")
    ? "this host takes no raw audio"
    : inline(typesByEnding.get(format) ?? `audio/${format}`, data)

const filePart = (data: unknown, reader: Reader): Carried => {
  if (typeof data !== "string") return "this host takes files by their data or address"
  const isAddress = /^(?:data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(data)
  return isAddress ? fromAddress(data, "application/pdf", reader) : inline("application/pdf", data)
}

/** Embedded media of Google's as a canonical part. */
export const embeddedPart = (mimeType: string, data: string): ContentPart => {
  const url = `data:${mimeType};base64,${data}`
  const [kind = "", subtype = ""] = mimeType.toLowerCase().split(/[/;]/)
  if (kind === "image") return { type: "image_url", image_url: { url } }
  if (kind === "video") return { type: "video_url", video_url: { url } }
  const format = subtype === "mpeg" ? "mp3" : subtype.replace(/^x-/, "")
  if (kind === "audio") return { type: "input_audio", input_audio: { data, format } }
  return { type: "file", file: { filename: `file.${subtype === "plain" ? "txt" : subtype}`, file_data: url } }
}

/** Media at an address. One without a type is of YouTube, where clients may leave it out. */
export const addressedPart = (mimeType: string, url: string): ContentPart => {
  if (mimeType.startsWith("image/")) return { type: "image_url", image_url: { url } }
  if (mimeType === "" || mimeType.startsWith("video/")) return { type: "video_url", video_url: { url } }
  return { type: "file", file: { filename: url.split(/[?#]/)[0]?.split("/").at(-1) || "file", file_data: url } }
}

// --- media of answers

/** An image of an answer as a part for clients. */
export const imagePart = (url: string): JsonObject =>
  embeddedImage({ image_url: { url } }) ?? { fileData: { mimeType: "image/png", fileUri: url } }

/** An image of an earlier answer as it came; `undefined`: it is not embedded. */
export const embeddedImage = ({ image_url: image }: JsonObject): JsonObject | undefined => {
  const url = isJsonObject(image) && typeof image["url"] === "string" ? readDataUrl(image["url"]) : undefined
  return url === undefined ? undefined : inline(url.mediaType, base64Of(url))
}

/** The sound of an answer. `format`: `audio.format` of the request. Google writes raw sound, and so do streams of OpenAI. */
export const soundPart = (data: string, format: string): JsonObject =>
  inline(format === "pcm16" ? "audio/L16;codec=pcm;rate=24000" : (typesByEnding.get(format) ?? `audio/${format}`), data)
