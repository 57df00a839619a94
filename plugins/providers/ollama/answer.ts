/** Reads an answer of `POST /api/chat`, and has what whole and streamed answers share. */
import {
  type ChatResponse,
  type ChatUsage,
  callIdOf,
  errorInBody,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  type ToolCall,
} from "headgate/plugin"

/** The failure in a body or a line with status 200, if it has one. */
export const failureIn = ({ error }: JsonObject): HostFailed | undefined => {
  if (error == null) return undefined
  return typeof error === "string" && /context (?:length|size|window)/i.test(error)
    ? errorInBody({ code: "context_length", message: error })
    : errorInBody(error)
}

export const finishOf = (
  reason: unknown,
  called: boolean,
): { readonly reason: FinishReason; readonly native: string } => {
  const native = typeof reason === "string" && reason !== "" ? reason : "stop"
  if (native === "length") return { reason: "length", native }
  return { reason: called ? "tool_calls" : "stop", native }
}

/**
 * The server leaves out a count that is zero, such as of a prompt that was all in its cache. `hasOutput`: there was output, so
 * that a missing count of it is not zero; then there is no usage, and it is estimated.
 */
export const usageOf = (
  { prompt_eval_count: prompt, eval_count: output }: JsonObject,
  hasOutput: boolean,
): ChatUsage | undefined =>
  output == null && (prompt == null || hasOutput)
    ? undefined
    : { prompt_tokens: prompt ?? 0, completion_tokens: output ?? 0 }

/** The calls of a message. Older servers give them no id. */
export const callsOf = ({ tool_calls: calls }: JsonObject): ReadonlyArray<ToolCall> =>
  (Array.isArray(calls) ? calls : []).filter(isJsonObject).map(({ id, function: called }) => {
    const { name, arguments: given }: JsonObject = isJsonObject(called) ? called : {}
    return {
      id: callIdOf(id),
      type: "function",
      function: {
        name: typeof name === "string" ? name : "",
        arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}),
      },
    }
  })

export const logprobsOf = ({ logprobs }: JsonObject): { readonly content: unknown } | null =>
  Array.isArray(logprobs) && logprobs.length > 0 ? { content: logprobs } : null

export const chatAnswer = (body: unknown): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const failure = failureIn(body)
  if (failure !== undefined) return failure
  const { message } = body
  if (!isJsonObject(message) || typeof message["content"] !== "string" || body["done"] === false) return malformed()
  const { content, thinking } = message
  const calls = callsOf(message)
  const finish = finishOf(body["done_reason"], calls.length > 0)
  const usage = usageOf(body, content !== "" || calls.length > 0 || Boolean(thinking))
  return {
    choices: [
      {
        index: 0,
        finish_reason: finish.reason,
        native_finish_reason: finish.native,
        logprobs: logprobsOf(body),
        message: {
          role: "assistant",
          content: content === "" && calls.length > 0 ? null : content,
          reasoning: typeof thinking === "string" && thinking !== "" ? thinking : null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      },
    ],
    ...(usage === undefined ? {} : { usage }),
  }
}
