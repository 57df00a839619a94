/**
 * What agents tell each other. Codex marks such an argument with `encrypted: true` in its schema: OpenAI's hosts encrypt what the model
 * writes there, and Codex passes it on unread, as `encrypted_content` of an `agent_message`. A model elsewhere writes plain text, so that
 * member has the task itself, and no host could decrypt it (seen with Codex 0.169 and `gpt-6-sol`, 2026-11). Pure.
 */
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"

/** One word of base64, as long as the shortest token of OpenAI's kind (Fernet) at least. */
const ciphertext = /^[\w+/-]{100,}={0,2}$/

/** The content of an `agent_message`, what only looks encrypted as text. */
export const readableParts = (content: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  content.map((part) => (isJsonObject(part) ? (plainPart(part) ?? part) : part))

const plainPart = ({ type, encrypted_content: said }: JsonObject): JsonObject | undefined =>
  type === "encrypted_content" && typeof said === "string" && !ciphertext.test(said)
    ? { type: "input_text", text: said }
    : undefined
