/**
 * Anthropic's Messages API as Bedrock has it, by InvokeModel: the same bodies but for the model, which is in the path,
 * and with every event of a stream inside a message of Amazon's event stream. From "Anthropic Claude Messages API" of
 * AWS's user guide, read in 2026-11. Untested against recorded traffic.
 */
import * as Either from "effect/Either"
import {
  type ChatChunk,
  type Decoder,
  type Encoded,
  type Host,
  HostFailed,
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
  decode: (head, body, context) => {
    const answer = common.decode(head, body, context)
    return answer instanceof HostFailed || !isIntervention(body)
      ? answer
      : { ...answer, choices: answer.choices.map((choice) => ({ ...choice, ...intervened })) }
  },
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

/**
 * A guardrail of the account ended the answer: "Use your guardrail with inference operations" of AWS's user guide,
 * 2026-11.
 */
const isIntervention = (body: unknown): boolean => objectIn(body)["amazon-bedrock-guardrailAction"] === "INTERVENED"
const intervened = { finish_reason: "content_filter", native_finish_reason: "guardrail_intervened" } as const

/** An event is base64 in the member `bytes` of a `chunk`. Any of them may tell of a guardrail. */
const unwrapping = (decoder: Decoder): Decoder => {
  let isIntervened = false
  const finished = (chunk: ChatChunk): ChatChunk => ({
    ...chunk,
    choices: chunk.choices.map((choice) => (choice.finish_reason === null ? choice : { ...choice, ...intervened })),
  })
  return {
    event: (name, data): ReadonlyArray<ChatChunk> | HostFailed => {
      const failure = bedrockErrorInStream(name, data)
      if (failure !== undefined) return failure
      if (name !== "chunk") return []
      const event = eventIn(data)
      if (event === undefined) return malformed()
      const chunks = decoder.event("", event)
      isIntervened ||= isIntervention(event)
      if (!isIntervened || chunks instanceof HostFailed) return chunks
      return chunks.length > 0 ? chunks.map(finished) : [{ choices: [{ index: 0, delta: {}, ...intervened }] }]
    },
    end: () => decoder.end(),
    done: () => decoder.done?.() === true,
  }
}

const eventIn = (data: unknown): unknown => {
  const { bytes } = objectIn(data)
  if (typeof bytes !== "string") return undefined
  try {
    return JSON.parse(Buffer.from(bytes, "base64").toString("utf8"))
  } catch {
    return undefined
  }
}
