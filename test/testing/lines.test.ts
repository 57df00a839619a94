/**
 * The conformance kit with a protocol that the gateway does not have, which streams lines of JSON in place of
 * server-sent events.
 */
import { expect, test } from "bun:test"
import { type ProviderSubject, providerChecks } from "headgate/testing"
import { failuresOf } from "./acme.ts"
import { pluginWith } from "./lines.ts"

const line = (message: object, more: object = { done: false }) =>
  `${JSON.stringify({ model: "m", created_at: "2026-11-01T00:00:00Z", message: { role: "assistant", ...message }, ...more })}\n`
const end = { done: true, done_reason: "stop", prompt_eval_count: 41, eval_count: 7, total_duration: 9 }
const counted = { prompt_tokens: 41, completion_tokens: 7 }
const call = { function: { name: "weather", arguments: { city: "Rome" } } }

const called = { name: "weather", arguments: { city: "Rome" } }

const answer = () => new Response(line({ content: "About 20 degrees." }, end))
const text =
  line({ content: "About" }) + line({ content: " 20" }) + line({ content: " °C 🌞" }) + line({ content: "" }, end)
const tool = line({ content: "Let me look." }) + line({ content: "", tool_calls: [call] }) + line({ content: "" }, end)

const subject = {
  plugin: pluginWith({}),
  answer,
  streams: [
    { name: "text", bytes: text, expects: { text: "About 20 °C 🌞", finishReason: "stop", counted } },
    {
      name: "a tool call",
      bytes: tool.replaceAll("\n", "\r\n"),
      expects: { text: "Let me look.", finishReason: "tool_calls", counted },
    },
    {
      name: "two calls",
      bytes: line({ content: "", tool_calls: [call, call] }) + line({ content: "" }, end),
      expects: { text: "", toolCalls: [called, called], counted },
    },
  ],
  answers: [
    {
      name: "a whole call",
      body: JSON.parse(line({ content: "", tool_calls: [call] }, end)),
      expects: { text: "", toolCalls: [called], finishReason: "tool_calls", counted },
    },
  ],
  lacks: ["reasoning", "cache", "waits"],
} as const satisfies ProviderSubject

for (const check of await providerChecks(subject)) test(check.name, check.run)

test("the same bytes read as server-sent events are not a stream", async () => {
  const failures = await failuresOf(await providerChecks({ ...subject, plugin: pluginWith({ framing: "sse" }) }))
  expect(failures.get("lines: text ends once")).toContain('failure of the host ("malformed")')
})
