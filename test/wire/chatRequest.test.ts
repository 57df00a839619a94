import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { ChatQuirks } from "../../src/wire/chat/quirks.ts"
import { chatForm } from "../../src/wire/chat.ts"
import { hostFor, requestWith } from "../support/recordings.ts"

const messages = [{ role: "user", content: "hi" }]
const host = hostFor("small-v1")

const sent = (
  body: JsonObject,
  quirks: ChatQuirks = {},
  more: Parameters<typeof requestWith>[1] = {},
  to = host,
): JsonObject => chatForm(quirks).request(requestWith({ model: "acme/small", messages, ...body }, more), to).body

describe("request", () => {
  test("passes the body on under the host's name for the model, without the router's own members", () => {
    const body = sent({
      ...{ models: ["x"], route: "fallback", preset: "p", provider: { order: [] }, plugins: [], transforms: [] },
      ...{ usage: { include: true }, session_id: "s", trace: {}, debug: {}, stop_server_tools_when: [] },
      ...{ temperature: 0.5, tools: [], user: "u", x_unknown: { a: 1 } },
    })
    expect(body).toEqual({
      ...{ model: "small-v1", messages, temperature: 0.5, tools: [], user: "u", x_unknown: { a: 1 }, stream: false },
    })
  })

  test("goes to /chat/completions and shares the messages, which may be long", () => {
    const request = requestWith({ messages })
    const { path, body } = chatForm().request(request, host)
    expect(path).toBe("/chat/completions")
    expect(body["messages"]).toBe(messages)
  })

  test("leaves the canonical request as it was", () => {
    const request = requestWith(
      { messages: [{ role: "assistant", content: "a", reasoning: "r" }], max_tokens: 9 },
      { stream: true },
    )
    const before = JSON.stringify(request)
    chatForm({ strict: true, history: "none" }).request(request, host)
    expect(JSON.stringify(request)).toBe(before)
  })

  test("a stream asks for its usage, whatever the caller said", () => {
    const body = sent({ stream: true, stream_options: { include_usage: false, x: 1 } }, {}, { stream: true })
    expect([body["stream"], body["stream_options"]]).toEqual([true, { include_usage: true }])
    expect(sent({}, { streamUsage: false }, { stream: true })["stream_options"]).toBeUndefined()
  })

  test("the bound in force replaces both of the caller's", () => {
    const given = { max_tokens: 500, max_completion_tokens: 600 }
    const plain = sent(given, {}, { maxTokens: 50 })
    expect([plain["max_tokens"], plain["max_completion_tokens"]]).toEqual([50, undefined])
    const newer = sent(given, { maxTokens: "max_completion_tokens" }, { maxTokens: 50 })
    expect([newer["max_tokens"], newer["max_completion_tokens"]]).toEqual([undefined, 50])
    expect(sent({ max_tokens: null }, {})).not.toHaveProperty("max_tokens")
  })

  test("a host that lists its parameters gets no others that only shade the answer", () => {
    const picky = { ...host, supportedParameters: ["top_p", "tools"] }
    const body = sent({ temperature: 1, top_p: 0.5, seed: 1, stop: ["x"], x_unknown: 1 }, {}, {}, picky)
    expect(body).toEqual({ model: "small-v1", messages, top_p: 0.5, stop: ["x"], x_unknown: 1, stream: false })
  })

  test("a strict host gets neither the router's additions nor hints in messages and tools", () => {
    const hint = { type: "ephemeral" }
    const body = sent(
      {
        messages: [
          { role: "user", content: [{ type: "text", text: "a", cache_control: hint }] },
          { role: "assistant", content: "b", reasoning: "r", reasoning_details: [{}] },
        ],
        tools: [{ type: "function", function: { name: "f" }, cache_control: hint }],
        ...{ top_k: 3, repetition_penalty: 1.1, cache_control: hint, x_unknown: 1, seed: 2 },
      },
      { strict: true, history: "none", drop: ["seed"] },
    )
    expect(body).toEqual({
      model: "small-v1",
      messages: [
        { role: "user", content: [{ type: "text", text: "a" }] },
        { role: "assistant", content: "b" },
      ],
      tools: [{ type: "function", function: { name: "f" } }],
      x_unknown: 1,
      stream: false,
    })
  })

  test("earlier reasoning goes back under the name that the host reads", () => {
    const earlier = { messages: [{ role: "assistant", content: "b", reasoning: "r", reasoning_details: [{}] }] }
    expect(sent(earlier)["messages"]).toEqual(earlier.messages)
    expect(sent(earlier, { history: "reasoning_content" })["messages"]).toEqual([
      { role: "assistant", content: "b", reasoning_content: "r" },
    ])
  })

  test("a __proto__ member is no prototype", () => {
    const body = sent(JSON.parse('{"__proto__":{"temperature":2},"messages":[{"role":"user","__proto__":{}}]}'), {
      strict: true,
    })
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect(JSON.stringify(body)).not.toContain("__proto__")
  })

  describe("reasoning", () => {
    const efforts = () => ["low", "medium", "high"]
    test.each<[JsonObject, ChatQuirks, string | undefined]>([
      [{ reasoning: { effort: "high" } }, {}, "high"],
      [{ reasoning_effort: "low" }, {}, "low"],
      [{ reasoning: { enabled: true } }, {}, "medium"],
      [{ reasoning: { enabled: false } }, {}, "none"],
      [{ reasoning: { exclude: true } }, {}, undefined],
      [{ reasoning: {}, reasoning_effort: "low" }, {}, "low"],
      [{ reasoning: { max_tokens: 100 } }, {}, "minimal"],
      [{ reasoning: { max_tokens: 480 } }, {}, "medium"],
      [{ reasoning: { max_tokens: 990 } }, {}, "xhigh"],
      [{ reasoning: { max_tokens: 99_000 } }, {}, "xhigh"],
      [{ reasoning: { effort: "max" } }, { efforts }, "high"],
      [{ reasoning: { effort: "minimal" } }, { efforts }, "low"],
      [{ reasoning: { effort: "none" } }, { efforts }, undefined],
      [{ reasoning: { effort: "none" } }, { efforts: () => ["none", "low"] }, "none"],
      [{ reasoning: { effort: "medium" } }, { efforts: () => ["low", "high"] }, "low"],
      [{ reasoning: { effort: "high" } }, { reasoning: "none" }, undefined],
      [{}, {}, undefined],
    ])("%j with %o is effort %p", (body, quirks, effort) => {
      const out = sent(body, quirks, { maxTokens: 1000 })
      expect(out["reasoning_effort"]).toBe(effort)
      expect(out).not.toHaveProperty("reasoning")
    })

    test("passes on as it is to another router", () => {
      const reasoning = { effort: "high", exclude: true }
      expect(sent({ reasoning }, { reasoning: "router" })["reasoning"]).toBe(reasoning)
    })

    test("is not asked of a model that does not list it", () => {
      const plain = { ...host, supportedParameters: ["tools"] }
      expect(sent({ reasoning: { effort: "high" } }, {}, {}, plain)).not.toHaveProperty("reasoning_effort")
    })
  })
})
