/** The conformance kit with what the vendor really sent. */
import { test } from "bun:test"
import { providerChecks } from "headgate/testing"
import plugin from "./index.ts"

const recorded = (name: string) => Bun.file(new URL(`recorded/${name}`, import.meta.url))

const checks = await providerChecks({
  plugin,
  config: { api_key: "a-key-that-must-not-leak" },
  answers: [
    {
      name: "a text",
      body: await recorded("answer.json").json(),
      expects: { text: "About 20 degrees.", finishReason: "stop" },
    },
  ],
  streams: [
    {
      name: "a streamed text",
      bytes: await recorded("text.sse").bytes(),
      expects: { text: "About 20 °C.", finishReason: "stop" },
    },
    {
      name: "two calls",
      bytes: await recorded("calls.sse").bytes(),
      expects: {
        text: "",
        toolCalls: [
          { name: "weather", arguments: { city: "Oslo" } },
          { name: "weather", arguments: { city: "Rome" } },
        ],
      },
    },
  ],
  errors: [
    {
      name: "a rate limit",
      status: 429,
      headers: { "retry-after": "12" },
      body: await recorded("rate-limit.json").json(),
      expects: { reason: "rate-limited", retryAfterSeconds: 12 },
    },
  ],
})

for (const check of checks) test(check.name, check.run)
