/** Deltas of a stream: what they contain, and chunks of one. */
import type { ChatChunk, ChatChunkChoice, ChatDelta, ChatMessage, ChatResponse } from "../domain/request/chat.ts"

/** Whether a delta has more than a role. Only such a delta commits the caller to this host. */
export const says = ({ delta, logprobs }: ChatChunkChoice): boolean => {
  for (const member in delta) {
    const value = delta[member]
    if (member !== "role" && value != null && value !== "" && !(Array.isArray(value) && value.length === 0)) return true
  }
  return logprobs != null
}

/** The text of a delta that has nothing else. */
export const plainText = ({ delta, logprobs }: ChatChunkChoice): string | undefined => {
  for (const member in delta) {
    if (member !== "role" && member !== "content" && delta[member] != null) return undefined
  }
  return logprobs == null && typeof delta.content === "string" ? delta.content : undefined
}

export const withoutReasoning = (choice: ChatChunkChoice): ChatChunkChoice => {
  if (choice.delta.reasoning === undefined && choice.delta.reasoning_details === undefined) return choice
  const { reasoning: _, reasoning_details: __, ...delta } = choice.delta
  return { ...choice, delta }
}

/** The one chunk that adds this to an answer with one choice. */
export const chunkOf = (delta: ChatDelta, rest: Pick<ChatChunkChoice, "logprobs"> = {}): ReadonlyArray<ChatChunk> => [
  { choices: [{ index: 0, delta, finish_reason: null, ...rest }] },
]

/** The same answer as a stream: one chunk with all that it says, one with its finishes. */
export const chunksOf = ({ choices, ...rest }: ChatResponse): ReadonlyArray<ChatChunk> => [
  {
    choices: choices.map(({ index, message, logprobs = null }) => ({
      index,
      delta: deltaOf(message),
      finish_reason: null,
      logprobs,
    })),
  },
  {
    ...rest,
    choices: choices.map(({ index, finish_reason: reason, native_finish_reason: native }) => ({
      index,
      delta: { content: "" },
      finish_reason: reason ?? "stop",
      native_finish_reason: native,
    })),
  },
]

const deltaOf = ({ tool_calls: calls, ...message }: ChatMessage): ChatDelta =>
  calls == null ? message : { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) }
