import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatQuirks } from "../../../src/formats/chat/ChatQuirks.ts"
import { chatProtocol } from "../../../src/formats/chat/chatHost.ts"
import { encodedBy, hostFor, requestWith } from "../../support/recordings/recordings.ts"

const messages = [{ role: "user", content: "hi" }]
const host = hostFor("small-v1")

const sent = (
  body: JsonObject,
  quirks: ChatQuirks = {},
  more: Parameters<typeof requestWith>[1] = {},
  to = host,
): JsonObject => encoded(body, quirks, more, to).body

const encoded = (body: JsonObject, quirks: ChatQuirks = {}, more: Parameters<typeof requestWith>[1] = {}, to = host) =>
  encodedBy(chatProtocol(quirks), requestWith({ model: "acme/small", messages, ...body }, more), to)

describe("request", () => {
  test("passes the payload on under the host's name for the model", () => {
    const body = sent({
      ...{ temperature: 0.5, tools: [], user: "u", x_unknown: { a: 1 } },
    })
    expect(body).toEqual({
      ...{ model: "small-v1", messages, temperature: 0.5, tools: [], user: "u", x_unknown: { a: 1 }, stream: false },
    })
  })

  test("goes to /chat/completions as JSON text", () => {
    const { path, text, method, headers } = encoded({})
    expect([path, method, headers]).toEqual(["/chat/completions", undefined, undefined])
    expect(text).toBe('{"model":"small-v1","messages":[{"role":"user","content":"hi"}],"stream":false}')
  })

  test("leaves the canonical request as it was", () => {
    const request = requestWith(
      { messages: [{ role: "assistant", content: "a", reasoning: "r" }], max_tokens: 9 },
      { stream: true },
    )
    const before = JSON.stringify(request)
    encodedBy(chatProtocol({ strict: true, history: "none" }), request, host)
    expect(JSON.stringify(request)).toBe(before)
  })

  test("a stream asks for its usage", () => {
    const body = sent({}, {}, { stream: true })
    expect([body["stream"], body["stream_options"]]).toEqual([true, { include_usage: true }])
    expect(sent({}, { streamUsage: false }, { stream: true })["stream_options"]).toBeUndefined()
  })

  test("the bound in force goes under the host's name for it", () => {
    const plain = sent({}, {}, { maxTokens: 50 })
    expect([plain["max_tokens"], plain["max_completion_tokens"]]).toEqual([50, undefined])
    const newer = sent({}, { maxTokens: "max_completion_tokens" }, { maxTokens: 50 })
    expect([newer["max_tokens"], newer["max_completion_tokens"]]).toEqual([undefined, 50])
    expect(sent({})).not.toHaveProperty("max_tokens")
  })

  test("nothing is dropped that the host gets in other words", () => {
    const given = { temperature: 1, reasoning: { effort: "max" }, max_tokens: 5 }
    const quirks: ChatQuirks = { strict: true, efforts: () => ["low"], maxTokens: "max_completion_tokens" }
    expect(encoded(given, quirks, { maxTokens: 5, stream: true }).dropped).toEqual([])
  })

  test("a strict host gets neither the router's additions nor hints in messages and tools", () => {
    const hint = { type: "ephemeral" }
    const { body, dropped } = encoded(
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
    expect(dropped).toEqual(["top_k", "repetition_penalty", "cache_control", "seed"])
  })

  describe("a member that the host refuses is not sent, whatever else rewrites it", () => {
    const tools = [{ type: "function", function: { name: "f" } }]
    test.each<[string, JsonObject, ChatQuirks, boolean, ReadonlyArray<string>]>([
      ["tools", { tools }, { strict: true }, false, ["tools"]],
      ["reasoning_effort", { reasoning: { effort: "high" } }, {}, false, ["reasoning"]],
      ["reasoning_effort", { reasoning_effort: "low" }, {}, false, ["reasoning_effort"]],
      ["reasoning", { reasoning: { effort: "high" } }, { reasoning: "router" }, false, ["reasoning"]],
      ["include_reasoning", { include_reasoning: true }, { reasoning: "router" }, false, ["include_reasoning"]],
      // The gateway's own wish, not the caller's.
      ["stream_options", {}, {}, true, []],
    ])("%s of %j with %o", (member, given, quirks, stream, lost) => {
      const { body, dropped } = encoded(given, { ...quirks, drop: [member] }, { stream })
      expect(body).not.toHaveProperty(member)
      expect(dropped).toEqual([...lost])
    })

    test("the bound of the output is always sent, since the reservation depends on it", () => {
      expect(sent({}, { drop: ["max_tokens"] }, { maxTokens: 5 })["max_tokens"]).toBe(5)
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
      [{ reasoning: { effort: "minimal" } }, { efforts: () => ["none", "high"] }, "none"],
      [{ reasoning: { effort: "minimal" } }, { efforts: () => ["none", "low"] }, "low"],
      [{ reasoning: { effort: "low" } }, { efforts: () => ["none", "high"] }, "high"],
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
      const { body, dropped } = encoded({ reasoning, include_reasoning: null }, { reasoning: "router" })
      expect(body["reasoning"]).toEqual(reasoning)
      expect(body).not.toHaveProperty("include_reasoning")
      expect(dropped).toEqual([])
    })

    test("is not asked of a model that does not list it", () => {
      const plain = { ...host, supportedParameters: ["tools"] }
      const { body, dropped } = encoded({ reasoning: { effort: "high" } }, {}, {}, plain)
      expect(body).not.toHaveProperty("reasoning_effort")
      expect(dropped).toEqual(["reasoning"])
      expect(encoded({ reasoning_effort: "low" }, {}, {}, plain).dropped).toEqual(["reasoning_effort"])
      expect(encoded({ reasoning: { exclude: true } }, {}, {}, plain).dropped).toEqual([])
    })
  })
})

test.each([true, false])(
  "images in results of tools, which hosts take from users only, follow the results that belong together (strict: %p)",
  (strict) => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }
    const call = (id: string) => ({ id, type: "function", function: { name: "view", arguments: "{}" } })
    const result = (id: string, ...content: ReadonlyArray<JsonObject>) => ({ role: "tool", tool_call_id: id, content })
    const text = { type: "text", text: "seen" }
    const asked = [...messages, { role: "assistant", content: null, tool_calls: [call("a"), call("b"), call("c")] }]
    const given = [result("a", text, image), result("b", text), result("c", image)]
    const ask = [{ role: "user", content: "And?" }, result("d", image)]
    const follows = { type: "text", text: "(What the tool shows follows.)" }
    const shown = (...media: ReadonlyArray<JsonObject>) => ({
      role: "user",
      content: [{ type: "text", text: "What the tools have shown, in their order:" }, ...media],
    })
    expect(sent({ messages: [...asked, ...given, ...ask] }, { strict })["messages"]).toEqual([
      ...asked,
      ...[result("a", text, follows), result("b", text), result("c", follows), shown(image, image)],
      ...[ask[0], result("d", follows), shown(image)],
    ])
    expect(sent({ messages: [...asked, ...given] }, { resultMedia: true })["messages"]).toEqual([...asked, ...given])
  },
)

