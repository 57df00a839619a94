/**
 * Cohere's chat, `POST /v2/chat`. Messages look like the canonical form, but for reasoning, documents and sources; events have
 * names of their own, and `message-end` brings the usage. From its API reference, read in 2026-11.
 */
import type { Protocol } from "headgate/plugin"
import { cohereAnswer, cohereDecoder } from "./chat/cohereAnswer.ts"
import { encodeChat } from "./chat/cohereRequest.ts"

export const chat: Protocol = {
  framing: "sse",
  passes: ["citation_options", "safety_mode", "strict_tools", "documents", "thinking"],
  encode: encodeChat,
  decode: (_head, body) => cohereAnswer(body),
  decoder: () => cohereDecoder(),
}
