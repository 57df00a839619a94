/** Images and documents of the Messages format as parts of the canonical one, and the blocks of such parts. */
import { filledText, type Issues, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ContentPart, FilePart } from "../../domain/request/chat.ts"
import { base64Of, type DataUrl, imageTypeOf, readDataUrl, textOfDataUrl } from "../content.ts"

const storedFile = "refers to a file in the account of the operator, which is not allowed"

const sourceOf = (block: JsonObject, path: string, issues: Issues): JsonObject | undefined => {
  const { source } = block
  if (!isJsonObject(source)) report(issues, path, source === undefined ? "is required" : "must be an object")
  else if (source["type"] === "file") report(issues, path, storedFile)
  else return source
  return undefined
}

const filled = (source: JsonObject, member: string, path: string, issues: Issues): string => {
  filledText(source[member], `${path}.${member}`, issues)
  return textOr(source[member], "")
}

/** A data URL, or the address. `undefined`: the source has neither. */
const urlIn = (source: JsonObject, path: string, issues: Issues): string | undefined => {
  if (source["type"] === "base64") {
    return `data:${filled(source, "media_type", path, issues)};base64,${filled(source, "data", path, issues)}`
  }
  if (source["type"] !== "url") return undefined
  const url = filled(source, "url", path, issues)
  if (url !== "" && !/^https?:\/\/./i.test(url)) report(issues, `${path}.url`, "must be an http(s) URL")
  return url
}

export const imageParts = (block: JsonObject, path: string, issues: Issues): ReadonlyArray<ContentPart> => {
  const at = `${path}.source`
  const source = sourceOf(block, at, issues)
  if (source === undefined) return []
  const url = urlIn(source, at, issues)
  if (url !== undefined) return [{ type: "image_url", image_url: { url } }]
  report(issues, `${at}.type`, "must be one of base64, url")
  return []
}

/** A text document becomes text, with its title and context in front: few hosts of other forms take text as a file. */
export const documentParts = (block: JsonObject, path: string, issues: Issues): ReadonlyArray<ContentPart> => {
  const at = `${path}.source`
  const source = sourceOf(block, at, issues)
  if (source === undefined) return []
  const [title, context] = [textOr(block["title"], ""), textOr(block["context"], "")]
  const textPart = (...texts: ReadonlyArray<string>): ContentPart => ({
    type: "text",
    text: [title, context, ...texts].filter((text) => text !== "").join("\n\n"),
  })
  const url = urlIn(source, at, issues)
  if (url !== undefined) {
    const about: ReadonlyArray<ContentPart> = context === "" ? [] : [{ type: "text", text: context }]
    return [...about, { type: "file", file: { filename: title || "document.pdf", file_data: url } }]
  }
  if (source["type"] === "text") return [textPart(filled(source, "data", at, issues))]
  const { type, content } = source
  if (type !== "content") report(issues, `${at}.type`, "must be one of base64, url, text, content")
  if (type !== "content") return []
  if (typeof content === "string") return [textPart(content)]
  const texts: Array<string> = []
  const images: Array<ContentPart> = []
  for (const [index, inner] of objectsIn(content).entries()) {
    const place = `${at}.content[${index}]`
    if (inner["type"] === "text") texts.push(textOr(inner["text"], ""))
    else if (inner["type"] === "image") images.push(...imageParts(inner, place, issues))
    else report(issues, `${place}.type`, "must be text or image")
  }
  return [textPart(...texts), ...images]
}

/**
 * A part as a block, or why the host takes no such part. Parts of unknown kinds are sent unchanged, for the host to
 * judge.
 */
export const blockOf = (part: ContentPart): JsonObject | string => {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...cacheMark(part) }
    case "refusal":
      return { type: "text", text: part.refusal }
    case "image_url":
      return { ...imageBlock(part.image_url.url), ...cacheMark(part) }
    case "file":
      return fileBlock(part)
    case "input_audio":
      return "this host takes no audio"
    case "video_url":
    case "input_video":
      return "this host takes no video"
    default:
      return part
  }
}

/**
 * The mark of a part. Its `scope` is left out: it needs a beta (`prompt-caching-scope-2026-01-05`), and without it, or
 * at clouds that lack it, hosts answer 400 (anthropics/claude-code#21612, 2026-02).
 */
export const cacheMark = ({ cache_control: mark }: JsonObject): JsonObject => {
  if (!isJsonObject(mark)) return {}
  const { type, ttl } = mark
  return { cache_control: ttl == null ? { type } : { type, ttl } }
}

/** An image of a request, or one that a model made: the form has none of its own for answers. */
export const imageBlock = (url: string): JsonObject => {
  const embedded = readDataUrl(url)
  return { type: "image", source: embedded === undefined ? { type: "url", url } : imageSource(embedded) }
}

/** The host refuses an image of another type than it says. */
const imageSource = (embedded: DataUrl): JsonObject => {
  const { mediaType } = embedded
  return base64Source(imageTypeOf(embedded) ?? (mediaType === "image/jpg" ? "image/jpeg" : mediaType), embedded)
}

const base64Source = (mediaType: string, embedded: DataUrl): JsonObject => ({
  type: "base64",
  media_type: mediaType,
  data: base64Of(embedded),
})

const fileBlock = (part: FilePart): JsonObject | string => {
  const { file_data: data, file_id: id, filename } = part.file
  const title = filename ? { title: filename } : {}
  const documentOf = (source: JsonObject): JsonObject => ({ type: "document", source, ...title, ...cacheMark(part) })
  if (data == null) return id == null ? part : documentOf({ type: "file", file_id: id })
  if (/^https?:/i.test(data)) return documentOf({ type: "url", url: data })
  // Bare base64 is taken for a PDF.
  const embedded = readDataUrl(data) ?? { mediaType: "application/pdf", base64: true, data }
  const { mediaType } = embedded
  if (mediaType.startsWith("image/")) return { type: "image", source: imageSource(embedded), ...cacheMark(part) }
  if (mediaType === "application/pdf") return documentOf(base64Source(mediaType, embedded))
  const isText = mediaType.startsWith("text/") || mediaType === "application/json"
  if (!isText) return "this host takes only PDF, text and images as files"
  return documentOf({ type: "text", media_type: "text/plain", data: textOfDataUrl(embedded) })
}
