/**
 * What an assistant says besides text, in blocks of the Messages format and canonically: thinking, calls and citations.
 * Thinking is signed. That of other vendors travels inside a signature or data (`foreignReasoning.ts`).
 */
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Annotation, HostToolCall, ReasoningDetail, ToolCall } from "../../domain/request/chat.ts"
import { argumentsObject } from "../content.ts"
import { textOfDetail } from "../conversation.ts"
import { claudesFormat, isClaudes, unwrapped, wrapped } from "../foreignReasoning.ts"

// --- thinking that a host is sent and sends

export const thoughtText = (part: { readonly text?: string; readonly signature?: string }): ReasoningDetail => ({
  type: "reasoning.text",
  ...part,
  format: claudesFormat,
})

export const thoughtHidden = (data: string): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data,
  format: claudesFormat,
})

/**
 * Claude's own thinking, unmodified and in order. A caller that collected a stream may send fragments: those of one
 * index are joined up to the signature that ends their block. Text without a signature is left out, because the host
 * refuses it.
 */
export const claudesThinking = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<JsonObject> => {
  const blocks: Array<JsonObject> = []
  let open: { readonly index: number | undefined; text: string } | undefined
  for (const { format, type, index, text, signature, data } of details) {
    if (format !== claudesFormat) continue
    if (type === "reasoning.encrypted" && typeof data === "string") {
      open = undefined
      blocks.push({ type: "redacted_thinking", data })
    } else if (type === "reasoning.text") {
      if (open === undefined || open.index !== index) open = { index, text: "" }
      if (typeof text === "string") open.text += text
      if (typeof signature === "string" && signature !== "") {
        blocks.push({ type: "thinking", thinking: open.text, signature })
        open = undefined
      }
    }
  }
  return blocks
}

// --- thinking that a client gets and gives back

/** A piece of reasoning as a block. */
export const thinkingBlock = (detail: ReasoningDetail, omitsText: boolean): JsonObject => {
  if (detail.type === "reasoning.encrypted") {
    const own = isClaudes(detail) && typeof detail.data === "string"
    return { type: "redacted_thinking", data: own ? detail.data : wrapped(detail) }
  }
  return { type: "thinking", thinking: omitsText ? "" : textOfDetail(detail), signature: signatureOf(detail) }
}

/** What a block of thinking is signed with; "" where it needs nothing to be given back. */
export const signatureOf = (detail: ReasoningDetail): string => {
  if (isClaudes(detail)) return detail.signature ?? ""
  const { type, signature, id, format } = detail
  const isPlain =
    type === "reasoning.text" && signature == null && id == null && (format == null || format === "unknown")
  return isPlain ? "" : wrapped(detail)
}

/** The piece in a block. Thinking without a signature came from a host that gives none, and is plain text. */
export const thought = (text: string, signature: unknown): ReasoningDetail | undefined => {
  const own = unwrapped(signature)
  if (own !== undefined) return own.type === "reasoning.summary" ? { ...own, summary: text } : { ...own, text }
  return typeof signature === "string" && signature !== "" ? thoughtText({ text, signature }) : undefined
}

export const hidden = (data: string): ReasoningDetail => unwrapped(data) ?? thoughtHidden(data)

// --- calls

/** `id`: as the reader of the block takes it. */
export const toolUse = (call: ToolCall | HostToolCall, id: unknown): ReadonlyArray<JsonObject> =>
  call.function === undefined ? [] : [{ type: "tool_use", id, name: call.function.name, input: argumentsObject(call) }]

/** Some hosts write the input as JSON text, and what cannot be read is not taken for an empty input. */
export const argumentsOf = (input: unknown): string => {
  if (typeof input === "string" && input.trim() !== "") return input
  return JSON.stringify(isJsonObject(input) ? input : {})
}

/** The same for clients of the form, which expect an object. */
export const inputOf = (input: unknown): JsonObject =>
  isJsonObject(input) ? input : argumentsObject({ function: { name: "", arguments: argumentsOf(input) } })

// --- citations

/** Citations with an address, for the text between two places in the whole answer (UTF-16 units). */
export const annotationsOf = (citations: unknown, start: number, end: number): ReadonlyArray<Annotation> =>
  objectsIn(citations).flatMap(({ url, title, cited_text: content }): ReadonlyArray<Annotation> => {
    if (typeof url !== "string") return []
    const cited = typeof content === "string" ? { content } : {}
    const place = { start_index: start, end_index: end }
    return [{ type: "url_citation", url_citation: { url, title: textOr(title, ""), ...cited, ...place } }]
  })

/** A citation of a web page, which is what the canonical form has. */
export const citationOf = ({ url_citation: { url, title, content } }: Annotation): JsonObject => ({
  type: "web_search_result_location",
  url,
  title,
  cited_text: typeof content === "string" ? content : "",
  encrypted_index: "",
})

/** Whether a citation came from a host of another form: it has no index that a host of this one could read. */
export const isForeignCitation = (citation: unknown): boolean =>
  isJsonObject(citation) && citation["type"] === "web_search_result_location" && citation["encrypted_index"] === ""
