import { describe, expect, test } from "bun:test"
import { HostFailed } from "headgate/plugin"
import { hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { converse } from "./converse.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"
const head = { status: 200, headers: new Headers() }
const context = (model: string) => ({ request: requestWith({}), host: hostFor(model) })

const streamed = (events: ReadonlyArray<readonly [name: string, data: object]>, model = claude): Anything => {
  const decoder = converse.decoder(head, context(model))
  const chunks: Array<Anything> = []
  for (const [name, data] of events) {
    const given = decoder.event(name, data)
    if (given instanceof HostFailed) return given
    chunks.push(...given)
  }
  return { chunks, done: decoder.done?.() }
}

const block = (contentBlockIndex: number, ...deltas: ReadonlyArray<object>) => [
  ...deltas.map((delta) => ["contentBlockDelta", { contentBlockIndex, delta }] as const),
  ["contentBlockStop", { contentBlockIndex }] as const,
]

const answerWith = (content: ReadonlyArray<object>, more: object = {}): Anything =>
  converse.decode(head, { output: { message: { content } }, stopReason: "end_turn", ...more }, context(claude))

describe("an answer", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["tool_use", "tool_calls"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["of_tomorrow", "stop"],
  ])("that ends with %s: %s", (stopReason, reason) => {
    const [choice] = answerWith([{ text: "a" }], { stopReason }).choices
    expect([choice.finish_reason, choice.native_finish_reason]).toEqual([reason, stopReason])
    const { chunks } = streamed([["messageStop", { stopReason }]])
    expect([chunks[0].choices[0].finish_reason, chunks[0].choices[0].native_finish_reason]).toEqual([
      reason,
      stopReason,
    ])
  })

  test.each(["malformed_tool_use", "malformed_model_output"])(
    "%s was none: the model chose it, and it is billed",
    (stopReason) => {
      const finish = { finish_reason: "error", native_finish_reason: stopReason }
      expect(answerWith([{ text: "a" }], { stopReason })).toMatchObject({ choices: [finish] })
      expect(streamed([["messageStop", { stopReason }]])).toMatchObject({ chunks: [{ choices: [finish] }] })
    },
  )

  test("four classes of tokens make up the total", () => {
    const usage = {
      inputTokens: 3,
      outputTokens: 121,
      cacheReadInputTokens: 1712,
      cacheWriteInputTokens: 236,
      cacheDetails: [
        { ttl: "1h", inputTokens: 200 },
        { ttl: "5m", inputTokens: 36 },
      ],
      totalTokens: 2072,
    }
    const expected = {
      prompt_tokens: 1951,
      completion_tokens: 121,
      prompt_tokens_details: { cached_tokens: 1712, cache_write_tokens: 236, cache_write_1h_tokens: 200 },
    }
    expect(answerWith([], { usage, serviceTier: { type: "flex" } })).toMatchObject({
      usage: expected,
      service_tier: "flex",
    })
    const { chunks, done } = streamed([["metadata", { usage, serviceTier: { type: "flex" } }]])
    expect([chunks, done]).toEqual([[{ choices: [], usage: expected, service_tier: "flex" }], true])
    expect(answerWith([], { usage: { ...usage, inputTokens: -1 } }).usage).toBeUndefined()
  })

  const web = { title: "T", location: { web: { url: "https://a.example" } }, sourceContent: [{ text: "src" }] }
  const citation = {
    type: "url_citation",
    url_citation: { url: "https://a.example", title: "T", content: "src", start_index: 2, end_index: 5 },
  }

  test("whole: thinking, encrypted thinking, sources, images and calls; what the host ran itself is left out", () => {
    const { message } = answerWith([
      { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } },
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "a " },
      { citationsContent: { content: [{ text: "b c" }], citations: [web, { location: { documentChar: {} } }] } },
      { image: { format: "webp", source: { bytes: "AA" } } },
      { toolUse: { toolUseId: "1", name: "host_ran", input: {}, type: "server_tool_use" } },
      { toolResult: { toolUseId: "1", content: [] } },
      { toolUse: { toolUseId: "2", name: "weather", input: { city: "Rome" } } },
    ]).choices[0]
    expect(message).toEqual({
      role: "assistant",
      content: "a b c",
      refusal: null,
      reasoning: "Hm.",
      reasoning_details: [
        { type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.encrypted", data: "aGlk", format: "amazon-bedrock-v1", index: 1 },
        expect.objectContaining({ id: expect.stringMatching(/^headgate-order-/), index: 4 }),
      ],
      tool_calls: [{ id: "2", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
      annotations: [citation],
      images: [{ type: "image_url", image_url: { url: "data:image/webp;base64,AA" } }],
    })
  })

  test("streamed: the same", () => {
    const start = (contentBlockIndex: number, toolUse: object) =>
      ["contentBlockStart", { contentBlockIndex, start: { toolUse } }] as const
    const { chunks } = streamed([
      ["initial-response", {}],
      ["messageStart", { role: "assistant" }],
      ...block(0, { reasoningContent: { text: "Hm." } }, { reasoningContent: { signature: "c2ln" } }),
      ...block(1, { reasoningContent: { redactedContent: "aGk=" } }, { reasoningContent: { redactedContent: "ZA==" } }),
      ...block(2, { text: "a " }),
      ...block(3, { text: "b c" }, { citation: web }),
      ["contentBlockStart", { contentBlockIndex: 4, start: { image: { format: "webp" } } }],
      ...block(4, { image: { source: { bytes: "aGk=" } } }, { image: { source: { bytes: "ZA==" } } }),
      start(5, { toolUseId: "1", name: "host_ran", type: "server_tool_use" }),
      ...block(5, { toolUse: { input: "{}" } }),
      start(6, { toolUseId: "2", name: "weather" }),
      start(7, { toolUseId: "3", name: "rain" }),
      ...block(7),
      ...block(6, { toolUse: { input: '{"city":"Rome"}' } }),
      ["messageStop", { stopReason: "tool_use" }],
    ])
    const deltas = chunks.flatMap(({ choices }: Anything) => choices.map(({ delta }: Anything) => delta))
    const all = (name: string) => deltas.flatMap((delta: Anything) => delta[name] ?? [])
    expect(all("content").join("")).toBe("a b c")
    expect(all("reasoning").join("")).toBe("Hm.")
    const format = "anthropic-claude-v1"
    expect(all("reasoning_details")).toEqual([
      { type: "reasoning.text", text: "Hm.", format, index: 0 },
      { type: "reasoning.text", signature: "c2ln", format, index: 0 },
      { type: "reasoning.encrypted", data: "aGlk", format: "amazon-bedrock-v1", index: 1 },
      expect.objectContaining({ id: expect.stringMatching(/^headgate-order-/), index: 5 }),
    ])
    expect(all("annotations")).toEqual([citation])
    expect(all("images")).toEqual([{ type: "image_url", image_url: { url: "data:image/webp;base64,aGlk" } }])
    expect(all("tool_calls")).toEqual([
      { index: 0, id: "2", type: "function", function: { name: "weather", arguments: "" } },
      { index: 1, id: "3", type: "function", function: { name: "rain", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
      { index: 0, function: { arguments: '{"city":"Rome"}' } },
    ])
  })

  test.each(["end_turn", "stop_sequence"])("%s beside calls is a stop for the calls", (stopReason) => {
    const { finish_reason: finish } = answerWith([{ toolUse: { toolUseId: "2", name: "weather", input: {} } }], {
      stopReason,
    }).choices[0]
    expect(finish).toBe("tool_calls")
    const { chunks } = streamed([
      ["contentBlockStart", { contentBlockIndex: 0, start: { toolUse: { toolUseId: "2", name: "weather" } } }],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason }],
      ["metadata", { usage: { inputTokens: 1, outputTokens: 1 } }],
    ])
    expect(chunks.flatMap(({ choices }: Anything) => choices).at(-1).finish_reason).toBe("tool_calls")
  })

  test("input that is JSON text is kept", () => {
    const { message } = answerWith([{ toolUse: { toolUseId: "2", name: "weather", input: '{"city":"Rome"}' } }])
      .choices[0]
    expect(message.tool_calls[0].function.arguments).toBe('{"city":"Rome"}')
  })
})
