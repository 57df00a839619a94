/**
 * The chat completion form of OpenAI and of everyone who speaks it. It is nearly the canonical form: what differs from
 * vendor to vendor is told by quirks, or read from the answer itself. What is not known here passes on. Reference 6 to 8.
 */
import { chatDecoder } from "./chat/decoder.ts"
import type { ChatQuirks } from "./chat/quirks.ts"
import { chatRequest } from "./chat/request.ts"
import { readResponse } from "./chat/response.ts"
import type { WireForm } from "./Form.ts"

/** The form with these quirks. */
export const chatForm = (quirks: ChatQuirks = {}): WireForm => ({
  framing: "sse",
  transparent: quirks.thinkTags !== true,
  request: chatRequest(quirks),
  response: (body) => readResponse(body, quirks),
  decoder: () => chatDecoder(quirks),
})
