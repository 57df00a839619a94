/**
 * The messages of a conversation: those of clients, checked (roles, contents and the calls in them), and as a host of
 * the chat form takes them: which roles there are, where they stand, and what messages have.
 */
import {
  anyObject,
  byType,
  type Check,
  checkOf,
  choiceSchema,
  described,
  filledText,
  hasMember,
  listOf,
  objectOf,
  refused,
  report,
  text,
  titled,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { AssistantMessage, Content, ContentPart, Message, SystemMessage } from "../../domain/request/chat.ts"
import { detailsIn, partsOf, reminderOf } from "../content.ts"
import { isOrderEntry, reasoningApart, textOfDetail, withoutOrder } from "../conversation.ts"
import { stored } from "../payload/names.ts"
import { isEmptied } from "../request/encryptedReasoning.ts"
import { mediaUrl } from "../request/mediaUrl.ts"
import { contentOf, textContent, textPart } from "../request/textMembers.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"
import { legacyCall } from "./chatLegacyFunctions.ts"

const most = { messages: 4096 }

const storedFile = refused(`${stored}: send its content in file_data`)
const videoPart = objectOf({ video_url: objectOf({ url: mediaUrl }, "url") }, "video_url")
const partTypes: ReadonlyMap<string, Check> = new Map([
  ["text", textPart],
  ["image_url", objectOf({ image_url: objectOf({ url: mediaUrl, detail: text }, "url") }, "image_url")],
  [
    "input_audio",
    objectOf({ input_audio: objectOf({ data: filledText, format: filledText }, "data", "format") }, "input_audio"),
  ],
  ["video_url", videoPart],
  ["input_video", videoPart],
  ["file", objectOf({ file: objectOf({ filename: text, file_data: text, file_id: storedFile }) }, "file")],
])

const anyContent = contentOf(titled("ContentPart", byType(partTypes)))
const refusalPart: Check = objectOf({ refusal: text }, "refusal")
const assistantContent = contentOf(byType(new Map([...partTypes, ["refusal", refusalPart]])))

// A model may call a tool without a name.
const functionCall = objectOf(
  { id: text, function: objectOf({ name: text, arguments: text }, "name", "arguments") },
  "id",
  "function",
)
const otherType = { type: "string", not: { const: "function" } }
const callSchema = {
  anyOf: [{ allOf: [functionCall.schema, { properties: { type: { not: otherType } } }] }, hasMember("type", otherType)],
}
// Unknown kinds of calls are left to the host.
const toolCall = checkOf(callSchema, (value, path, issues) =>
  (isJsonObject(value) && typeof value["type"] === "string" && value["type"] !== "function" ? anyObject : functionCall)(
    value,
    path,
    issues,
  ),
)

/**
 * Its content may be null or absent whatever else it has: answers have none where the model only thought, or refused.
 */
const assistant = objectOf({
  content: assistantContent,
  name: text,
  tool_calls: listOf(toolCall),
  reasoning: text,
  reasoning_content: text,
  reasoning_details: described("As they came with the answer, in the same order.", listOf(anyObject)),
  refusal: text,
  images: listOf(anyObject),
  audio: anyObject,
  function_call: legacyCall,
})

const instruction = objectOf({ content: textContent, name: text }, "content")
const roles: ReadonlyMap<string, Check> = new Map([
  ["system", instruction],
  ["developer", instruction],
  ["user", objectOf({ content: anyContent, name: text }, "content")],
  ["assistant", assistant],
  ["tool", objectOf({ content: anyContent, tool_call_id: filledText }, "content", "tool_call_id")],
])
const knownRoles = [...roles.keys()].join(", ")
const allRoles = new Map([...roles, ["function", objectOf({ name: text, content: text }, "name")]])
const byRole: ReadonlyMap<unknown, Check> = allRoles

const message = titled(
  "ChatMessage",
  checkOf({ anyOf: choiceSchema("role", allRoles) }, (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    const check = byRole.get(value["role"])
    if (check === undefined) report(issues, `${path}.role`, `must be one of ${knownRoles}`)
    else check(value, path, issues)
  }),
)

/** Whether a turn has only a role and a text, as most have. Such a turn needs no further checks. */
const isPlainTurn = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  for (const name in value) if (name !== "role" && name !== "content") return false
  return (
    typeof value["content"] === "string" &&
    value["role"] !== "tool" &&
    value["role"] !== "function" &&
    byRole.has(value["role"])
  )
}

const messagesSchema = { type: "array", items: message.schema, minItems: 1, maxItems: most.messages }

export const messages: Check = checkOf(messagesSchema, (value, path, issues) => {
  if (!Array.isArray(value)) return report(issues, path, "must be an array")
  if (value.length === 0) return report(issues, path, "must have at least one message")
  if (value.length > most.messages)
    return report(issues, path, `must have at most ${most.messages} messages, not ${value.length}`)
  for (let at = 0; at < value.length; at++) {
    if (!isPlainTurn(value[at])) message(value[at], `${path}[${at}]`, issues)
  }
})

// --- for hosts

/**
 * The messages in an order and with roles that the host takes: instructions where it knows them, results right behind
 * their calls. The same list where that is so already, as usual.
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

/**
 * The instructions that begin the conversation as one message, with a blank line between them. Later ones stay where
 * they are, as texts of the user's (`reminderOf`).
 */
const oneFirst = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const begin = messages.findIndex((message) => !isInstruction(message))
  const end = begin === -1 ? messages.length : begin
  const [first, ...more] = messages.slice(0, end).filter(isInstruction)
  const rest = withReminders(messages.slice(end))
  if (first === undefined) return rest
  return [more.length === 0 ? asSystem(first) : { role: "system", content: joined([first, ...more]) }, ...rest]
}

