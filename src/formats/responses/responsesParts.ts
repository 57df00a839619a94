/** Content parts of the Responses form: checked and read from a client, and written to a host. */

import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import {
  anyObject,
  anything,
  byType,
  type Check,
  filledText,
  hasMember,
  listOf,
  objectOf,
  refined,
  refused,
  report,
  text,
  textOrList,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { Content, ContentPart, FilePart, Message, OutputImage } from "../../domain/request/chat.ts"
import { imageTypeOf, readDataUrl } from "../content.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { mediaUrl } from "../request/mediaUrl.ts"

/**
 * Why a reference is refused: what it names would lie in the operator's account at a host, where it may be another
 * caller's.
 */
export const notStored = "that a host has stored, and nothing is stored for callers of this gateway"

const fileId = refused(`names a file ${notStored}: send the content, or a URL`)

/** Reports the absence of all of these members. A `file_id` is refused by itself. */
const oneOfThem = (check: Check, ...names: ReadonlyArray<string>): Check =>
  refined(check, { anyOf: names.map((name) => hasMember(name)) }, (value, path, issues) => {
    if (isJsonObject(value) && names.every((name) => value[name] == null) && value["file_id"] == null)
      report(issues, path, `must have ${names.join(" or ")}`)
  })

/** A type of part of a client. */
interface PartType {
  readonly check: Check
  /** Members that are translated. */
  readonly members: ReadonlySet<string>
  readonly read: (part: JsonObject) => ContentPart
}

const partType = (check: Check, read: PartType["read"]): PartType => ({
  check,
  members: new Set(["type", ...Object.keys(objectIn(check.schema["properties"]))]),
  read,
})

const marks = { prompt_cache_breakpoint: anything, cache_control: anything }
const inputText = objectOf({ text, prompt_cache_breakpoint: anyObject, cache_control: anyObject }, "text")
const audio = objectOf({ data: filledText, format: filledText }, "data", "format")

const inputTypes: ReadonlyMap<string, PartType> = new Map([
  ["input_text", partType(inputText, (part) => ({ type: "text", text: textOr(part["text"], ""), ...cacheMark(part) }))],
  [
    "input_image",
    partType(
      oneOfThem(objectOf({ image_url: mediaUrl, detail: text, file_id: fileId, ...marks }), "image_url"),
      (part) => {
        const { detail } = part
        const url = textOr(part["image_url"], "")
        return {
          type: "image_url",
          image_url: typeof detail === "string" ? { url, detail } : { url },
          ...cacheMark(part),
        }
      },
    ),
  ],
  [
    "input_file",
    partType(
      oneOfThem(
        objectOf({ filename: text, file_data: filledText, file_url: mediaUrl, file_id: fileId, ...marks }),
        "file_data",
        "file_url",
      ),
      (part) => {
        const { filename, file_data: data, file_url: url } = part
        const file = { file_data: textOr(data, textOr(url, "")) }
        return { type: "file", file: typeof filename === "string" ? { filename, ...file } : file, ...cacheMark(part) }
      },
    ),
  ],
  [
    "input_audio",
    partType(objectOf({ input_audio: audio }, "input_audio"), ({ input_audio: given }) => {
      const { data, format } = objectIn(given)
      return { type: "input_audio", input_audio: { data: textOr(data, ""), format: textOr(format, "") } }
    }),
  ],
  [
    "input_video",
    partType(objectOf({ video_url: mediaUrl }, "video_url"), ({ video_url: url }) => ({
      type: "video_url",
      video_url: { url: textOr(url, "") },
    })),
  ],
])

const outputTypes: ReadonlyMap<string, PartType> = new Map([
  ["output_text", partType(objectOf({ text }, "text"), (part) => ({ type: "text", text: textOr(part["text"], "") }))],
  [
    "refusal",
    partType(objectOf({ refusal: text }, "refusal"), ({ refusal }) => ({
      type: "refusal",
      refusal: textOr(refusal, ""),
    })),
  ],
])

/** A breakpoint of the cache: by its own name for hosts that know it, and as the canonical form has it. */
const cacheMark = ({ prompt_cache_breakpoint: breakpoint, cache_control: mark }: JsonObject) => ({
  ...(breakpoint == null ? {} : { prompt_cache_breakpoint: breakpoint }),
  ...(mark == null && breakpoint == null ? {} : { cache_control: { ...objectIn(mark), type: "ephemeral" as const } }),
})

const checksOf = (types: ReadonlyMap<string, PartType>) =>
  Array.from(types, ([type, { check }]) => [type, check] as const)

const contentOfParts = (part: Check): Check => textOrList(listOf(part), "must be a string or an array of parts")

/** Of a user, or the result of a call. */
export const inputContent: Check = contentOfParts(titled("ResponsesInputPart", byType(new Map(checksOf(inputTypes)))))
/** Of the assistant. */
export const outputContent: Check = contentOfParts(
  byType(new Map([...checksOf(outputTypes), ["input_text", inputText]])),
)
/** Of a message of one agent to another. */
export const agentContent: Check = contentOfParts(
  byType(
    new Map([
      ...checksOf(inputTypes),
      ["encrypted_content", objectOf({ encrypted_content: text }, "encrypted_content")],
    ]),
  ),
)
/** Of instructions. */
export const textContent: Check = contentOfParts(byType(new Map([["input_text", inputText]])))

const partTypes: ReadonlyMap<unknown, PartType> = new Map([...inputTypes, ...outputTypes])

/** A checked content. A text stays one. */
export const translatedContent = (content: unknown, path: string, dropped: Dropped): Content => {
  if (!Array.isArray(content)) return textOr(content, "")
  const parts: Array<ContentPart> = []
  for (let at = 0; at < content.length; at++) {
    const part: unknown = content[at]
    const type = isJsonObject(part) ? partTypes.get(part["type"]) : undefined
    if (!isJsonObject(part) || type === undefined) continue
    dropOthers(part, type.members, `${path}[${at}]`, dropped)
    parts.push(type.read(part))
  }
  return parts
}

/**
 * An image that a model made. `result`: an address, or base64. `format`: of base64, such as `png`, where it is known.
 */
export const imageOf = (result: string, format: unknown): OutputImage => {
  if (/^(?:https?:|data:)/i.test(result)) return { type: "image_url", image_url: { url: result } }
  const given = typeof format === "string" ? `image/${format}` : undefined
  const type = given ?? imageTypeOf({ mediaType: "", base64: true, data: result }) ?? "image/png"
  return { type: "image_url", image_url: { url: `data:${type};base64,${result}` } }
}

// --- messages between agents. Codex marks such an argument of a tool with `encrypted: true` in its schema: OpenAI's
// hosts encrypt what the model writes there, and Codex passes it on unread, as `encrypted_content` of an
// `agent_message`. Models elsewhere write plain text, so the member has the message itself, which no host could decrypt
// (seen with Codex 0.169 and `gpt-6-sol`, 2026-11).

/** One word of base64, as long as the shortest token of OpenAI's kind (Fernet) at least. */
const ciphertext = /^[\w+/-]{100,}={0,2}$/

/** The content of an `agent_message`. Parts that are called encrypted, and are not, are text. */
export const readableParts = (content: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  content.map((part) => {
    const { type, encrypted_content: data } = objectIn(part)
    const isPlain = type === "encrypted_content" && typeof data === "string" && !ciphertext.test(data)
    return isPlain ? { type: "input_text", text: data } : part
  })

// --- to a host

/** Kinds of parts that OpenAI's own models do not take in this form. Other hosts list them among their modalities. */
const listedOnly: ReadonlyMap<string, string> = new Map([
  ["input_audio", "audio"],
  ["video_url", "video"],
  ["input_video", "video"],
])

export const unsupportedIn = ({ content }: Message, path: string, host: Host): Unsupported | undefined => {
  if (!Array.isArray(content)) return undefined
  for (const [at, part] of content.entries()) {
    const kind = listedOnly.get(part.type)
    if (kind !== undefined && !host.inputModalities.includes(kind))
      return new Unsupported({ path: `${path}.content[${at}]`, reason: `this host takes no ${kind}` })
  }
  return undefined
}

/** `breakpoints`: whether the host takes marks of the cache (`ResponsesQuirks.breakpoints`). */
export const writtenContent = (content: Content | null | undefined, breakpoints: boolean): unknown =>
  Array.isArray(content) ? content.map(breakpoints ? markedPart : inputPart) : (content ?? "")

const markedPart = (part: ContentPart): JsonObject => {
  const written = inputPart(part)
  const isMarked = part["cache_control"] != null && breakable.has(written["type"])
  return isMarked ? { ...written, prompt_cache_breakpoint: { mode: "explicit" } } : written
}

/** Parts that take a breakpoint (OpenAI's guide to prompt caching, 2026-11). */
const breakable: ReadonlySet<unknown> = new Set(["input_text", "input_image", "input_file"])

const inputPart = (part: ContentPart): JsonObject => {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text }
    case "refusal":
      return { type: "input_text", text: part.refusal }
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url, detail: part.image_url.detail ?? "auto" }
    case "file":
      return filePart(part)
    case "video_url":
    case "input_video":
      return { type: "input_video", video_url: part.video_url.url }
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio }
  }
}

const filePart = ({ file: { filename, file_data: data, file_id: id } }: FilePart): JsonObject => {
  if (data == null) return { type: "input_file", ...(id == null ? {} : { file_id: id }) }
  if (/^https?:/i.test(data)) return { type: "input_file", file_url: data }
  // The host wants a name, and a data URL.
  const url = readDataUrl(data) === undefined ? `data:application/pdf;base64,${data}` : data
  return { type: "input_file", filename: filename ?? "file.pdf", file_data: url }
}

/** Of the assistant. */
export const outputPart = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "output_text", text: part.text }
  return part.type === "refusal" ? { type: "refusal", refusal: part.refusal } : inputPart(part)
}
