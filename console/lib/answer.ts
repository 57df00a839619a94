/** An answer as it grows: what chunks of a streamed chat completion add to it. */

export interface ToolCall {
  readonly name: string
  readonly arguments: string
}

export interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<ToolCall>
  readonly finish: string | null
  readonly provider: string | null
  readonly tokensIn: number | null
  readonly tokensOut: number | null
  /** USD, as the last chunk has it. */
  readonly cost: number | null
  /** What broke it off. */
  readonly error: string | null
}

export const noAnswer: Answer = {
  text: "",
  reasoning: "",
  calls: [],
  finish: null,
  provider: null,
  tokensIn: null,
  tokensOut: null,
  cost: null,
  error: null,
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)
const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null)

const withCalls = (calls: ReadonlyArray<ToolCall>, deltas: unknown): ReadonlyArray<ToolCall> => {
  if (!Array.isArray(deltas)) return calls
  const next = [...calls]
  for (const delta of deltas) {
    if (!isObject(delta)) continue
    const at = numberOf(delta["index"]) ?? next.length
    const called = isObject(delta["function"]) ? delta["function"] : {}
    const before = next[at] ?? { name: "", arguments: "" }
    next[at] = {
      name: `${before.name}${textOf(called["name"])}`,
      arguments: `${before.arguments}${textOf(called["arguments"])}`,
    }
  }
  return next
}

/** `answer` with a chunk, which is the data of an event. What is no chunk changes nothing. */
export const withChunk = (answer: Answer, data: string): Answer => {
  let chunk: unknown
  try {
    chunk = JSON.parse(data)
  } catch {
    return answer
  }
  if (!isObject(chunk)) return answer
  const error = isObject(chunk["error"]) ? textOf(chunk["error"]["message"]) : ""
  const choice = Array.isArray(chunk["choices"]) ? chunk["choices"][0] : undefined
  const delta = isObject(choice) && isObject(choice["delta"]) ? choice["delta"] : {}
  const usage = isObject(chunk["usage"]) ? chunk["usage"] : {}
  return {
    text: `${answer.text}${textOf(delta["content"])}`,
    reasoning: `${answer.reasoning}${textOf(delta["reasoning"])}`,
    calls: withCalls(answer.calls, delta["tool_calls"]),
    finish: isObject(choice) ? textOf(choice["finish_reason"]) || answer.finish : answer.finish,
    provider: textOf(chunk["provider"]) || answer.provider,
    tokensIn: numberOf(usage["prompt_tokens"]) ?? answer.tokensIn,
    tokensOut: numberOf(usage["completion_tokens"]) ?? answer.tokensOut,
    cost: numberOf(usage["cost"]) ?? answer.cost,
    error: error === "" ? answer.error : error,
  }
}

/** Whether a caller sees something of it: what the time to the first token waits for. */
export const hasContent = ({ text, reasoning, calls }: Answer): boolean =>
  text !== "" || reasoning !== "" || calls.length > 0
