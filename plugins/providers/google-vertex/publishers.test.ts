/** Models of other publishers than Google: where they are asked, and in whose words. */
import { describe, expect, test } from "bun:test"
import { HostFailed, type JsonObject } from "headgate/plugin"
import { encodedBy, hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { vertexError, vertexProtocol } from "./publishers.ts"

const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hi" },
]

const encoded = (model: string, stream: boolean, body: JsonObject = {}) =>
  encodedBy(vertexProtocol, requestWith({ messages, ...body }, { stream, maxTokens: 80 }), hostFor(model))

const head = { status: 200, headers: new Headers() }

const textOf = (model: string, body: unknown): string | null | undefined => {
  const answer = vertexProtocol.decode(head, body, { request: requestWith({}), host: hostFor(model) })
  return answer instanceof HostFailed ? answer.reason : answer.choices[0]?.message.content
}

const streamedText = (model: string, events: ReadonlyArray<JsonObject>): string => {
  const decoder = vertexProtocol.decoder(head, { request: requestWith({}), host: hostFor(model) })
  return events
    .flatMap((event) => {
      const chunks = decoder.event(String(event["type"] ?? ""), event)
      return chunks instanceof HostFailed ? [] : chunks.map(({ choices }) => choices[0]?.delta.content ?? "")
    })
    .join("")
}

describe("Gemini", () => {
  test("is the usual model", () => {
    const { path, body } = encoded("gemini-2.5-pro", true)
    expect(path).toBe("/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse")
    expect(body["systemInstruction"]).toEqual({ parts: [{ text: "Be brief." }] })
    const answer = { candidates: [{ content: { parts: [{ text: "a" }] }, finishReason: "STOP" }] }
    expect(textOf("gemini-2.5-pro", answer)).toBe("a")
    expect(streamedText("gemini-2.5-pro", [answer])).toBe("a")
  })
})

describe("Claude", () => {
  test.each([
    [false, "rawPredict"],
    [true, "streamRawPredict"],
  ])("stream %p: %s, with the version in the body and the model in the path", (stream, method) => {
    const { path, body, headers } = encoded("claude-sonnet-4-5@20250929", stream, { reasoning: { max_tokens: 2000 } })
    expect(path).toBe(`/publishers/anthropic/models/claude-sonnet-4-5%4020250929:${method}`)
    expect(headers).toEqual({})
    expect(body).toEqual({
      anthropic_version: "vertex-2023-10-16",
      max_tokens: 80,
      system: [{ type: "text", text: "Be brief." }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      ...(stream ? { stream: true } : {}),
    })
  })

  test("models without budgets are asked for an effort, whatever their version", () => {
    const { body } = encoded("claude-opus-4-7@default", false, { reasoning: { effort: "high" } })
    expect(body).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } })
  })

  test("answers and errors are Anthropic's", () => {
    const usage = { input_tokens: 3, output_tokens: 4 }
    const body = { type: "message", content: [{ type: "text", text: "a" }], stop_reason: "end_turn", usage }
    expect(textOf("claude-sonnet-5@default", body)).toBe("a")
    const events = [
      { type: "message_start", message: { usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "b" } },
    ]
    expect(streamedText("claude-sonnet-5@default", events)).toBe("ab")
    const error = { type: "error", error: { type: "overloaded_error", message: "m" } }
    expect(vertexError(400, new Headers(), error).reason).toBe("overloaded")
    const google = { error: { code: 403, status: "PERMISSION_DENIED", message: "m" } }
    expect(vertexError(403, new Headers(), google).reason).toBe("account")
  })
})

describe("open models", () => {
  test.each([
    ["meta/llama-3.3-70b-instruct-maas", "meta/llama-3.3-70b-instruct-maas"],
    ["deepseek-r1-0528-maas", "deepseek-ai/deepseek-r1-0528-maas"],
    ["minimax-m2-maas", "minimaxai/minimax-m2-maas"],
    ["qwen3-next-80b-a3b-thinking-maas", "qwen/qwen3-next-80b-a3b-thinking-maas"],
    ["gemma-4-26b-a4b-it-maas", "google/gemma-4-26b-a4b-it-maas"],
  ])("%s are asked as %s", (model, name) => {
    const { path, body } = encoded(model, true)
    expect(path).toBe("/endpoints/openapi/chat/completions")
    expect(body).toMatchObject({ model: name, messages, max_tokens: 80, stream: true })
  })

  test("answers are of the chat form", () => {
    const body = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] }
    expect(textOf("zai-org/glm-5-maas", body)).toBe("a")
    const event = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }
    expect(streamedText("zai-org/glm-5-maas", [event])).toBe("a")
  })

  test("Mistral stands below its publisher", () => {
    const { path, body } = encoded("mistral-medium-3", false, { seed: 7 })
    expect(path).toBe("/publishers/mistralai/models/mistral-medium-3:rawPredict")
    expect(body).toMatchObject({ model: "mistral-medium-3", random_seed: 7 })
  })
})
