/** Reads the lines of a streamed answer. A call comes whole, in one line. */
import { type ChatChunk, type ChatDelta, type Decoder, type HostFailed, isJsonObject, malformed } from "headgate/plugin"
import { callsOf, failureIn, finishOf, logprobsOf, usageOf } from "./answer.ts"

export const chatDecoder = (): Decoder => {
  let calls = 0
  let hasOutput = false
  let isOver = false

  const event = (_name: string, line: unknown): ReadonlyArray<ChatChunk> | HostFailed => {
    if (!isJsonObject(line)) return malformed()
    const failure = failureIn(line)
    if (failure !== undefined) return failure
    const { message, done } = line
    if (!isJsonObject(message)) return done === true ? end(line) : malformed()
    const { content, thinking } = message
    const called = callsOf(message).map((call) => ({ index: calls++, ...call }))
    const delta: ChatDelta = {
      ...(typeof content === "string" && content !== "" ? { content } : {}),
      ...(typeof thinking === "string" && thinking !== "" ? { reasoning: thinking } : {}),
      ...(called.length === 0 ? {} : { tool_calls: called }),
    }
    const logprobs = logprobsOf(line)
    const said = { index: 0, delta, finish_reason: null, ...(logprobs === null ? {} : { logprobs }) }
    const chunks: ReadonlyArray<ChatChunk> = Object.keys(delta).length === 0 ? [] : [{ choices: [said] }]
    hasOutput ||= chunks.length > 0
    return done === true ? [...chunks, ...end(line)] : chunks
  }

  const end = (line: Readonly<Record<string, unknown>>): ReadonlyArray<ChatChunk> => {
    isOver = true
    const { reason, native } = finishOf(line["done_reason"], calls > 0)
    const usage = usageOf(line, hasOutput)
    const choice = { index: 0, delta: {}, finish_reason: reason, native_finish_reason: native }
    return [{ choices: [choice], ...(usage === undefined ? {} : { usage }) }]
  }

  return { event, end: () => [], done: () => isOver }
}
