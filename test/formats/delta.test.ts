/** Whole answers that are read by the decoder of streams. */
import { expect, test } from "bun:test"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import type { ChatChunk } from "../../src/domain/request/chat.ts"
import { answerFrom, chunkOf } from "../../src/formats/delta.ts"

/** Reads the answer that a decoder would make with one event for each list of chunks. */
const answer = (...chunks: ReadonlyArray<ReadonlyArray<ChatChunk>>) => {
  const left = [...chunks]
  return answerFrom(
    { event: () => left.shift() ?? [] },
    chunks.map(() => ["", {}]),
  )
}

const finish: ReadonlyArray<ChatChunk> = [
  { choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop", native_finish_reason: "end" }] },
]

test("pieces of texts, reasoning and calls are put together, each in its place", () => {
  const thought = { type: "reasoning.text", format: "x", index: 0 } as const
  const whole = answer(
    chunkOf({ role: "assistant", content: "" }),
    chunkOf({ reasoning: "a", reasoning_details: [{ ...thought, text: "a" }] }),
    chunkOf({ reasoning: "b", reasoning_details: [{ ...thought, text: "b" }] }),
    chunkOf({ reasoning_details: [{ ...thought, signature: "s" }] }),
    chunkOf({ reasoning: "c", reasoning_details: [{ ...thought, text: "c", index: 1 }] }),
    chunkOf({ tool_calls: [{ index: 0, id: "1", type: "function", function: { name: "f", arguments: "" } }] }),
    chunkOf({ tool_calls: [{ index: 1, id: "2", type: "function", function: { name: "g", arguments: "{}" } }] }),
    chunkOf({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
    chunkOf({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
    finish,
    [{ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 }, service_tier: "flex" }],
  )
  expect(whole).toEqual({
    choices: [
      {
        index: 0,
        finish_reason: "stop",
        native_finish_reason: "end",
        logprobs: null,
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          reasoning: "abc",
          reasoning_details: [
            { ...thought, text: "ab", signature: "s" },
            { ...thought, text: "c", index: 1 },
          ],
          tool_calls: [
            { id: "1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
            { id: "2", type: "function", function: { name: "g", arguments: "{}" } },
          ],
        },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
    service_tier: "flex",
  })
})

test("a failure among the events is that of the answer", () => {
  const failure = new HostFailed({ reason: "overloaded" })
  expect(answerFrom({ event: () => failure }, [["", {}]])).toBe(failure)
})
