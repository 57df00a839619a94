/**
 * OpenAI's Responses API as the protocol of a host. Input and output are lists of items, reasoning is encrypted and
 * goes back in later turns, events have names. Nothing is ever stored at the host. Source: OpenAI's API reference, read
 * in 2026-11, and the recorded traffic of five vendors.
 */
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import { ours } from "../ownProtocols.ts"
import type { Protocol } from "../Protocol.ts"
import { defaultFormat, type ResponsesQuirks } from "./ResponsesQuirks.ts"
import { encodeCompact } from "./responsesCompact.ts"
import { encodeNative } from "./responsesNative.ts"
import { encodeResponses, responsesForm } from "./responsesRequest.ts"
import { responsesAnswer, responsesDecoder } from "./responsesStream.ts"

/** Not `gpt-35-turbo`, as Azure calls one of its models. */
const fromGpt54 = /^(?:openai\/)?gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|[12]\d|daybreak)/

/**
 * The name of this protocol for OpenAI's models from GPT-5.4 on, at hosts that have it: `/chat/completions` refuses
 * function tools beside a reasoning effort there, which later ones have by default (openai-openapi#541, 2026-05;
 * litellm#34569, 2026-07).
 */
export const responsesForTools = (host: Pick<Host, "model" | "upstreamModel" | "baseModel">) =>
  fromGpt54.test(host.model) || fromGpt54.test(baseModelOf(host)) ? "responses" : undefined

/** The protocol with these quirks, relative to a base URL that ends with `/v1`. */
export const responsesProtocol = (quirks: ResponsesQuirks = {}): Protocol => {
  const { format = defaultFormat } = quirks
  return ours({
    framing: "sse",
    ...(quirks.baseUrl === undefined ? {} : { baseUrl: quirks.baseUrl }),
    ...(quirks.own === undefined ? {} : { passes: quirks.own }),
    searches: () => true,
    // Its reference of tools, and the change of Codex (openai/codex#46188, 2026-09).
    longestToolName: 128,
    encode: (request, host) => encodeResponses(quirks, request, host),
    native: {
      form: responsesForm,
      ...(quirks.ofEveryHost === undefined ? {} : { ofEveryHost: quirks.ofEveryHost }),
      encode: (request, native, host) =>
        (native.compacts === true ? encodeCompact : encodeNative)(quirks, request, native, host),
    },
    decode: (_head, body) => responsesAnswer(body, format),
    decoder: () => responsesDecoder(format),
  })
}
