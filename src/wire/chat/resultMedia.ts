/**
 * Images, sound and files in results of tools. OpenAI's chat API takes text alone there: "Image URLs are only allowed for messages with
 * role 'user'" (its 400, github.com/OpenHands/OpenHands/issues/7700; its reference of tool messages, 2026-11), and most hosts of its form
 * follow. What a tool has shown, such as a picture that an agent looked at, therefore goes into a message of the user's, after the
 * results of the turn: no other message may stand between a turn's calls and their results.
 */
import type { ContentPart, Message, ToolMessage } from "../../domain/Chat.ts"

/** The same array where no result has media. */
export const withResultMedia = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  if (!messages.some(hasMedia)) return messages
  const out: Array<Message> = []
  let shown: Array<ContentPart> = []
  const show = () => {
    if (shown.length > 0) out.push({ role: "user", content: shown })
    shown = []
  }
  for (const message of messages) {
    if (message.role !== "tool") show()
    if (!hasMedia(message)) {
      out.push(message)
      continue
    }
    const texts = message.content.filter(isText)
    const told: ContentPart = { type: "text", text: "What it shows is in the next message of the user." }
    out.push({ ...message, content: [...texts, told] })
    shown.push({ type: "text", text: `Shown by the result of ${message.tool_call_id}:` })
    shown.push(...message.content.filter((part) => !isText(part)))
  }
  show()
  return out
}

type WithMedia = ToolMessage & { readonly content: ReadonlyArray<ContentPart> }

const hasMedia = (message: Message): message is WithMedia =>
  message.role === "tool" && Array.isArray(message.content) && !message.content.every(isText)

const isText = ({ type }: ContentPart): boolean => type === "text"
