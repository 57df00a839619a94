/**
 * Claude Code's attribution block: a first text of the instructions, such as `x-anthropic-billing-header:
 * cc_version=2.1.153; cc_entrypoint=cli; cch=36ee5;`. Before version 2.1.181 `cch` differs in each request. Anthropic's
 * own API takes the block out of the prompt; to any other host it is the beginning of the prompt, and what changes
 * there keeps the rest from being cached (code.claude.com/docs/en/llm-gateway-protocol, "System prompt attribution
 * block", 2026-11).
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, Content, Message } from "../../domain/request/chat.ts"

const mark = "x-anthropic-billing-header:"

/** A text without the block, which is its first line. Returns the same text if there is none. */
export const afterAttribution = (text: string): string => {
  if (!text.startsWith(mark)) return text
  const end = text.indexOf("\n")
  return end === -1 ? "" : text.slice(end).trimStart()
}

/** Parts of instructions without the block. Returns the same list if there is none. */
export const withoutAttribution = <Part>(parts: ReadonlyArray<Part>): ReadonlyArray<Part> =>
  parts.some(isAttributed)
    ? parts.flatMap((part) => {
        if (!isAttributed(part)) return [part]
        const text = afterAttribution(part.text)
        return text === "" ? [] : [{ ...part, text }]
      })
    : parts

const isAttributed = <Part>(part: Part): part is Part & { readonly text: string } =>
  isJsonObject(part) && typeof part["text"] === "string" && part["text"].startsWith(mark)

/** The payload without the block in its first message. Returns the same payload if there is none. */
export const payloadWithoutAttribution = (payload: ChatPayload): ChatPayload => {
  const first = payload.messages[0]
  if (first?.role !== "system" && first?.role !== "developer") return payload
  const { content: given } = first
  const content: Content = typeof given === "string" ? afterAttribution(given) : withoutAttribution(given)
  if (content === given) return payload
  const kept: ReadonlyArray<Message> = content.length === 0 ? [] : [{ ...first, content }]
  return { ...payload, messages: [...kept, ...payload.messages.slice(1)] }
}

/** The same for a body of the Messages format. */
export const bodyWithoutAttribution = (body: JsonObject): JsonObject => {
  const { system: given, ...others } = body
  if (typeof given !== "string" && !Array.isArray(given)) return body
  const system: string | ReadonlyArray<unknown> =
    typeof given === "string" ? afterAttribution(given) : withoutAttribution(given)
  if (system === given) return body
  return system.length === 0 ? others : { ...body, system }
}
