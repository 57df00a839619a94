/**
 * Images and files in results of tools, for hosts that take them from users only. OpenAI refused them ("Image URLs are only allowed
 * for messages with role 'user'"), and models that accept them since do not see them (openai/openai-openapi#523, 2026-02).
 */
import type { ContentPart, Message } from "../../domain/request/chat.ts"

/** Results as text, and after those that belong together a message of the user with the rest. The same list where there is none. */
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