test("the detail `original` of the Responses form is high", () => {
  const image = (detail: string) => ({ type: "image_url", image_url: { url: "data:image/png;base64,AA", detail } })
  const written = sent({ messages: [{ role: "user", content: [image("original"), image("low")] }] })["messages"]
  expect(written).toEqual([{ role: "user", content: [image("high"), image("low")] }])
})

describe("instructions (H5)", () => {
  const user = { role: "user", content: "hi" }
  const system = (content: unknown) => ({ role: "system", content })
  const developer = (content: unknown) => ({ role: "developer", content })
  const arranged = (written: ReadonlyArray<unknown>, instructions?: ChatQuirks["instructions"]) =>
    sent({ messages: written }, instructions === undefined ? {} : { instructions })["messages"]

  test("that begin the conversation are one system message", () => {
    expect(arranged([system("a"), user])).toEqual([system("a"), user])
    expect(arranged([developer("a"), user])).toEqual([system("a"), user])
    expect(arranged([system("a"), developer("b"), user])).toEqual([system("a\n\nb"), user])
    expect(arranged([system(""), developer("b"), user])).toEqual([system("b"), user])
  })

  test("stay in their place later on, as texts of the user's", () => {
    const reminder = (said: string) => `<system-reminder>\n${said}\n</system-reminder>`
    const says = (content: unknown) => ({ role: "user", content })
    const [one, two] = [says("one"), says("two")]
    const answer = { role: "assistant", content: "yes" }
    expect(arranged([system("a"), one, answer, system("c"), answer])).toEqual([
      ...[system("a"), one, answer, says(reminder("c")), answer],
    ])
    expect(arranged([one, developer("a"), answer])).toEqual([says(`one\n\n${reminder("a")}`), answer])
    expect(arranged([one, answer, developer("a"), two])).toEqual([one, answer, says(`${reminder("a")}\n\ntwo`)])
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
    expect(arranged([says([image]), system("a"), system(reminder("b")), says([image])])).toEqual([
      says([
        ...[image, { type: "text", text: `\n\n${reminder("a")}` }, { type: "text", text: `\n\n${reminder("b")}` }],
        image,
      ]),
    ])
  })

  test("between results of tools follow them", () => {
    const calls = ["a", "b"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }))
    const called = { role: "assistant", content: null, tool_calls: calls }
    const [first, second] = ["a", "b"].map((id) => ({ role: "tool", tool_call_id: id, content: id }))
    const reminder = { role: "user", content: "<system-reminder>\nc\n</system-reminder>" }
    expect(arranged([user, called, first, system("c"), second])).toEqual([user, called, first, second, reminder])
  })

  test("keep their parts and marks where they are joined", () => {
    const marked = { type: "text", text: "a", cache_control: { type: "ephemeral" } }
    expect(arranged([system([marked]), developer("b"), user])).toEqual([
      system([marked, { type: "text", text: "\n\nb" }]),
      user,
    ])
  })

  test("have the role `system` where they may stand anywhere", () => {
    expect(arranged([system("a"), user, developer("b")], "system")).toEqual([system("a"), user, system("b")])
  })

  test("stay at hosts that know both roles", () => {
    const written = [developer("a"), user, system("b")]
    expect(arranged(written, "developer")).toEqual(written)
  })
})

