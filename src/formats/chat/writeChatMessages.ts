/** A conversation as a host of the chat form takes it: which roles there are, where they stand, and what messages have. */
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { AssistantMessage, ContentPart, Message, SystemMessage } from "../../domain/request/chat.ts"
import { detailsIn, partsOf } from "../content.ts"
import { isOrderEntry, withoutOrder } from "../conversation.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"

/**
 * The messages in an order and with roles that the host takes: instructions where it knows them, results right behind their
 * calls. The same list where that is so already, as usual.
 */
export const arrangedMessages = (
  messages: ReadonlyArray<Message>,
  instructions: NonNullable<ChatQuirks["instructions"]>,
): ReadonlyArray<Message> => {
  let arranged = messages
  if (instructions !== "developer") {
    const isTaken = ({ role }: Message, at: number): boolean =>
      role !== "developer" && (role !== "system" || at === 0 || instructions === "system")
    if (!messages.every(isTaken)) arranged = instructions === "system" ? messages.map(asSystem) : oneFirst(messages)
  }
  return arranged.some(isBetweenResults) ? resultsFirst(arranged) : arranged
}

const isInstruction = (message: Message): message is SystemMessage =>
  message.role === "system" || message.role === "developer"

const asSystem = (message: Message): Message =>
  message.role === "developer" ? { ...message, role: "system" } : message

/** All instructions as one message in front, with a blank line between them. */
const oneFirst = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const [first, ...more] = messages.filter(isInstruction)
  if (first === undefined) return messages
  const rest = messages.filter((message) => !isInstruction(message))
  return [more.length === 0 ? asSystem(first) : { role: "system", content: joined([first, ...more]) }, ...rest]
}

const joined = (instructions: ReadonlyArray<SystemMessage>): SystemMessage["content"] => {
  const said = instructions.filter(({ content }) => partsOf(content).length > 0)
  if (said.every(({ content }) => typeof content === "string")) return said.map(({ content }) => content).join("\n\n")
  return said.flatMap(({ content }, at) => (at === 0 ? partsOf(content) : apart(partsOf(content))))
}

const apart = ([first, ...more]: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> =>
  first?.type === "text" ? [{ ...first, text: `\n\n${first.text}` }, ...more] : []

const isBetweenResults = ({ role }: Message, at: number, messages: ReadonlyArray<Message>): boolean => {
  const before = messages[at - 1]?.role
  return role === "tool" && before !== "tool" && before !== "assistant"
}

/** What was said between a call and its result follows the results, which hosts refuse anywhere else. */
const resultsFirst = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const written: Array<Message> = []
  const waiting: Array<Message> = []
  let open = new Set<unknown>()
  for (const message of messages) {
    if (message.role === "tool") {
      open.delete(message.tool_call_id)
      written.push(message)
      if (open.size === 0) written.push(...waiting.splice(0))
    } else if (message.role === "assistant") {
      written.push(...waiting.splice(0), message)
      open = new Set((message.tool_calls ?? []).map(({ id }) => id))
    } else if (open.size === 0) written.push(message)
    else waiting.push(message)
  }
  return [...written, ...waiting]
}

/**
 * Results as text, and after those that belong together a message of the user with the rest, for hosts that take images and
 * files from users only. OpenAI refused them ("Image URLs are only allowed for messages with role 'user'"), and models that
 * accept them since do not see them (openai/openai-openapi#523, 2026-02). The same list where there is none.
 */
export const withoutResultMedia = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  if (!messages.some(hasMedia)) return messages
  const written: Array<Message> = []
  let media: Array<ContentPart> = []
  for (const message of messages) {
    if (message.role !== "tool" && media.length > 0) {
      written.push(shown(media))
      media = []
    }
    const { content } = message
    if (!hasMedia(message) || !Array.isArray(content)) {
      written.push(message)
      continue
    }
    const parts: ReadonlyArray<ContentPart> = content
    const texts = parts.filter(isText)
    written.push({ ...message, content: [...texts, { type: "text", text: "(What the tool shows follows.)" }] })
    media.push(...parts.filter((part) => !isText(part)))
  }
  if (media.length > 0) written.push(shown(media))
  return written
}

const isText = ({ type }: ContentPart): boolean => type === "text"

