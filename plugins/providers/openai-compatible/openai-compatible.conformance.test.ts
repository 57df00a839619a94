import { describe, test } from "bun:test"
import { providerChecks } from "headgate/testing"
import plugin from "./index.ts"

const answerOf = (message: object) => () =>
  Response.json({
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 60, completion_tokens: 6, total_tokens: 66 },
  })

const chunk = (choices: ReadonlyArray<object>, more: object = {}) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices, ...more })}`
const said = (delta: object) => chunk([{ index: 0, delta, finish_reason: null }])

// With different line ends, comments between events, and the usage in the finish chunk.
const plain = [
  ": keep-alive",
  said({ role: "assistant", reasoning_content: "Rome, then." }),
  said({ content: "About 20 " }),
  said({ content: "degrees 🌞" }),
  chunk([{ index: 0, delta: { content: "" }, finish_reason: "stop" }], {
    usage: { prompt_tokens: 60, completion_tokens: 6, total_tokens: 66 },
  }),
  "data: [DONE]",
  "",
].join("\r\n\r\n")
const asMost = await providerChecks({
  plugin,
  config: { base_url: "https://api.acme.example/v1", api_key: "key-of-acme" },
  answer: answerOf({ role: "assistant", content: "About 20 degrees", reasoning_content: "Rome, then." }),
  streams: [{ bytes: plain, expects: { text: "About 20 degrees 🌞", finishReason: "stop" } }],
})

const quirky = [
  said({ role: "assistant", content: "<thi" }),
  said({ content: "nk>Rome, then.</think>About" }),
  said({ content: " 20" }),
  chunk([{ index: 0, delta: {}, finish_reason: "length" }]),
  chunk([], { usage: { prompt_tokens: 60, completion_tokens: 6, total_tokens: 66 } }),
  "data: [DONE]",
  "",
].join("\n\n")
const withQuirks = await providerChecks({
  plugin,
  config: {
    base_url: "http://127.0.0.1:8000/v1",
    network: "private",
    max_tokens_parameter: "max_completion_tokens",
    reasoning: "none",
    efforts: ["low"],
    history: "none",
    strict: true,
    drop: ["seed"],
    stream_usage: false,
    think_tags: true,
    reasoning_beside: true,
  },
  answer: answerOf({ role: "assistant", content: "<think>Rome, then.</think>About 20" }),
  streams: [{ bytes: quirky, expects: { text: "About 20", finishReason: "length" } }],
})

describe("as most hosts are", () => {
  for (const check of asMost) test(check.name, check.run)
})

describe("with every quirk", () => {
  for (const check of withQuirks) test(check.name, check.run)
})