describe("results of tools (H17)", () => {
  const calls = ["a", "b"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }))
  const called = { role: "assistant", content: null, tool_calls: calls }
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: id })
  const user = (content: string) => ({ role: "user", content })

  test("come before a note between them", () => {
    const written = [user("hi"), called, result("a"), user("note"), result("b"), user("more")]
    expect(sent({ messages: written })["messages"]).toEqual([
      ...[user("hi"), called, result("a"), result("b"), user("note"), user("more")],
    ])
  })

  test("stay where nothing is between them", () => {
    const written = [user("hi"), called, result("a"), result("b"), user("note"), called, result("a"), user("done")]
    expect(sent({ messages: written })["messages"]).toEqual(written)
  })
})

describe("the list of the order of parts (G39)", () => {
  const thought = { type: "reasoning.text", text: "r", index: 1 }
  const order = { type: "reasoning.encrypted", id: "headgate-order", format: "unknown", index: 2, data: "[]" }
  const said = { role: "assistant", content: "a", reasoning_details: [thought, order] }

  test.each<ChatQuirks>([
    {},
    { strict: true },
    { dropInMessages: ["name"] },
    { history: "reasoning_content" },
    { history: "none" },
    { rewrite: (payload) => payload, instructions: "system" },
  ])("is sent to no host: %j", (quirks) => {
    const { text } = encoded({ messages: [...messages, said, ...messages] }, quirks)
    expect(text).not.toContain("headgate-order")
    if (quirks.history === undefined) expect(text).toContain('"reasoning_details":[{"type":"reasoning.text"')
  })
})

describe("reasoning that a history lacks (H8)", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }
  const called = { role: "assistant", content: null, tool_calls: [call] }
  const hidden = { type: "reasoning.encrypted", data: "xyz", format: "openai-responses-v1" }
  const piece = { type: "reasoning.text", text: "Look.", format: "anthropic-claude-v1", signature: "s" }
  const quirks: ChatQuirks = { history: "reasoning_content", missingReasoning: () => " " }
  const last = (message: JsonObject, more: JsonObject = {}) => {
    const list = sent({ messages: [...messages, message], ...more }, quirks)["messages"]
    return Array.isArray(list) ? list.at(-1) : undefined
  }

  test("is filled in beside calls", () => {
    expect(last(called)).toEqual({ ...called, reasoning_content: " " })
    expect(last({ ...called, reasoning_details: [hidden] })).toEqual({ ...called, reasoning_content: " " })
    expect(last({ ...called, reasoning: "" })).toEqual({ ...called, reasoning_content: " " })
  })

  test("is read from its pieces", () => {
    expect(last({ ...called, reasoning_details: [piece, hidden] })).toEqual({ ...called, reasoning_content: "Look." })
  })

  test("is left out where nothing is called or the model does not think", () => {
    expect(last({ role: "assistant", content: "a" })).toEqual({ role: "assistant", content: "a" })
    expect(last(called, { thinking: { type: "disabled" } })).toEqual(called)
  })
})
