/** Whole answers of Anthropic, and their canonical form. */
import { describe, expect, test } from "bun:test"
import * as Arbitrary from "effect/FastCheck"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { parseUsage } from "../../../src/domain/price/Usage.ts"
import { answer, choiceOf, read, textBlock, toolUse } from "./build.ts"

describe("a whole answer", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "tool_calls"],
    ["refusal", "content_filter"],
    ["something_new", "stop"],
  ])("%s is %s", (native, canonical) => {
    const choice = choiceOf(read(answer([textBlock("x")], { stop_reason: native })))
    expect([choice.finish_reason, choice.native_finish_reason]).toEqual([canonical as never, native])
  })

  test("usage in canonical names, as the meter reads it", () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 3000,
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 20 },
      server_tool_use: { web_search_requests: 2 },
      service_tier: "standard",
    }
    const response = read(answer([textBlock("x")], { usage }))
    if (response instanceof HostFailed) throw response
    expect(parseUsage(response.usage)).toMatchObject({
      ...{ promptTokens: 3210, completionTokens: 50, cachedTokens: 200, cacheWriteTokens: 3000 },
      ...{ cacheWrite1hTokens: 2000, reasoningTokens: 20, webSearches: 2 },
    })
    expect(response["service_tier"]).toBe("default")
  })

  test.each([
    { input_tokens: -1, output_tokens: 1 },
    { input_tokens: 1.5, output_tokens: 1 },
    { output_tokens: 1 },
    null,
  ])("no usage in place of a wrong one: %j", (usage) => {
    expect(read(answer([textBlock("x")], { usage }))).not.toHaveProperty("usage")
  })

  test("calls without text have null for content, an empty answer has none of either", () => {
    const called = choiceOf(read(answer([toolUse("a", {})], { stop_reason: "tool_use" }))).message
    expect(called.content).toBeNull()
    expect(called["tool_calls"]).toEqual([{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }])
    const refused = answer([], { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "no" } })
    expect(choiceOf(read(refused)).message).toMatchObject({ content: "", refusal: "no" })
  })

  test.each(["end_turn", "stop_sequence", "something_new"])("%s beside calls is a stop for the calls", (native) => {
    const choice = choiceOf(read(answer([toolUse("a", {})], { stop_reason: native })))
    expect([choice.finish_reason, choice.native_finish_reason]).toEqual(["tool_calls", native])
  })

  test.each([
    ['{"a":1}', '{"a":1}'],
    ["{broken", "{broken"],
    [" ", "{}"],
    [[1], "{}"],
  ])("input %p of a call is %p: it may be JSON text", (input, written) => {
    const { tool_calls: calls } = choiceOf(read(answer([toolUse("a", input)], { stop_reason: "tool_use" }))).message
    expect(calls?.[0]?.function.arguments).toBe(written)
  })

  test("cache writes count where only their split is told", () => {
    const usage = {
      ...{ input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0 },
      cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1500 },
    }
    const response = read(answer([textBlock("x")], { usage }))
    if (response instanceof HostFailed) throw response
    expect(parseUsage(response.usage)).toMatchObject({ cacheWriteTokens: 2000, cacheWrite1hTokens: 1500 })
  })

  test("citations become annotations of the text of their block", () => {
    const cited = { type: "web_search_result_location", url: "https://example.com", title: "T", cited_text: "C" }
    const content = [
      textBlock("It is "),
      { ...textBlock("so"), citations: [cited, { type: "char_location", document_index: 0 }] },
      textBlock("."),
    ]
    expect(choiceOf(read(answer(content))).message).toMatchObject({
      content: "It is so.",
      annotations: [
        {
          type: "url_citation",
          url_citation: { url: "https://example.com", title: "T", content: "C", start_index: 6, end_index: 8 },
        },
      ],
    })
  })

  test("logprobs are null: they were once missing", () => {
    expect(choiceOf(read(answer([textBlock("x")])))).toHaveProperty("logprobs", null)
  })

  test.each<[unknown]>([
    [null],
    [[]],
    ["text"],
    [7],
    [{}],
    [{ type: "message", content: "x" }],
    [{ type: "message", content: {} }],
    [answer([7])],
    [answer([null])],
    [answer([{ type: "text", text: 7 }])],
    [answer([{ type: "text" }])],
  ])("%j is no answer", (body) => {
    const failure = read(body)
    expect(failure).toBeInstanceOf(HostFailed)
    expect(failure).toMatchObject({ reason: "malformed" })
  })

  test("an error in a 200", () => {
    expect(read({ type: "error", error: { type: "overloaded_error", message: "busy" } })).toMatchObject({
      _tag: "HostFailed",
      reason: "overloaded",
      code: "overloaded_error",
    })
  })

  test("any JSON is an answer or a failure, and never throws", () => {
    Arbitrary.assert(
      Arbitrary.property(Arbitrary.jsonValue(), Arbitrary.boolean(), (value, inside) => {
        const response = read(
          inside ? { type: "message", content: [value, { type: "text", text: value }], usage: value } : value,
        )
        expect(response instanceof HostFailed || Array.isArray(response.choices)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
