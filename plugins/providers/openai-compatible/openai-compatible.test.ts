import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { chatRecordingTests } from "../../../test/support/recordings/chatRecordings.ts"
import { providerOf } from "../../../test/support/recordings/recordedTable.ts"
import { encodedBy, hostFor, recordings, requestWith } from "../../../test/support/recordings/recordings.ts"
import plugin from "./index.ts"

// The recordings of vendors without a plugin of their own, with no quirk set. Those of Ollama are of its compatible API.
const vendors = new Set(["openai-compatible", "ollama"])
const cases = recordings("openai-chat").filter((recorded) => vendors.has(providerOf(recorded)))
chatRecordingTests(Either.getOrThrow(plugin.load({})), cases, 15)

const chatOf = (config: unknown) => {
  const { chat } = Either.getOrThrow(plugin.load(config)).protocols
  if (chat === undefined) throw new Error("no chat protocol")
  return chat
}
const host = hostFor("m")

describe("openai-compatible", () => {
  test("has no base URL of its own: it must be configured", () => expect(plugin.baseUrl).toBeUndefined())

  test("reports every mistake in its configuration", () => {
    const wrong = plugin.load({ strict: "yes", reasoning: "loud", maxTokens: 5 })
    const message = Either.isLeft(wrong) ? wrong.left.message : ""
    for (const name of ["strict", "reasoning", "maxTokens"]) expect(message).toContain(`["${name}"]`)
  })

  test("quirks change the request", () => {
    const body = {
      messages: [{ role: "assistant", content: "a", reasoning: "r" }],
      reasoning: { effort: "max" },
      seed: 1,
      top_k: 2,
    }
    const request = requestWith(body, { stream: true, maxTokens: 7 })
    expect(encodedBy(chatOf({}), request, host).body).toEqual({
      model: "m",
      messages: body.messages,
      seed: 1,
      top_k: 2,
      max_tokens: 7,
      reasoning_effort: "max",
      stream: true,
      stream_options: { include_usage: true },
    })
    const quirks = {
      max_tokens_parameter: "max_completion_tokens",
      efforts: ["low", "high"],
      history: "reasoning_content",
      strict: true,
      drop: ["seed"],
      stream_usage: false,
    }
    expect(encodedBy(chatOf(quirks), request, host).body).toEqual({
      model: "m",
      messages: [{ role: "assistant", content: "a", reasoning_content: "r" }],
      max_completion_tokens: 7,
      reasoning_effort: "high",
      stream: true,
    })
    expect(encodedBy(chatOf({ reasoning: "router" }), request, host).body["reasoning"]).toEqual({ effort: "max" })
  })

  test("quirks change how answers are read", () => {
    const chat = chatOf({ think_tags: true, reasoning_beside: true })
    expect(chat.transparent).toBe(false)
    const usage = { prompt_tokens: 1, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 3 } }
    const answer = { choices: [{ message: { content: "<think>r</think>a" }, finish_reason: "stop" }], usage }
    const head = { status: 200, headers: new Headers() }
    expect(chat.decode(head, answer, { request: requestWith({}), host })).toMatchObject({
      choices: [{ message: { content: "a", reasoning: "r" } }],
      usage: { completion_tokens: 5 },
    })
  })
})
