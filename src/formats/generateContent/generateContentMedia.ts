/** Images, audio, video and files as parts: embedded (`inlineData`), or by an address that Google fetches (`fileData`). */

import { withoutEndDots } from "../../domain/hosts/hostName.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { ContentPart, FilePart } from "../../domain/request/chat.ts"
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

const imageDefault = "image/jpeg"
const videoDefault = "video/mp4"
const fileDefault = "application/pdf"

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

/** Whether an address may be of what belongs to the operator, at either of Google's APIs. */
export const isOperatorsAddress = (url: string): boolean => isOperators(hostOf(url) ?? "", true)

/** The Gemini API fetches addresses for models from 2.5 on (its page on file input methods, 2026-11). */
const fetches = ({ vertex, facts }: Reader): boolean => vertex || facts.generation >= 2.5

export const inline = (mimeType: string, data: string): JsonObject => ({
  inlineData: { mimeType: mimeType === "image/jpg" ? "image/jpeg" : mimeType, data },
})

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
  try {
    return withoutEndDots(new URL(url).hostname)
  } catch {
    return undefined
  }
}

const endingOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return /\.(\w+)$/.exec(end === -1 ? url : url.slice(0, end))?.[1]?.toLowerCase() ?? ""
}

/** Google has no type for JSON, which is text. */
const textual = (mimeType: string): string => (mimeType === "application/json" ? "text/plain" : mimeType)

/** A part that is not text. */
export const mediaPart = (part: Exclude<ContentPart, { type: "text" | "refusal" }>, reader: Reader): Carried => {
  switch (part.type) {
    case "image_url":
      return fromAddress(part.image_url.url, imageDefault, reader)
    case "video_url":
    case "input_video":
      return fromAddress(part.video_url.url, videoDefault, reader)
    case "input_audio":
      return audioPart(part.input_audio)
    case "file":
      return filePart(part, reader)
    default:
      return "this host has no such part"
  }
}

/** The type of an answer's sound, by `audio.format` of the request. Google writes raw sound, and so do streams of OpenAI. */
export const soundTypeOf = (format: string | undefined): string =>
  format === undefined || format === "pcm16"
    ? "audio/L16;codec=pcm;rate=24000"
    : (typesByEnding.get(format) ?? `audio/${format}`)

const audioPart = ({ data, format }: { readonly data: string; readonly format: string }): Carried => {
  if (format.startsWith("pcm")) return "this host takes no raw audio"
  return inline(typesByEnding.get(format) ?? `audio/${format}`, data)
}

const filePart = ({ file }: FilePart, reader: Reader): Carried => {
  const { file_data: data } = file
  if (data == null) return "this host takes files by their data or address"
  return /^(?:data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(data)
    ? fromAddress(data, fileDefault, reader)
    : inline(fileDefault, data)
}
