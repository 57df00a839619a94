/** Images and documents of the Messages form as parts of the canonical one. */

import { type Issues, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ContentPart } from "../../domain/request/chat.ts"

const storedFile = "refers to a file in the account of the operator, which is not allowed"

const textIn = (source: JsonObject, member: string, path: string, issues: Issues): string => {
  const text = source[member]
  if (typeof text === "string" && text !== "") return text
  report(issues, `${path}.${member}`, "must be a non-empty string")
  return ""
}

const sourceOf = (block: JsonObject, path: string, issues: Issues): JsonObject | undefined => {
  const { source } = block
  if (!isJsonObject(source))
    report(issues, `${path}.source`, source === undefined ? "is required" : "must be an object")
  else if (source["type"] === "file") report(issues, `${path}.source`, storedFile)
  else return source
  return undefined
}

const dataUrl = (source: JsonObject, path: string, issues: Issues): string =>
  `data:${textIn(source, "media_type", path, issues)};base64,${textIn(source, "data", path, issues)}`

const webAddress = (source: JsonObject, path: string, issues: Issues): string => {
  const url = textIn(source, "url", path, issues)
  if (url !== "" && !/^https?:\/\/./i.test(url)) report(issues, `${path}.url`, "must be an http(s) URL")
  return url
}

export const imagePart = (block: JsonObject, path: string, issues: Issues): ReadonlyArray<ContentPart> => {
  const source = sourceOf(block, path, issues)
  if (source === undefined) return []
  const at = `${path}.source`
  if (source["type"] === "base64") return [{ type: "image_url", image_url: { url: dataUrl(source, at, issues) } }]
  if (source["type"] === "url") return [{ type: "image_url", image_url: { url: webAddress(source, at, issues) } }]
  report(issues, `${at}.type`, "must be one of base64, url")
  return []
}

/** A text document becomes text, with its title and context in front: few hosts of other forms take text as a file. */
export const documentParts = (block: JsonObject, path: string, issues: Issues): ReadonlyArray<ContentPart> => {
  const source = sourceOf(block, path, issues)
  if (source === undefined) return []
  const at = `${path}.source`
  const { title, context } = block
  const about = [title, context].filter((text) => typeof text === "string" && text !== "").map(String)
  const filename = typeof title === "string" && title !== "" ? title : "document.pdf"
  const textPart = (text: string): ContentPart => ({ type: "text", text: [...about, text].join("\n\n") })
  const file = (data: string): ReadonlyArray<ContentPart> => [
    ...(typeof context === "string" && context !== "" ? [{ type: "text", text: context } as const] : []),
    { type: "file", file: { filename, file_data: data } },
  ]
  switch (source["type"]) {
    case "base64":
      return file(dataUrl(source, at, issues))
    case "url":
      return file(webAddress(source, at, issues))
    case "text":
      return [textPart(textIn(source, "data", at, issues))]
    case "content": {
      const { content } = source
      if (typeof content === "string") return [textPart(content)]
      const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
      for (const [index, { type }] of blocks.entries()) {
        if (type !== "text" && type !== "image") report(issues, `${at}.content[${index}].type`, "must be text or image")
      }
      const texts = blocks.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
      const images = blocks.flatMap((inner, index) =>
        inner["type"] === "image" ? imagePart(inner, `${at}.content[${index}]`, issues) : [],
      )
      return [textPart(texts.join("\n\n")), ...images]
    }
    default:
      report(issues, `${at}.type`, "must be one of base64, url, text, content")
      return []
  }
}
