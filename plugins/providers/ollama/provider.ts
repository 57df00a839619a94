/**
 * Ollama's own API. It streams lines of JSON; arguments of tool calls are objects, images bare base64, sampling parameters stand in
 * `options`. Source: docs.ollama.com and api/types.go of the server, read in 2026-11; recordings of 2024 to 2026.
 */
import { httpError, modelsIn, objectIn, type Protocol, type Provider } from "headgate/plugin"
import { embeddings } from "./embeddings.ts"
import { listing } from "./listing.ts"
import type { Options } from "./Options.ts"
import { chatAnswer, chatDecoder } from "./ollamaAnswer.ts"
import { encodeChat } from "./ollamaRequest.ts"

/** A prompt that is too long comes as 400, by some versions as 500. */
const error: typeof httpError = (status, headers, body) => {
  const failed = httpError(status, headers, body)
  const { error: said } = objectIn(body)
  return status === 500 && typeof said === "string" && /context (?:length|size|window)/i.test(said)
    ? failed.with({ reason: "request", detail: said })
    : failed
}

export const chat = (options: Options): Protocol => ({
  framing: "ndjson",
  // A server of the operator's own.
  passes: "any",
  encode: (request, host) => encodeChat(options, request, host),
  decode: (_head, body) => chatAnswer(body),
  decoder: () => chatDecoder(),
})

export const provider = (options: Options): Provider => ({
  protocols: { chat: chat(options) },
  embeddings: embeddings(options),
  error,
  models: modelsIn(new URL("./models.json", import.meta.url)),
  listModels: listing,
})
