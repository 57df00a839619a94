/**
 * Google's `generateContent`, as the Gemini API of AI Studio and Vertex AI speak it, and their embeddings. An answer is
 * a list of candidates whose content is a list of parts; a stream is such answers one after another. Instructions stand
 * apart, thoughts and calls of functions are signed, and the model is in the path.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { ResponseHeaders } from "../../wire/head.ts"
import type { NativeProtocol, Protocol } from "../Protocol.ts"
import { generateContentAnswer } from "./generateContentAnswer.ts"
import { generateContentHttpError } from "./generateContentError.ts"
import { encodeGenerateContent, encodeNative, generateContentForm } from "./generateContentRequest.ts"
import { GenerateContentDecoder } from "./generateContentStream.ts"

export { embedContentProtocol, vertexEmbeddingsProtocol } from "./generateContentEmbeddings.ts"

export interface GenerateContentOptions {
  /**
   * Vertex AI, whose models are called by their publisher, relative to a base URL that ends with a project's location.
   * Default false: the Gemini API, whose base URL ends with its version.
   */
  readonly vertex?: boolean
}

/** The protocol and the meaning of its errors, which are the same at both. */
export interface GenerateContentProtocol extends Protocol {
  readonly native: NativeProtocol
  /** For `Provider.error`. */
  readonly error: (status: number, headers: ResponseHeaders, body: unknown) => HostFailed
}

export const generateContentProtocol = ({ vertex = false }: GenerateContentOptions = {}): GenerateContentProtocol => ({
  framing: "sse",
  // Running reports may shrink: those of the steps between Google's own tools count one step each. The last one has
  // all.
  usage: "last",
  passes: ["safetySettings"],
  searches: () => true,
  encode: (request, host) => encodeGenerateContent(vertex, request, host),
  native: {
    form: generateContentForm,
    encode: (request, native, host) => encodeNative(vertex, request, native, host),
  },
  decode: (_head, body, { host }) => generateContentAnswer(body, host.upstreamModel),
  decoder: (_head, { host }) => new GenerateContentDecoder(host.upstreamModel),
  error: generateContentHttpError,
})
