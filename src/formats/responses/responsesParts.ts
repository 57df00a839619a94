/** Content parts of the Responses form: checked, and translated to those of the canonical form. */

import {
  anyObject,
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
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { Content, ContentPart } from "../../domain/request/chat.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { mediaUrl } from "../request/mediaUrl.ts"
import { notStored } from "./refusedByResponses.ts"

const fileId = refused(`names a file ${notStored}: send the content, or a URL`)

/** Reports the absence of all of these members. A `file_id` is refused by itself. */
const oneOfThem = (check: Check, ...names: ReadonlyArray<string>): Check =>
  refined(check, { anyOf: names.map((name) => hasMember(name)) }, (value, path, issues) => {
    if (isJsonObject(value) && names.every((name) => value[name] == null) && value["file_id"] == null)
      report(issues, path, `must have ${names.join(" or ")}`)
  })

const textPart = objectOf({ text, prompt_cache_breakpoint: anyObject, cache_control: anyObject }, "text")
const filePart = oneOfThem(
  objectOf({ filename: text, file_data: filledText, file_url: mediaUrl, file_id: fileId }),
  "file_data",
  "file_url",
)

const inputTypes: ReadonlyMap<string, Check> = new Map([
  ["input_text", textPart],
  ["input_image", oneOfThem(objectOf({ image_url: mediaUrl, detail: text, file_id: fileId }), "image_url")],
  ["input_file", filePart],
  [
    "input_audio",
    objectOf({ input_audio: objectOf({ data: filledText, format: filledText }, "data", "format") }, "input_audio"),
  ],
  ["input_video", objectOf({ video_url: mediaUrl }, "video_url")],
])
const outputTypes: ReadonlyMap<string, Check> = new Map([
  ["output_text", objectOf({ text }, "text")],
  ["refusal", objectOf({ refusal: text }, "refusal")],
  ["input_text", textPart],
])

const contentOf = (part: Check): Check => textOrList(listOf(part), "must be a string or an array of parts")

/** Of a user, or the result of a call. */
export const inputContent: Check = contentOf(titled("ResponsesInputPart", byType(inputTypes)))
/** Of the assistant. */
export const outputContent: Check = contentOf(byType(outputTypes))
/** Of a message of one agent to another. */
export const agentContent: Check = contentOf(
  byType(new Map([...inputTypes, ["encrypted_content", objectOf({ encrypted_content: text }, "encrypted_content")]])),
)
/** Of instructions. */
export const textContent: Check = contentOf(byType(new Map([["input_text", textPart]])))

/** Members of each kind of part that are translated. */
const carried: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["input_text", new Set(["type", "text", "prompt_cache_breakpoint", "cache_control"])],
  ["input_image", new Set(["type", "image_url", "detail", "file_id", "prompt_cache_breakpoint", "cache_control"])],
  [
    "input_file",
    new Set([
      ...["type", "filename", "file_data", "file_url", "file_id"],
      ...["prompt_cache_breakpoint", "cache_control"],
    ]),
  ],
  ["input_audio", new Set(["type", "input_audio"])],
  ["input_video", new Set(["type", "video_url"])],
  ["output_text", new Set(["type", "text"])],
  ["refusal", new Set(["type", "refusal"])],
])

/** A checked content. A text stays one. */
export const translatedContent = (content: unknown, path: string, dropped: Dropped): Content => {
  if (!Array.isArray(content)) return typeof content === "string" ? content : ""
  const parts: Array<ContentPart> = []
  for (let at = 0; at < content.length; at++) {
    const part: unknown = content[at]
    if (!isJsonObject(part)) continue
    const known = carried.get(textOr(part["type"], ""))
    if (known !== undefined) dropOthers(part, known, `${path}[${at}]`, dropped)
    const translated = partOf(part)
    if (translated !== undefined) parts.push(translated)
  }
  return parts
}

/** A breakpoint of the cache: by its own name for hosts that know it, and as the canonical form has it. */
const cacheMark = ({ prompt_cache_breakpoint: breakpoint, cache_control: mark }: JsonObject) => ({
  ...(breakpoint == null ? {} : { prompt_cache_breakpoint: breakpoint }),
  ...(mark == null && breakpoint == null
    ? {}
    : { cache_control: isJsonObject(mark) ? { ...mark, ...ephemeral } : ephemeral }),
})

const ephemeral = { type: "ephemeral" } as const

const partOf = (part: JsonObject): ContentPart | undefined => {
  switch (part["type"]) {
    case "input_text":
      return { type: "text", text: textOr(part["text"], ""), ...cacheMark(part) }
    case "output_text":
      return { type: "text", text: textOr(part["text"], "") }
    case "refusal":
      return { type: "refusal", refusal: textOr(part["refusal"], "") }
    case "input_image": {
      const { detail } = part
      const url = textOr(part["image_url"], "")
      return {
        type: "image_url",
        image_url: typeof detail === "string" ? { url, detail } : { url },
        ...cacheMark(part),
      }
    }
    case "input_file": {
      const { filename } = part
      const data = textOr(part["file_data"], textOr(part["file_url"], ""))
      return {
        type: "file",
        file: typeof filename === "string" ? { filename, file_data: data } : { file_data: data },
        ...cacheMark(part),
      }
    }
    case "input_audio": {
      const audio = part["input_audio"]
      if (!isJsonObject(audio)) return undefined
      return {
        type: "input_audio",
        input_audio: { data: textOr(audio["data"], ""), format: textOr(audio["format"], "") },
      }
    }
    case "input_video":
      return { type: "video_url", video_url: { url: textOr(part["video_url"], "") } }
    default:
      return undefined
  }
}

// --- messages between agents. Codex marks such an argument of a tool with `encrypted: true` in its schema: OpenAI's hosts encrypt
// what the model writes there, and Codex passes it on unread, as `encrypted_content` of an `agent_message`. Models elsewhere write
// plain text, so the member has the message itself, which no host could decrypt (seen with Codex 0.169 and `gpt-6-sol`, 2026-11).

/** One word of base64, as long as the shortest token of OpenAI's kind (Fernet) at least. */
const ciphertext = /^[\w+/-]{100,}={0,2}$/

/** The content of an `agent_message`. Parts that are called encrypted, and are not, are text. */
export const readableParts = (content: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  content.map((part) => (isJsonObject(part) ? (plainPart(part) ?? part) : part))

const plainPart = ({ type, encrypted_content: data }: JsonObject): JsonObject | undefined =>
  type === "encrypted_content" && typeof data === "string" && !ciphertext.test(data)
    ? { type: "input_text", text: data }
    : undefined
