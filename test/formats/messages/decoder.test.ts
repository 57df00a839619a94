/** Streamed answers in Anthropic's form that recordings do not contain, such as errors in mid-stream. */
import { describe, expect, test } from "bun:test"
import * as Arbitrary from "effect/FastCheck"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { parseUsage } from "../../../src/domain/price/Usage.ts"
import {
  answer,
  assistant,
  context,
  deltasOf,
  head,
  hello,
  messages,
  sent,
  streamed,
  textBlock,
  thought,
  toolUse,
  user,
} from "./build.ts"

const event = (data: JsonObject) => `event: ${data["type"]}\ndata: ${JSON.stringify(data)}\n\n`
const opening = event({
  type: "message_start",
  message: answer([], { stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } }),
})
const begin = (index: number, block: JsonObject) => event({ type: "content_block_start", index, content_block: block })
const delta = (index: number, change: JsonObject) => event({ type: "content_block_delta", index, delta: change })
const close = (index: number) => event({ type: "content_block_stop", index })
const ending = (reason: string | null, usage: JsonObject = { output_tokens: 5 }) =>
  event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage })
const last = event({ type: "message_stop" })

describe("a streamed answer", () => {
  test("text, then the finish with its usage", () => {
    const stream = streamed(
      opening +
        begin(0, textBlock("")) +
        event({ type: "ping" }) +
        delta(0, { type: "text_delta", text: "Hi" }) +
        close(0) +
        ending("end_turn") +
        last,
    )
    expect(deltasOf(stream)).toEqual([{ role: "assistant", content: "" }, { content: "Hi" }, { content: "" }])
    const finish = stream.chunks.at(-1)
    expect(finish?.choices[0]).toMatchObject({ finish_reason: "stop", native_finish_reason: "end_turn" })
    expect(parseUsage(finish?.usage)).toMatchObject({ promptTokens: 9, completionTokens: 5 })
  })

  test("tool calls have their own index; one without arguments gets an empty object", () => {
    const stream = streamed(
      opening +
        begin(0, textBlock("")) +
        close(0) +
        begin(1, { type: "server_tool_use", id: "s", name: "web_search", input: {} }) +
        delta(1, { type: "input_json_delta", partial_json: '{"query":1}' }) +
        close(1) +
        begin(2, toolUse("a", {})) +
        delta(2, { type: "input_json_delta", partial_json: "" }) +
        close(2) +
        begin(3, toolUse("b", {}, "g")) +
        delta(3, { type: "input_json_delta", partial_json: '{"x"' }) +
        delta(3, { type: "input_json_delta", partial_json: ":1}" }) +
        ending("tool_use") +
        last,
    )
    expect(deltasOf(stream).slice(1)).toEqual([
      { tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      { tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "g", arguments: "" } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"x"' } }] },
      { tool_calls: [{ index: 1, function: { arguments: ":1}" } }] },
      { content: "" },
    ])
  })

  test("a call whose block never closed still has its arguments", () => {
    const stream = streamed(opening + begin(0, toolUse("a", { x: 1 })) + ending("tool_use") + last)
    expect(deltasOf(stream)[2]).toEqual({ tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] })
  })

  test("thinking, its signature and redacted thinking can be sent back unchanged", () => {
    const stream = streamed(
      opening +
        begin(0, { type: "thinking", thinking: "", signature: "" }) +
        delta(0, { type: "thinking_delta", thinking: "hm" }) +
        delta(0, { type: "thinking_delta", thinking: "m" }) +
        delta(0, { type: "signature_delta", signature: "sig" }) +
        close(0) +
        begin(1, { type: "redacted_thinking", data: "hidden" }) +
        close(1) +
        begin(2, textBlock("")) +
        delta(2, { type: "text_delta", text: "yes" }) +
        close(2) +
        ending("end_turn") +
        last,
    )
    const deltas = deltasOf(stream)
    expect(deltas[1]).toEqual({ reasoning: "hm", reasoning_details: [thought({ text: "hm", index: 0 })] })
    const details = deltas.flatMap((found) => found?.reasoning_details ?? [])
    expect(details.map((detail) => detail.index)).toEqual([0, 0, 0, 1, 3])
    const back = sent({ messages: [...hello, assistant({ content: "yes", reasoning_details: details }), user("more")] })
    expect(back["messages"]).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "hmm", signature: "sig" },
          { type: "redacted_thinking", data: "hidden" },
          textBlock("yes"),
        ],
      },
      {},
    ])
  })

  test("counts are cumulative: a later count replaces an earlier one, and a missing one stays", () => {
    const first = { input_tokens: 9, cache_read_input_tokens: 100, cache_creation_input_tokens: 0, output_tokens: 1 }
    const stream = streamed(
      event({ type: "message_start", message: answer([], { usage: first }) }) +
        begin(0, textBlock("x")) +
        ending(null, { output_tokens: 2 }) +
        ending("end_turn", { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: null }) +
        last,
    )
    expect(stream.chunks.filter((chunk) => chunk.usage !== undefined)).toHaveLength(1)
    expect(parseUsage(stream.chunks.at(-1)?.usage)).toMatchObject({
      promptTokens: 111,
      cachedTokens: 100,
      completionTokens: 7,
    })
  })

  test("zeros at the end, which some hosts write, do not replace what was counted before", () => {
    const first = { input_tokens: 50, cache_read_input_tokens: 100, output_tokens: 1 }
    const stream = streamed(
      event({ type: "message_start", message: answer([], { usage: first }) }) +
        begin(0, textBlock("x")) +
        ending("end_turn", { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }) +
        last,
    )
    expect(parseUsage(stream.chunks.at(-1)?.usage)).toMatchObject({
      ...{ promptTokens: 150, cachedTokens: 100, completionTokens: 7 },
    })
  })

  test("a stop beside calls is a stop for the calls; input that is JSON text is kept", () => {
    const stream = streamed(opening + begin(0, toolUse("a", '{"x":1}')) + close(0) + ending("end_turn") + last)
    expect(stream.chunks.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      native_finish_reason: "end_turn",
    })
    expect(deltasOf(stream)[2]).toEqual({ tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] })
  })

  test.each([
    ["overloaded_error", "overloaded"],
    ["rate_limit_error", "rate-limited"],
    ["api_error", "overloaded"],
    ["invalid_request_error", "request"],
    ["authentication_error", "account"],
    ["billing_error", "account"],
    ["permission_error", "forbidden"],
    ["not_found_error", "not-found"],
    ["timeout_error", "timeout"],
  ])("event: error of type %s within the stream is %s", (type, reason) => {
    const text = opening + begin(0, textBlock("")) + delta(0, { type: "text_delta", text: "Hal" })
    const stream = streamed(text + event({ type: "error", error: { type, message: "sorry" } }) + last)
    expect(deltasOf(stream).at(-1)).toEqual({ content: "Hal" })
    expect(stream.failure).toMatchObject({ _tag: "HostFailed", reason, code: type })
  })

  test("an error in another form than Anthropic's is an error too", () => {
    expect(streamed(`data: ${JSON.stringify({ error: { message: "bad gateway" } })}\n\n`).failure).toBeInstanceOf(
      HostFailed,
    )
  })

  test("unknown events are skipped", () => {
    const odd =
      event({ type: "content_block_hint", index: 0 }) + delta(7, { type: "input_json_delta", partial_json: "x" })
    const stream = streamed(
      opening + odd + begin(0, { type: "novelty" }) + close(0) + begin(1, textBlock("x")) + ending("end_turn"),
    )
    expect(deltasOf(stream).slice(1)).toEqual([{ content: "x" }, { content: "" }])
  })

  test("an end without a reason is a stop after some text, and no answer before any", () => {
    expect(streamed(opening + begin(0, textBlock("x")) + last).chunks.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "stop",
      native_finish_reason: "stop",
    })
    expect(streamed(opening + last).failure?.reason).toBe("malformed")
    expect(
      streamed(opening + begin(0, textBlock("x"))).chunks.some((chunk) => chunk.choices[0]?.finish_reason != null),
    ).toBe(false)
  })

  test("any JSON as an event never throws", () => {
    const types = [
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "error",
    ]
    const made = Arbitrary.record({
      type: Arbitrary.constantFrom(...types),
      index: Arbitrary.nat(2),
      ...{ message: Arbitrary.jsonValue(), content_block: Arbitrary.jsonValue(), delta: Arbitrary.jsonValue() },
      ...{ usage: Arbitrary.jsonValue(), error: Arbitrary.jsonValue() },
    })
    Arbitrary.assert(
      Arbitrary.property(Arbitrary.array(Arbitrary.oneof(made, Arbitrary.jsonValue())), (events) => {
        const decoder = messages.decoder(head, context)
        for (const data of events) {
          const found = decoder.event("", data)
          expect(found instanceof HostFailed || Array.isArray(found)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})
