/**
 * A streamed answer in the chat form: chunks as server-sent events, the finish with its cost, and failures in the
 * stream.
 */
import type { ChatChunk, ChatChunkChoice } from "../../../domain/Chat.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { Host } from "../../../domain/Host.ts"
import { noCost } from "../../../domain/Price.ts"
import { noUsage } from "../../../domain/Usage.ts"
import type { StreamWriter } from "../../../services/AnswerStream.ts"
import { sseComment, sseDone, sseEvent } from "../../../wire/sse.ts"
import { chatError, render } from "../../ErrorBody.ts"
import { type AnswerNames, tierOf, usageBody } from "./answer.ts"

const nothing = { usage: noUsage, cost: noCost, upstream: noCost }

/** Writes one streamed answer. All its chunks begin with the same members, which are serialized once. */
export const chunkWriter = ({ generationId, created, model }: AnswerNames, host: Host | undefined): StreamWriter => {
  const names = {
    id: generationId,
    ...(host === undefined ? {} : { provider: host.providerName }),
    model: host?.model ?? model,
    object: "chat.completion.chunk",
    created,
  }
  const head = JSON.stringify(names).slice(0, -1)
  const write = ({ choices, ...rest }: ChatChunk): string => {
    const extras = JSON.stringify(rest)
    return sseEvent(
      `${head},"choices":${JSON.stringify(choices.map(chunkChoice))}${extras === "{}" ? "}" : `,${extras.slice(1)}`}`,
    )
  }
  return {
    chunk: write,
    spliceable: { json: (text) => text.slice(6, -2), text: sseEvent },
    finish: (chunk, charge) =>
      write({ ...chunk, service_tier: tierOf(chunk["service_tier"]), usage: usageBody(charge) }) + sseDone,
    failure: (failure: Failure, charge) => {
      const { metadata, ...error } = chatError(render(failure))
      const choice = { index: 0, delta: { content: "" }, finish_reason: "error", native_finish_reason: null } as const
      return (
        write({
          error: { ...error, metadata: metadata ?? { error_type: render(failure).errorType } },
          choices: [choice],
          usage: usageBody(charge ?? nothing),
        }) + sseDone
      )
    },
    heartbeat: sseComment,
  }
}

/** Every delta has the role and a text, and every choice has all members, because strict clients require them. */
const chunkChoice = ({ index, delta, finish_reason, native_finish_reason, ...rest }: ChatChunkChoice) => ({
  index,
  delta: { role: "assistant", content: "", ...delta },
  finish_reason,
  native_finish_reason: native_finish_reason ?? null,
  logprobs: null,
  ...rest,
})
