/** The vendor's answers in the canonical form: whole, and line by line. */
import {
  type ChatDelta,
  type ChatUsage,
  type Decoder,
  errorInBody,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  newCallId,
  type Protocol,
  type ReasoningDetail,
  type ToolCall,
} from "headgate/plugin"
import { format } from "./request.ts"

const reasons: Readonly<Record<string, FinishReason>> = {
  done: "stop",
  limit: "length",
  call: "tool_calls",
  refused: "content_filter",
}

/** An answer with calls that ended by itself ends with them, whatever the vendor says; one that was cut off was cut off. */
const finishOf = (ended: string, calls: number): FinishReason => {
  const reason = reasons[ended] ?? "stop"
  return reason === "stop" && calls > 0 ? "tool_calls" : reason
}

const count = (value: unknown): number => (typeof value === "number" ? value : 0)

/**
 * The vendor counts four classes beside each other: `read`, `cached`, `written`, `thought`. Ours include: the prompt has the
 * cached tokens, the completion the reasoning.
 */
const usageOf = ({ tokens }: JsonObject): { readonly usage?: ChatUsage } => {
  if (!isJsonObject(tokens)) return {}
  const [read, cached] = [count(tokens["read"]), count(tokens["cached"])]
  const [written, thought] = [count(tokens["written"]), count(tokens["thought"])]
  return {
    usage: {
      prompt_tokens: read + cached,
      completion_tokens: written + thought,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: thought },
    },
  }
}

/** `overloaded` unless its kind is known. */
const failureIn = (problem: unknown): HostFailed => {
  const { kind, words, retry_in: wait } = isJsonObject(problem) ? problem : {}
  const failure = errorInBody({ code: kind === "slow_down" ? "rate_limit" : kind, message: words })
  return typeof wait === "number" && wait >= 0 ? failure.with({ retryAfterSeconds: wait }) : failure
}

const callIn = (call: unknown): ToolCall | undefined => {
  if (!isJsonObject(call) || typeof call["name"] !== "string") return undefined
  const id = typeof call["id"] === "string" ? call["id"] : newCallId()
  // Arguments are JSON text in the canonical form.
  return { id, type: "function", function: { name: call["name"], arguments: JSON.stringify(call["input"] ?? {}) } }
}

const detail = (piece: Pick<ReasoningDetail, "text" | "signature">): ReasoningDetail => ({
  type: "reasoning.text",
  format,
  index: 0,
  ...piece,
})

// --- whole answers

export const decode: Protocol["decode"] = (_head, body) => {
  if (!isJsonObject(body)) return malformed()
  if (body["problem"] !== undefined) return failureIn(body["problem"])
  const { said, ended } = body
  if (!Array.isArray(said) || typeof ended !== "string") return malformed()
  const parts = said.filter(isJsonObject)
  const texts = (name: string) => parts.flatMap((part) => (typeof part[name] === "string" ? [part[name]] : []))
  const [thought, seal] = [texts("thought").join(""), texts("seal").join("")]
  const calls = parts.flatMap((part) => callIn(part["call"]) ?? [])
  const text = texts("text").join("")
  return {
    choices: [
      {
        index: 0,
        finish_reason: finishOf(ended, calls.length),
        native_finish_reason: ended,
        message: {
          role: "assistant",
          content: text === "" && calls.length > 0 ? null : text,
          ...(thought === ""
            ? {}
            : { reasoning: thought, reasoning_details: [detail({ text: thought, signature: seal })] }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      },
    ],
    ...usageOf(body),
  }
}

// --- streamed answers

export const decoder: Protocol["decoder"] = (): Decoder => {
  let calls = 0
  let isDone = false
  const deltaOf = (line: JsonObject): ChatDelta | undefined => {
    const { text, thought, seal, call } = line
    if (typeof text === "string") return { content: text }
    if (typeof thought === "string") return { reasoning: thought, reasoning_details: [detail({ text: thought })] }
    if (typeof seal === "string") return { reasoning_details: [detail({ signature: seal })] }
    const called = callIn(call)
    // Each call has a place of its own, counted over the whole answer.
    return called === undefined ? undefined : { tool_calls: [{ index: calls++, ...called }] }
  }
  return {
    event: (_name, line) => {
      if (!isJsonObject(line)) return malformed()
      if (line["problem"] !== undefined) return failureIn(line["problem"])
      const { ended } = line
      if (typeof ended === "string") {
        isDone = true
        const finish = { finish_reason: finishOf(ended, calls), native_finish_reason: ended }
        return [{ choices: [{ index: 0, delta: {}, ...finish }], ...usageOf(line) }]
      }
      const delta = deltaOf(line)
      return delta === undefined ? malformed() : [{ choices: [{ index: 0, delta, finish_reason: null }] }]
    },
    end: () => [],
    done: () => isDone,
  }
}
