/**
 * Anthropic's Messages API as Bedrock has it, by InvokeModel: the same bodies but for the model, which is in the path, and
 * with every event of a stream inside a message of Amazon's event stream. From "Anthropic Claude Messages API" of AWS's
 * user guide, read in 2026-11. Untested against recorded traffic.
 */
import * as Either from "effect/Either"
import {
  type ChatChunk,
  type Decoder,
  type Encoded,
  type Host,
  type HostFailed,
  jsonBody,
  malformed,
  messagesProtocol,
  objectIn,
  type Protocol,
} from "headgate/plugin"
import { bedrockErrorInStream } from "./failure.ts"
import { pathOf, thinkingKindOf } from "./model.ts"

const common = messagesProtocol({ thinking: thinkingKindOf, cloud: "bedrock" })

export const messages: Protocol = {
  ...(common.passes === undefined ? {} : { passes: common.passes }),
  framing: "aws-eventstream",
  encode: (request, host) =>
    Either.map(common.encode(request, host), (encoded) => invocation(encoded, host, request.stream)),
  decode: common.decode,
  decoder: (head, context) => unwrapping(common.decoder(head, context)),
}

/** Members that Bedrock refuses in the body, or that turn on what the operator pays for. */
const refused: ReadonlySet<string> = new Set(["service_tier", "anthropic_beta"])

const invocation = ({ headers, body, source, dropped = [] }: Encoded, host: Host, stream: boolean): Encoded => {
  const { model: _, stream: __, ...members } = source?.json ?? objectIn(JSON.parse(String(body)))
  const kept = Object.entries(members).filter(([name]) => !refused.has(name))
  const lost = Object.keys(members).filter((name) => refused.has(name))
  const beta = headers?.["anthropic-beta"]
  const written = {
    anthropic_version: "bedrock-2023-05-31",
    ...(beta === undefined ? {} : { anthropic_beta: beta.split(",") }),
    ...Object.fromEntries(kept),
  }
  return {
    path: pathOf(host, stream ? "invoke-with-response-stream" : "invoke"),
    ...(stream ? { headers: { accept: "application/vnd.amazon.eventstream" } } : {}),
    ...jsonBody(written),
    dropped: [...dropped, ...lost],
  }
}

/** An event is base64 in the member `bytes` of a `chunk`. */
const unwrapping = (decoder: Decoder): Decoder => ({
  event: (name, data): ReadonlyArray<ChatChunk> | HostFailed => {
    const failure = bedrockErrorInStream(name, data)
    if (failure !== undefined) return failure
    if (name !== "chunk") return []
    const event = eventIn(data)
    return event === undefined ? malformed() : decoder.event("", event)
  },
  end: () => decoder.end(),
  done: () => decoder.done?.() === true,
})

const eventIn = (data: unknown): unknown => {
  const { bytes } = objectIn(data)
  if (typeof bytes !== "string") return undefined
  try {
    return JSON.parse(Buffer.from(bytes, "base64").toString("utf8"))
  } catch {
    return undefined
  }
}