const hasMedia = ({ role, content }: Message): boolean =>
  role === "tool" && Array.isArray(content) && content.some((part) => !isText(part))

const shown = (media: ReadonlyArray<ContentPart>): Message => ({
  role: "user",
  content: [{ type: "text", text: "What the tools have shown, in their order:" }, ...media],
})

/** What of a message a host is sent. */
export interface MessageMembers {
  readonly history: NonNullable<ChatQuirks["history"]>
  /** `ChatQuirks.missingReasoning`, where the host thinks. */
  readonly missingReasoning: string | undefined
  /** Whether the host refuses `cache_control`. */
  readonly unmarked: boolean
  readonly refused: ReadonlySet<string>
}

/** Whether the host may be sent all messages as they are but for the order of their parts. */
export const changesNothing = ({ history, missingReasoning, unmarked, refused }: MessageMembers): boolean =>
  history === "reasoning" && missingReasoning === undefined && !unmarked && refused.size === 0

/** Whether a message lists the order of its parts, which no host is sent, or says nothing, which hosts refuse. */
export const needsWriting = (message: Message): boolean => {
  if (message.role !== "assistant") return false
  const { reasoning_details: details } = message
  return (
    saysNothing(message) || (Array.isArray(details) && details.some((one) => isJsonObject(one) && isOrderEntry(one)))
  )
}

const saysNothing = (message: AssistantMessage): boolean =>
  message.content == null && !hasCalls(message) && message["function_call"] == null && message["audio"] == null

export const writtenMessage = (message: Message, members: MessageMembers): JsonObject => {
  const { history, unmarked, refused } = members
  const plain: Record<string, unknown> = {}
  for (const name in message) {
    const value = message[name]
    if (refused.has(name)) continue
    switch (name) {
      case "__proto__":
        break
      case "cache_control":
        if (!unmarked) plain[name] = value
        break
      // A caller of the Messages form may mark a call, too.
      case "content":
      case "tool_calls":
        plain[name] = unmarked && Array.isArray(value) ? withoutCacheControl(value) : value
        break
      case "reasoning":
      case "reasoning_content":
        if (history === "reasoning") plain[name] = value
        break
      case "reasoning_details":
        if (history === "reasoning") plain[name] = unlisted(value)
        break
      default:
        plain[name] = value
    }
  }
  if (message.role === "assistant" && saysNothing(message)) plain["content"] = ""
  if (message.role === "assistant" && history === "reasoning_content") {
    const reasoning = reasoningIn(message) || (hasCalls(message) ? members.missingReasoning : undefined)
    if (reasoning !== undefined && !refused.has("reasoning_content")) plain["reasoning_content"] = reasoning
  }
  return plain
}

const unlisted = (details: unknown): unknown =>
  Array.isArray(details) ? details.filter((one) => !isJsonObject(one) || !isOrderEntry(one)) : details

/** Messages that a provider wrote itself, without lists of the order of parts. */
export const withoutListedOrder = (messages: unknown): unknown =>
  Array.isArray(messages) ? messages.map(withoutList) : messages

const withoutList = (message: unknown): unknown =>
  isJsonObject(message) && message["reasoning_details"] != null
    ? { ...message, reasoning_details: unlisted(message["reasoning_details"]) }
    : message

const hasCalls = ({ tool_calls: calls }: AssistantMessage): boolean => calls != null && calls.length > 0

/** The reasoning as text: callers give it back under one of two names, or only in pieces. */
const reasoningIn = (message: AssistantMessage): string => {
  const said = textOr(message.reasoning, "") || textOr(message["reasoning_content"], "")
  if (said !== "" || message.reasoning_details == null) return said
  return withoutOrder(detailsIn(message.reasoning_details))
    .map(({ text, summary }) => text ?? summary ?? "")
    .join("")
}

/** Returns the same array when no member has a `cache_control`. */
export const withoutCacheControl = <A>(list: ReadonlyArray<A>): ReadonlyArray<unknown> => {
  if (!list.some((one) => isJsonObject(one) && one["cache_control"] !== undefined)) return list
  return list.map((one) => {
    if (!isJsonObject(one)) return one
    const { cache_control: _, ...rest }: JsonObject = one
    return rest
  })
}
