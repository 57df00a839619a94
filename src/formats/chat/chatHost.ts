/**
 * The chat completion protocol of OpenAI and compatible vendors. It is nearly the canonical form. Where vendors differ,
 * quirks or the answer itself tell. Members that a vendor's API does not have are passed on where the quirks say so.
 */

import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import { withCallIdsWithin } from "../callId.ts"
import { ours } from "../ownProtocols.ts"
import type { Protocol } from "../Protocol.ts"
import type { ChatQuirks } from "./ChatQuirks.ts"
import { readAnswer } from "./chatAnswer.ts"
import { encodeChat } from "./chatRequest.ts"
import { chatDecoder } from "./chatStream.ts"

/** Whether the host knows `web_search_options`, or nothing is known of what it knows. */
const searchesByOption = ({ supportedParameters: known }: Host): boolean =>
  known.length === 0 || known.includes("web_search_options")

/** The protocol with these quirks. */
export const chatProtocol = (quirks: ChatQuirks = {}): Protocol =>
  ours({
    framing: "sse",
    ...(quirks.usage === undefined ? {} : { usage: quirks.usage }),
    ...(quirks.usageAfterError === true ? { usageAfterError: true } : {}),
    transparent: quirks.thinkTags !== true,
    passes: quirks.passes ?? [...(quirks.takes ?? []), ...(quirks.own ?? [])],
    searches: searchesByOption,
    encode: withinIds(quirks, encodeChat(quirks)),
    decode: (_head, body, { host }) => readAnswer(body, quirks, baseModelOf(host)),
    decoder: (_head, { host }) => chatDecoder(quirks, baseModelOf(host)),
  })

const withinIds = ({ longestCallId: most }: ChatQuirks, encode: Protocol["encode"]): Protocol["encode"] =>
  most === undefined
    ? encode
    : (request, host) => {
        const { payload } = request
        const messages = withCallIdsWithin(payload.messages, most)
        return encode(messages === payload.messages ? request : { ...request, payload: { ...payload, messages } }, host)
      }
