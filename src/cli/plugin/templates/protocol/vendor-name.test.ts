/** The conformance kit with what the vendor really sent. */
import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import plugin from "./index.ts"

const recorded = (name: string) => Bun.file(new URL(`recorded/${name}`, import.meta.url))

const thinking = { reasoning: "Rome, then.", signatures: ["c2VhbCBvbmU="] }
const counted = {
  prompt_tokens: 82,
  completion_tokens: 16,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 7 },
}

const checks = await providerChecks({
  plugin,
  config: { api_key: "a-key-that-must-not-leak" },
  // The vendor thinks or does not: an effort makes no difference.
  lacks: ["effort"],
  answers: [
    {
      name: "a call after a thought",
      body: await recorded("answer.json").json(),
      expects: {
        ...thinking,
        text: "Let me look.",
        toolCalls: [{ id: "c-1", name: "weather", arguments: { city: "Rome" } }],
        finishReason: "tool_calls",
        counted,
      },
    },
  ],
  streams: [
    {
      name: "a text after a thought",
      bytes: await recorded("text.ndjson").bytes(),
      expects: { ...thinking, text: "About 20 °C.", finishReason: "stop", counted },
    },
    {
      name: "two calls",
      bytes: await recorded("calls.ndjson").bytes(),
      expects: {
        text: "",
        toolCalls: [
          { name: "weather", arguments: { city: "Oslo" } },
          { name: "weather", arguments: { city: "Rome" } },
        ],
        counted: { prompt_tokens: 82, completion_tokens: 12 },
      },
    },
    {
      name: "a stream that fails",
      bytes: await recorded("broken.ndjson").bytes(),
      expects: { failure: { reason: "overloaded" } },
    },
  ],
  errors: [
    {
      name: "a rate limit",
      status: 429,
      body: await recorded("rate-limit.json").json(),
      expects: { reason: "rate-limited", retryAfterSeconds: 12, code: "slow_down", hasDetail: true },
    },
  ],
})

for (const check of checks) test(check.name, check.run)
