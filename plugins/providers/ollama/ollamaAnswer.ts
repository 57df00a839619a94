/**
 * Reads the answers of `POST /api/chat`: lines of a stream, and a whole answer, which is one line. A call comes whole.
 */
import {
  answerFrom,
  type ChatChunk,
  type ChatDelta,
  type ChatResponse,
  type ChatUsage,
  callIdOf,
  type Decoder,
  errorInBody,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  objectIn,
  objectsIn,
  type ToolCall,
  textOr,
} from "headgate/plugin"

export const chatAnswer = (body: unknown): ChatResponse | HostFailed => {
  const answer = objectIn(body)
  const { content, tool_calls: calls } = objectIn(answer["message"])
  const isMessage = typeof content === "string" || (content == null && Array.isArray(calls) && calls.length > 0)
  if (answer["error"] == null && (!isMessage || answer["done"] === false)) return malformed()
  return answerFrom(chatDecoder(), [["", { ...answer, done: true }]])
}

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

/** The failure in a body or a line with status 200, if it has one. */
export const failureIn = ({ error }: JsonObject): HostFailed | undefined => {
  if (error == null) return undefined
  return typeof error === "string" && /context (?:length|size|window)/i.test(error)
    ? errorInBody({ code: "context_length", message: error })
    : errorInBody(error)
}

const finishOf = (reason: unknown, called: boolean): { readonly reason: FinishReason; readonly native: string } => {
  const native = typeof reason === "string" && reason !== "" ? reason : "stop"
  if (native === "length") return { reason: "length", native }
  return { reason: called ? "tool_calls" : "stop", native }
}

/**
 * The server leaves out a count that is zero, such as of a prompt that was all in its cache. `hasOutput`: there was
 * output, so that a missing count of it is not zero; then there is no usage, and it is estimated.
 */
export const usageOf = (
  { prompt_eval_count: prompt, eval_count: output }: JsonObject,
  hasOutput: boolean,
): ChatUsage | undefined =>
  output == null && (prompt == null || hasOutput)
    ? undefined
    : { prompt_tokens: prompt ?? 0, completion_tokens: output ?? 0 }

/** The calls of a message. Older servers give them no id. */
const callsOf = ({ tool_calls: calls }: JsonObject): ReadonlyArray<ToolCall> =>
  objectsIn(calls).map(({ id, function: called }) => {
    const { name, arguments: given } = objectIn(called)
    const written = typeof given === "string" ? given : JSON.stringify(given ?? {})
    return { id: callIdOf(id), type: "function", function: { name: textOr(name, ""), arguments: written } }
  })

const logprobsOf = ({ logprobs }: JsonObject): { readonly content: unknown } | null =>
  Array.isArray(logprobs) && logprobs.length > 0 ? { content: logprobs } : null
