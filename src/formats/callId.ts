import { randomText } from "../domain/ids.ts"
import type { Message } from "../domain/request/chat.ts"

/** An id for a tool call that came without one. */
export const newCallId = (): string => `call_${randomText(24)}`

/** The id of a tool call; a new one where the host sent none. */
export const callIdOf = (id: unknown): string => (typeof id === "string" && id !== "" ? id : newCallId())

/**
 * The id of a call for a host that takes at most so many characters, or only those of a pattern: another of its own for
 * an id that does not fit, the same one each time, so that a call and its result keep theirs. The new id comes from the
 * whole old one: a cut could make two alike.
 */
export const callIdWithin = (id: string, most: number, fitting?: RegExp): string => {
  if (id.length <= most && fitting?.test(id) !== false) return id
  const hash = new Bun.CryptoHasher("sha256").update(id).digest("hex")
  return `call_${hash}`.slice(0, Math.min(most, 37))
}

/**
 * The name of an earlier call as Anthropic and OpenAI's Responses API take it, which refuse a conversation for one name
 * that does not match: 1 to 128 letters, digits, underscores and dashes (both references, 2026-11). Models call tools
 * that nobody offered: `$READFILE`, `read<|channel|>commentary`, an empty name (vercel/ai#17769, 2026-07).
 */
export const fittingCallName = <Name>(name: Name): Name | string => {
  if (typeof name !== "string" || /^[a-zA-Z0-9_-]{1,128}$/.test(name)) return name
  return name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 128) || "unnamed"
}

/** The messages with ids of calls that such a host takes. Returns the same list where all fit, as usual. */
export const withCallIdsWithin = (messages: ReadonlyArray<Message>, most: number): ReadonlyArray<Message> => {
  const isLong = (id: unknown): boolean => typeof id === "string" && id.length > most
  const fits = (message: Message): boolean =>
    message.role === "tool"
      ? !isLong(message.tool_call_id)
      : message.role !== "assistant" || message.tool_calls?.some(({ id }) => isLong(id)) !== true
  if (messages.every(fits)) return messages
  return messages.map((message) => {
    if (fits(message)) return message
    if (message.role === "tool") return { ...message, tool_call_id: callIdWithin(message.tool_call_id, most) }
    if (message.role !== "assistant") return message
    const calls = message.tool_calls?.map((call) =>
      typeof call.id === "string" ? { ...call, id: callIdWithin(call.id, most) } : call,
    )
    return { ...message, tool_calls: calls ?? null }
  })
}
