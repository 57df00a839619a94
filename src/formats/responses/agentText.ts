/**
 * Messages between agents. Codex marks such an argument of a tool with `encrypted: true` in its schema: OpenAI's hosts encrypt what the
 * model writes there, and Codex passes it on unread, as `encrypted_content` of an `agent_message`. Models elsewhere write plain text, so
 * the member has the message itself, which no host could decrypt (seen with Codex 0.169 and `gpt-6-sol`, 2026-11). Pure.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/** One word of base64, as long as the shortest token of OpenAI's kind (Fernet) at least. */
const ciphertext = /^[\w+/-]{100,}={0,2}$/

/** The content of an `agent_message`. Parts that are called encrypted, and are not, are text. */
export const readableParts = (content: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  content.map((part) => (isJsonObject(part) ? (plainPart(part) ?? part) : part))

const plainPart = ({ type, encrypted_content: data }: JsonObject): JsonObject | undefined =>
  type === "encrypted_content" && typeof data === "string" && !ciphertext.test(data)
    ? { type: "input_text", text: data }
    : undefined
