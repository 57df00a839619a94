/**
 * Models of other publishers on Vertex AI, each with its publisher's protocol: Claude speaks Anthropic's, below
 * `rawPredict`; the open models that Vertex AI runs itself (`-maas`) speak the chat form at one address for all;
 * Mistral speaks the chat form below `rawPredict`. From Google's pages on partner and open models, read in 2026-11;
 * untested against recorded traffic. All of them stream server-sent events, as Gemini does, so that one protocol can
 * stand for all.
 */
import * as Either from "effect/Either"
import {
  chatProtocol,
  type Encoded,
  type Host,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  jsonBody,
  messagesProtocol,
  type Protocol,
  type Provider,
  thinkingOfClaude,
} from "headgate/plugin"
import { generateContentProtocol } from "headgate/plugin/generate-content"

const gemini = generateContentProtocol({ vertex: true })
// Names of versions follow an @ here.
const claude = messagesProtocol({ thinking: (name) => thinkingOfClaude(name.replace(/@.*/, "")) })
const open = chatProtocol({ path: () => "/endpoints/openapi/chat/completions" })
const mistral = chatProtocol({ strict: true, reasoning: "none", names: { seed: "random_seed" } })

/** What tells one publisher's models from another's. */
interface Publisher {
  readonly isIts: (model: string) => boolean
  readonly protocol: Protocol
  /** The request as this publisher's models take it. */
  readonly encode: (protocol: Protocol, ...given: Parameters<Protocol["encode"]>) => ReturnType<Protocol["encode"]>
}

const publishers: ReadonlyArray<Publisher> = [
  {
    isIts: (model) => model.startsWith("claude-"),
    protocol: claude,
    encode: (protocol, request, host) =>
      Either.map(protocol.encode(request, host), (encoded) => claudeRequest(encoded, host, request.stream)),
  },
  {
    isIts: (model) => model.endsWith("-maas"),
    protocol: open,
    encode: (protocol, request, host) =>
      protocol.encode(request, { ...host, upstreamModel: withPublisher(host.upstreamModel) }),
  },
  {
    isIts: (model) => /^(?:mistral|codestral)-/.test(model),
    protocol: mistral,
    encode: (protocol, request, host) =>
      Either.map(protocol.encode(request, host), (encoded) => ({
        ...encoded,
        path: rawPredict("mistralai", host, request.stream),
      })),
  },
]

const publisherOf = ({ upstreamModel }: Host): Publisher | undefined =>
  publishers.find(({ isIts }) => isIts(upstreamModel))

const protocolOf = (host: Host): Protocol => publisherOf(host)?.protocol ?? gemini

/** The protocol of any model that Vertex AI serves, by the model's name. */
export const vertexProtocol: Protocol = {
  framing: "sse",
  usage: "last",
  passes: ["safetySettings", "thinking", "output_config"],
  // Claude and the open models have no search there.
  searches: (host) => publisherOf(host) === undefined,
  encode: (request, host) => {
    const publisher = publisherOf(host)
    return publisher === undefined ? gemini.encode(request, host) : publisher.encode(publisher.protocol, request, host)
  },
  native: { ...gemini.native, isSpokenBy: (host) => publisherOf(host) === undefined },
  decode: (head, body, context) => protocolOf(context.host).decode(head, body, context),
  decoder: (head, context) => protocolOf(context.host).decoder(head, context),
}

/** Errors are Google's, but for those that a publisher's model gives itself. */
export const vertexError: Provider["error"] = (status, headers, body): HostFailed =>
  isJsonObject(body) && body["type"] === "error"
    ? claude.error(status, headers, body)
    : gemini.error(status, headers, body)

const rawPredict = (publisher: string, { upstreamModel }: Host, stream: boolean): string =>
  `/publishers/${publisher}/models/${encodeURIComponent(upstreamModel)}:${stream ? "streamRawPredict" : "rawPredict"}`

/** The model stands in the path, and the version of the API in the body. */
const claudeRequest = (encoded: Encoded, host: Host, stream: boolean): Encoded => {
  const { model: _, ...body }: JsonObject = encoded.source?.json ?? JSON.parse(String(encoded.body))
  const { "anthropic-version": __, ...headers } = encoded.headers ?? {}
  return {
    ...encoded,
    path: rawPredict("anthropic", host, stream),
    headers,
    ...jsonBody({ ...body, anthropic_version: "vertex-2023-10-16" }),
  }
}

/** Open models are called by publisher and name. Catalogues have some by the name alone. */
const publishersByName: ReadonlyArray<readonly [start: string, publisher: string]> = [
  ["deepseek", "deepseek-ai"],
  ["gemma", "google"],
  ["glm", "zai-org"],
  ["gpt-oss", "openai"],
  ["kimi", "moonshotai"],
  ["llama", "meta"],
  ["minimax", "minimaxai"],
  ["qwen", "qwen"],
]

const withPublisher = (model: string): string => {
  const publisher = publishersByName.find(([start]) => model.startsWith(start))?.[1]
  return publisher === undefined || model.includes("/") ? model : `${publisher}/${model}`
}
