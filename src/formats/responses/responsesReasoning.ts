/**
 * Reasoning items of the Responses form, in all directions, and the pieces of reasoning of the canonical form that they
 * stand for. What makes reasoning readable for its host (encrypted content, signatures, the host's own id) goes both ways
 * byte for byte.
 */

import { type Check, listOf, objectOf, oneOf, text } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { ReasoningDetail } from "../../domain/request/chat.ts"
import { unwrapped, wrappedWhole } from "../foreignReasoning.ts"
import { defaultFormat, type ResponsesQuirks } from "./ResponsesQuirks.ts"
import type { CallId } from "./responsesToolKinds.ts"

const partsOfType = (type: string): Check => listOf(objectOf({ type: oneOf(type), text }, "type", "text"))

export const reasoningItem: Check = objectOf({
  id: text,
  summary: partsOfType("summary_text"),
  content: partsOfType("reasoning_text"),
  encrypted_content: text,
  format: text,
  signature: text,
})

export const reasoningMembers: ReadonlySet<string> = new Set([
  ...["type", "id", "status", "summary", "content", "encrypted_content", "format", "signature"],
])

/** The id of a reasoning item with its format, for callers who give back only the members that the vendor's form has. */
export const withFormat = (id: string, format: string | undefined): string =>
  format !== undefined && /^[a-z0-9-]{1,64}$/.test(format) ? `${id}-${format}` : id

/**
 * Encrypted content that stands for a signed text, for the same callers. Clients of the vendor's form keep summaries and
 * encrypted content only, and a host may refuse a signature without the text that it signs.
 */
export const signedContent = (text: string, signature: string, format: string): string =>
  wrappedWhole({ type: "reasoning.text", text, signature, format })

/**
 * Encrypted content for the same callers: the host's own id and the format stand in it, since some give back no ids at all.
 * Vendors of this form read their own.
 */
export const sealedContent = (data: string, id: string | undefined, format: string): string =>
  format === "unknown" || format.endsWith("responses-v1")
    ? data
    : wrappedWhole({ type: "reasoning.encrypted", data, ...(id === undefined ? {} : { id }), format })

/** `suffix`: the generation's id without its prefix; `at`: the item's place in the output. */
export const itemId = (kind: "msg" | "rs" | "ig" | CallId, suffix: string, at: number): string =>
  `${kind}_${suffix}-${at}`

/**
 * An id that the gateway made, with its format, if it has one (`withFormat`). It says nothing to a host. Calls of a local
 * shell keep theirs, which the form requires.
 */
export const ownId = /^(?:msg|rs|fc|ig|ctc|tsc|sh|apc)_\d{1,12}-[0-9A-Za-z]{20}-\d+(?:-([a-z0-9-]{1,64}))?$/

const textsOf = (parts: unknown): ReadonlyArray<string> =>
  Array.isArray(parts) ? parts.filter(isJsonObject).map((part) => textOr(part["text"], "")) : []

export interface ReadReasoning {
  /** All of it as plain text. */
  readonly text: string
  /** Empty where the item has nothing but a text: then its host gave plain text. */
  readonly details: ReadonlyArray<ReasoningDetail>
}

/**
 * Reads a checked item. Its pieces have the index 0, but for further parts of the summary, which have one each, since
 * pieces of one index are fragments of one text.
 */
export const readReasoning = (item: JsonObject): ReadReasoning => {
  const summary = textsOf(item["summary"])
  const { encrypted_content: encrypted, format: named, id } = item
  const own = typeof id === "string" ? ownId.exec(id) : null
  const signed = unwrapped(encrypted)
  const given = textsOf(item["content"])
  const content = given.length === 0 && signed?.text !== undefined ? [textOr(signed.text, "")] : given
  const data = signed === undefined ? encrypted : signed.data
  const signature = item["signature"] ?? signed?.signature
  const format =
    typeof named === "string"
      ? named
      : (own?.[1] ?? signed?.format ?? (typeof data === "string" ? defaultFormat : undefined))
  const text = [...summary, ...content].join("")
  if (format === undefined && typeof signature !== "string") return { text, details: [] }
  const common = {
    ...(typeof id === "string" && own === null ? { id } : signed?.id == null ? {} : { id: signed.id }),
    ...(format == null ? {} : { format }),
  }
  const details: Array<ReasoningDetail> = summary.map((part, at) => ({
    type: "reasoning.summary",
    summary: part,
    ...common,
    index: at,
  }))
  if (content.length > 0 || typeof signature === "string") {
    const sealed = typeof signature === "string" ? { signature } : {}
    details.push({ type: "reasoning.text", text: content.join(""), ...sealed, ...common, index: 0 })
  }
  if (typeof data === "string") details.push({ type: "reasoning.encrypted", data, ...common, index: 0 })
  return { text, details }
}

// --- of a host: from its answers, and back

export const commonOf = (id: unknown, format: string) => ({ ...(typeof id === "string" ? { id } : {}), format })

interface Open {
  id: string | undefined
  /** `index` of the piece that came first. */
  readonly first: number | undefined
  /** Texts by the index of their pieces: fragments of one text share it. */
  readonly summary: Map<number | undefined, string>
  text: string
  encrypted: string
}

/**
 * The host's own reasoning, unmodified and in order. Pieces of one item share the host's id, or, where a client has lost it,
 * stand together up to the encrypted content, which comes last. Where the host reads nothing else, a summary alone is
 * left out without being named: it is for the reader, and the host never saw it as input.
 */
export const reasoningItems = (
  details: ReadonlyArray<ReasoningDetail>,
  { format = defaultFormat, history = "encrypted" }: ResponsesQuirks,
): ReadonlyArray<JsonObject> => {
  if (history === "none") return []
  const items: Array<Open> = []
  for (const detail of details) {
    if (detail.format !== format) continue
    const open = items.at(-1)
    const item = open !== undefined && continues(open, detail) ? open : begun(items, detail)
    add(item, detail)
  }
  return items.filter(({ encrypted }) => encrypted !== "" || history === "text").map(written)
}

const continues = ({ id, first, encrypted }: Open, detail: ReasoningDetail): boolean => {
  if (id !== undefined && detail.id) return id === detail.id
  // Only fragments of the same content may follow encrypted content.
  return (
    encrypted === "" || (detail.type === "reasoning.encrypted" && detail.index !== undefined && detail.index === first)
  )
}

const begun = (items: Array<Open>, { index }: ReasoningDetail): Open => {
  const item = { id: undefined, first: index, summary: new Map(), text: "", encrypted: "" }
  items.push(item)
  return item
}

const add = (item: Open, { id, type, index, summary, text, data }: ReasoningDetail): void => {
  if (id) item.id = id
  if (type === "reasoning.summary" && summary) item.summary.set(index, (item.summary.get(index) ?? "") + summary)
  if (type === "reasoning.text" && text) item.text += text
  if (type === "reasoning.encrypted" && data) item.encrypted += data
}

const written = ({ id, summary, text, encrypted }: Open): JsonObject => ({
  type: "reasoning",
  ...(id === undefined ? {} : { id }),
  summary: Array.from(summary.values(), (part) => ({ type: "summary_text", text: part })),
  ...(text === "" ? {} : { content: [{ type: "reasoning_text", text }] }),
  ...(encrypted === "" ? {} : { encrypted_content: encrypted }),
})

/** Whether a conversation has reasoning that goes back to the host. */
export const hasReasoning = (input: unknown): boolean =>
  Array.isArray(input) && input.some((item) => isJsonObject(item) && item["type"] === "reasoning")
