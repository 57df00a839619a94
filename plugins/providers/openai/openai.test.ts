import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { chatRecordingTests } from "../../../test/support/recordings/chatRecordings.ts"
import { encodedBy, hostFor, recordings, requestWith } from "../../../test/support/recordings/recordings.ts"
import plugin from "./index.ts"

const provider = Either.getOrThrow(plugin.load({}))
const cases = recordings("openai-chat").filter((recorded) => recorded.provider === "openai")
chatRecordingTests(provider, cases, 21)

describe("openai", () => {
  test("has OpenAI's address and key variable, and the privacy of its API", () => {
    expect([plugin.id, plugin.baseUrl, plugin.keyVariable]).toEqual([
      "openai",
      "https://api.openai.com/v1",
      "OPENAI_API_KEY",
    ])
    expect(plugin.privacy).toEqual({ mayTrain: false, retainsPrompts: true })
  })

  test("has no configuration of its own", () => {
    expect(Either.isLeft(plugin.load({ organization: "o" }))).toBe(true)
  })

  test("bounds the output by max_completion_tokens and asks for the nearest effort that the model knows", () => {
    const request = requestWith(
      {
        messages: [{ role: "assistant", content: "a", reasoning: "r" }],
        max_tokens: 900,
        reasoning: { effort: "max" },
        top_k: 5,
      },
      { maxTokens: 80, stream: true },
    )
    const { chat } = provider.protocols
    if (chat === undefined) throw new Error("no chat protocol")
    const { body, dropped } = encodedBy(chat, request, {
      ...hostFor("gpt-5-mini-2025-08-07"),
      efforts: ["minimal", "low", "medium", "high"],
    })
    expect(dropped).toEqual(["top_k"])
    expect(body).toEqual({
      model: "gpt-5-mini-2025-08-07",
      messages: [{ role: "assistant", content: "a" }],
      max_completion_tokens: 80,
      reasoning_effort: "high",
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test("an account without credit is an account failure, whatever its status; a rate limit is not", () => {
    const headers = new Headers({ "retry-after": "3" })
    const error = (code: string) => provider.error(429, headers, { error: { code, message: "m" } })
    const [spent, busy] = [error("insufficient_quota"), error("rate_limit_exceeded")]
    expect([spent.reason, spent.detail, spent.retryAfterSeconds]).toEqual(["account", undefined, undefined])
    expect([busy.reason, busy.detail, busy.retryAfterSeconds]).toEqual(["rate-limited", "m", 3])
  })
})
