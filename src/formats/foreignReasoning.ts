/**
 * Reasoning of other vendors in the blocks of the Messages form. A caller gives thinking back unchanged, so what the
 * form has no member for (the format, an id, the kind) travels inside the signature or the data, marked with a prefix.
 * Reasoning of Claude is not wrapped.
 */

import { isJsonObject, objectIn } from "../domain/json/json.ts"
import type { ReasoningDetail } from "../domain/request/chat.ts"
import { innerJson, valuesIn } from "../wire/jsonDepth.ts"

/** `ReasoningDetail.format` of Claude's thinking. */
export const claudesFormat = "anthropic-claude-v1"

/** What wrapped reasoning begins with. */
export const wrappedPrefix = "headgate.v1."

/** A detail has a few members. What has more was written by a caller, and is not read. */
const mostValues = 64

/** Whether a signature or data is the vendor's own, and passes as it is. */
export const isClaudes = ({ format }: Pick<ReasoningDetail, "format">): boolean => format === claudesFormat

/** The detail without its text, as a signature or as data. */
export const wrapped = ({ text: _, summary: __, ...rest }: ReasoningDetail): string => wrappedWhole(rest)

/** The detail with its text, for callers who would lose the text. */
export const wrappedWhole = (detail: ReasoningDetail): string =>
  wrappedPrefix + Buffer.from(JSON.stringify(detail)).toString("base64url")

/** Whether a signature or data stands for a detail of another vendor. */
export const isWrapped = (text: unknown): text is string => typeof text === "string" && text.startsWith(wrappedPrefix)

/** The detail in a signature or in data; `undefined`: the gateway did not write it. */
export const unwrapped = (wrappedText: unknown): ReasoningDetail | undefined => {
  if (!isWrapped(wrappedText)) return undefined
  const text = Buffer.from(wrappedText.slice(wrappedPrefix.length), "base64url").toString("utf8")
  const detail = valuesIn(text, mostValues) > mostValues ? undefined : objectIn(innerJson(text))
  const type = detail?.["type"]
  return type === "reasoning.text" || type === "reasoning.summary" || type === "reasoning.encrypted"
    ? { ...detail, type }
    : undefined
}

/** Whether a block is reasoning that no host of the Messages form wrote: it would refuse the block. */
export const isForeign = (block: unknown): boolean => {
  if (!isJsonObject(block)) return false
  const { type, signature, data } = block
  if (type === "thinking") return typeof signature !== "string" || signature === "" || isWrapped(signature)
  return type === "redacted_thinking" && isWrapped(data)
}
