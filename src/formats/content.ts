/**
 * Readers of canonical content, for protocols with another form: the text of parts, data URLs, the arguments of a tool
 * call as an object, the name of the function that a tool result belongs to.
 */

import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../domain/json/json.ts"
import type { Annotation, Content, ContentPart, Message, ReasoningDetail, ToolCall } from "../domain/request/chat.ts"
import { innerJson } from "../wire/jsonDepth.ts"

/** The parts of a content. A text is one part; "" and null have none. */
export const partsOf = (content: Content | null | undefined): ReadonlyArray<ContentPart> => {
  if (content == null || content === "") return []
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}

/** The text of a content: its text parts, joined without a separator. */
export const textOf = (content: Content | null | undefined): string => {
  if (content == null) return ""
  if (typeof content === "string") return content
  let text = ""
  for (const part of content) if (part.type === "text" && typeof part.text === "string") text += part.text
  return text
}

/**
 * An instruction within a conversation as a text of the user's, for hosts that take instructions in front alone: moved
 * there, it would change the beginning of the prompt, which then could not be read from the cache. The tag is the one
 * that coding agents use.
 */
export const reminderOf = (text: string): string =>
  text.startsWith(reminderTag) ? text : `${reminderTag}\n${text}\n</system-reminder>`

const reminderTag = "<system-reminder>"

/** The citations among the annotations of an answer: those that have an address. Other kinds are left out. */
export const citationsIn = (annotations: unknown): ReadonlyArray<Annotation> =>
  objectsIn(annotations).flatMap(({ type, url_citation: cited, ...rest }): ReadonlyArray<Annotation> => {
    if (type !== "url_citation" || !isJsonObject(cited)) return []
    const { url, title } = cited
    if (typeof url !== "string" || url === "") return []
    return [{ ...rest, type, url_citation: { ...cited, url, title: textOr(title, "") } }]
  })

/**
 * Annotations of an answer by the text that they were read from, as their place in the whole answer tells; by the last
 * text where it does not. Without texts there is no place for any.
 */
export const byText = <A extends JsonObject>(
  annotations: ReadonlyArray<A>,
  texts: ReadonlyArray<string>,
): ReadonlyArray<ReadonlyArray<A>> => {
  let length = 0
  const ends = texts.map((text) => {
    length += text.length
    return length
  })
  const cited = texts.map((): Array<A> => [])
  for (const annotation of annotations) {
    const { start_index: from, end_index: to } = objectIn(annotation["url_citation"])
    const isPlaced = typeof from === "number" && typeof to === "number" && from < to
    cited.at(isPlaced ? ends.findIndex((end) => from < end) : -1)?.push(annotation)
  }
  return cited
}

/**
 * The pieces of reasoning in a list, whatever its shape. Pieces of no known kind are left out, and so are members of a
 * piece that have another type than they should.
 */
export const detailsIn = (given: unknown): ReadonlyArray<ReasoningDetail> => objectsIn(given).flatMap(detailIn)

const detailIn = (given: JsonObject): ReadonlyArray<ReasoningDetail> => {
  if (isDetail(given)) return [given]
  const sound = Object.fromEntries(Object.entries(given).filter(([name, value]) => isSound(name, value)))
  const mended = { type: kindOf(sound), ...sound }
  return isDetail(mended) ? [mended] : []
}

const isDetail = (given: JsonObject): given is ReasoningDetail => {
  for (const name in given) if (!isSound(name, given[name])) return false
  return typeof given["type"] === "string"
}

/** Some hosts leave the type out. */
const kindOf = ({ text, summary, data }: JsonObject): string | undefined => {
  if (text != null) return "reasoning.text"
  if (summary != null) return "reasoning.summary"
  return data == null ? undefined : "reasoning.encrypted"
}

const isSound = (name: string, value: unknown): boolean => {
  switch (name) {
    case "type":
      return value === "reasoning.text" || value === "reasoning.summary" || value === "reasoning.encrypted"
    case "index":
      return typeof value === "number"
    case "summary":
    case "data":
      return typeof value === "string"
    case "text":
    case "signature":
    case "id":
    case "format":
      return value === null || typeof value === "string"
    default:
      return true
  }
}

/** The content of a data URL. */
export interface DataUrl {
  /** In lower case, without parameters: `image/png`; "" where none is given. */
  readonly mediaType: string
  readonly base64: boolean
  /** The text after the comma: base64, or percent-encoded text. */
  readonly data: string
}

/** `undefined` for any other URL, such as an https one. */
export const readDataUrl = (url: string): DataUrl | undefined => {
  if (!/^data:/i.test(url)) return undefined
  const comma = url.indexOf(",")
  if (comma === -1) return undefined
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).toLowerCase().split(";")
  return { mediaType, base64: parameters.includes("base64"), data: url.slice(comma + 1) }
}

/** Its bytes in base64. */
export const base64Of = ({ base64, data }: DataUrl): string =>
  base64 ? data : Buffer.from(unescaped(data)).toString("base64")

/** How the base64 of images begins, and what they are. */
const imageHeads: ReadonlyArray<readonly [head: RegExp, mediaType: string]> = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
]

/**
 * The type of an image by its first bytes, which callers often name wrongly. `undefined`: it is none of the usual ones.
 */
export const imageTypeOf = (embedded: DataUrl): string | undefined => {
  const head = embedded.base64 ? embedded.data.slice(0, 24) : ""
  return imageHeads.find(([pattern]) => pattern.test(head))?.[1]
}

/** Its bytes as UTF-8 text. */
export const textOfDataUrl = ({ base64, data }: DataUrl): string =>
  base64 ? Buffer.from(data, "base64").toString("utf8") : unescaped(data)

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The arguments of a tool call as an object. Blank ones are an empty object. JSON that is no object, and text that is
 * no JSON or is nested too deeply, becomes the member `arguments`, so that the model still sees what it wrote.
 */
export const argumentsObject = (call: Pick<ToolCall, "function">): JsonObject => {
  const written: unknown = call.function.arguments
  if (isJsonObject(written)) return written
  if (typeof written !== "string" || written.trim() === "") return {}
  const parsed = innerJson(written)
  return isJsonObject(parsed) ? parsed : { arguments: parsed === undefined ? written : parsed }
}

/** Names of the functions that were called in a conversation, by the id of the call. A tool result has only the id. */
export const calledNames = (messages: ReadonlyArray<Message>): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== "assistant") continue
    for (const call of message.tool_calls ?? []) {
      if (call.function !== undefined) names.set(call.id, call.function.name)
    }
  }
  return names
}