/** An instruction becomes a part of a message of the user's beside it: templates may want the roles to alternate. */
const withReminders = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const written: Array<Message> = []
  let wasReminder = false
  for (const message of messages) {
    const said: Message = isInstruction(message) ? { role: "user", content: reminding(message.content) } : message
    const last = written.at(-1)
    const isReminder = said !== message
    if ((isReminder || wasReminder) && said.role === "user" && last?.role === "user")
      written[written.length - 1] = { ...last, content: joined([last, said]) }
    else written.push(said)
    wasReminder = isReminder
  }
  return written
}

const reminding = (content: Content): Content =>
  typeof content === "string"
    ? reminderOf(content)
    : content.map((part) => (part.type === "text" ? { ...part, text: reminderOf(part.text) } : part))

const joined = (messages: ReadonlyArray<{ readonly content: Content }>): Content => {
  const said = messages.filter(({ content }) => partsOf(content).length > 0)
  if (said.every(({ content }) => typeof content === "string")) return said.map(({ content }) => content).join("\n\n")
  return said.flatMap(({ content }, at) => (at === 0 ? partsOf(content) : apart(partsOf(content))))
}

const apart = ([first, ...more]: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> => {
  if (first === undefined) return []
  return [first.type === "text" ? { ...first, text: `\n\n${first.text}` } : first, ...more]
}

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
 * Images with a detail that the chat form does not have: `original` is of the Responses form, and hosts answer
 * "image_detail is invalid" (farion1231/cc-switch#7555, 2026-09). The same list where there is none.
 */
export const withChatDetails = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const isOriginal = (part: ContentPart): boolean => part.type === "image_url" && part.image_url.detail === "original"
  const has = ({ content }: Message): boolean => Array.isArray(content) && content.some(isOriginal)
  if (!messages.some(has)) return messages
  return messages.map((message) => {
    const { content } = message
    if (!has(message) || !Array.isArray(content)) return message
    const parts: ReadonlyArray<ContentPart> = content
    return {
      ...message,
      content: parts.map((part) =>
        part.type === "image_url" && isOriginal(part)
          ? { ...part, image_url: { ...part.image_url, detail: "high" } }
          : part,
      ),
    }
  })
}

/**
 * Results of tools as text. Their images and files follow in a message of the user, behind the last result of the same
 * answer, since hosts take them from users only, whichever API they are like (anomalyco/opencode#48740, 2026-09).
 * OpenAI refused them ("Image URLs are only allowed for messages with role 'user'"), and models that accept them since
 * do not see them (openai/openai-openapi#523, 2026-02). The same list where there is none.
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

/** Whether a message has pieces of reasoning that no host is sent, or says nothing, which hosts refuse. */
export const needsWriting = (message: Message): boolean => {
  if (message.role !== "assistant") return false
  const { reasoning_details: details } = message
  return saysNothing(message) || hasUnsent(details)
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
        if (history === "reasoning") plain[name] = hasUnsent(value) ? sentOf(reasoningApart(value)) : value
        break
      default:
        plain[name] = value
    }
  }
  if (message.role === "assistant" && saysNothing(message)) plain["content"] = ""
  if (message.role === "assistant" && refused.has("refusal"))
    plain["content"] = withRefusal(plain["content"], message.refusal)
  if (message.role === "assistant" && history === "reasoning_content") {
    const reasoning = reasoningIn(message) || (hasCalls(message) ? members.missingReasoning : undefined)
    if (reasoning !== undefined && !refused.has("reasoning_content")) plain["reasoning_content"] = reasoning
  }
  return plain
}

/** The content with refusals as text, for hosts that refuse them. */
const withRefusal = (content: unknown, refusal: unknown): unknown => {
  const said = Array.isArray(content) ? content.map(refusalAsText) : content
  if (typeof refusal !== "string" || refusal === "") return said
  return Array.isArray(said) ? [...said, { type: "text", text: refusal }] : textOr(said, "") + refusal
}

const refusalAsText = (part: unknown): unknown =>
  isJsonObject(part) && part["type"] === "refusal" ? { type: "text", text: part["refusal"] } : part

/** Whether a piece is the list of the parts, or has nothing that the host could read. */
const isUnsent = (detail: unknown): boolean => isJsonObject(detail) && (isOrderEntry(detail) || isEmptied(detail))

const hasUnsent = (details: unknown): details is ReadonlyArray<unknown> =>
  Array.isArray(details) && details.some(isUnsent)

const sentOf = (details: ReadonlyArray<unknown>): ReadonlyArray<unknown> => details.filter((one) => !isUnsent(one))

/** Messages that a provider wrote itself, without pieces of reasoning that no host is sent. */
export const withoutListedOrder = (messages: unknown): unknown =>
  Array.isArray(messages) ? messages.map(withoutList) : messages

const withoutList = (message: unknown): unknown => {
  const { reasoning_details: details } = objectIn(message)
  return isJsonObject(message) && hasUnsent(details) ? { ...message, reasoning_details: sentOf(details) } : message
}

const hasCalls = ({ tool_calls: calls }: AssistantMessage): boolean => calls != null && calls.length > 0

/** The reasoning as text: callers give it back under one of two names, or only in pieces. */
const reasoningIn = (message: AssistantMessage): string => {
  const said = textOr(message.reasoning, "") || textOr(message["reasoning_content"], "")
  if (said !== "" || message.reasoning_details == null) return said
  return withoutOrder(detailsIn(message.reasoning_details)).map(textOfDetail).join("")
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
