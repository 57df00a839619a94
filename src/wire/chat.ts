/**
 * The chat completion protocol of OpenAI and compatible vendors. It is nearly the canonical form. Where vendors differ,
 * quirks or the answer itself tell. Unknown members are passed on.
 */
import { chatDecoder } from "./chat/decoder.ts"
import type { ChatQuirks } from "./chat/quirks.ts"
import { encodeChat } from "./chat/request.ts"
import { readAnswer } from "./chat/response.ts"
import { ours } from "./ownProtocols.ts"
import type { Protocol } from "./Protocol.ts"

/** The protocol with these quirks. */
export const chatProtocol = (quirks: ChatQuirks = {}): Protocol =>
  ours({
    framing: "sse",
    ...(quirks.usage === undefined ? {} : { usage: quirks.usage }),
    ...(quirks.usageAfterError === true ? { usageAfterError: true } : {}),
    transparent: quirks.thinkTags !== true,
    encode: encodeChat(quirks),
    decode: (_head, body) => readAnswer(body, quirks),
    decoder: () => chatDecoder(quirks),
  })
