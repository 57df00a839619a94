/**
 * Bodies of `POST /chat/completions` that are refused, and why. Names of tests begin with the number of the bad input
 * (`badInputs.test.ts`) that they cover.
 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { call, decode, decodeText, issuesOf, messages, parts, provider, times, tool, user } from "./decoding.ts"

describe("refused", () => {
  test.each<[string, JsonObject, string, string]>([
    ["18 no model", { model: undefined }, "model", "is required"],
    ["19 empty model", { model: "" }, "model", "non-empty string"],
    ["19 number as model", { model: 5 }, "model", "non-empty string"],
    ["19 null as model", { model: null }, "model", "non-empty string"],
    ["21 path", { model: "../../etc" }, "model", '"../../etc" is not a valid model ID'],
    ["21 %00", { model: "a/b%00" }, "model", "not a valid model ID"],
    ["21 line end", { model: "a/b\r\nX-A: b" }, "model", '"a/b\\r\\nX-A: b" is not'],
    ["21 long", { model: "x".repeat(10_000) }, "model", `"${"x".repeat(128)}" is not`],
    ["22 no models", { model: undefined, models: [] }, "models", "at least one model"],
    ["22 null and no models", { model: null, models: [] }, "models", "at least one model"],
    ["23 17 models", { models: times(17, "a/b") }, "models", "at most 16"],
    ["24 number among models", { models: [1] }, "models[0]", "must be a non-empty string"],
    ["24 models no list", { models: "a/b" }, "models", "must be an array"],
    ["25 no messages", { messages: undefined }, "messages", "is required"],
    ["25 prompt alone", { messages: undefined, prompt: "Hi" }, "messages", "is required"],
    ["26 empty messages", messages(), "messages", "at least one message"],
    ["26 messages no list", { messages: "Hi" }, "messages", "must be an array"],
    ["4,097 messages", messages(...times(4097, user)), "messages", "at most 4096 messages, not 4097"],
    [
      "27 no role",
      messages({ content: "x" }),
      "messages[0].role",
      "must be one of system, developer, user, assistant, tool",
    ],
    ["27 king", messages(user, { role: "king", content: "x" }), "messages[1].role", "must be one of"],
    [
      "27 name of a built-in as role",
      messages({ role: "toString", content: "x" }),
      "messages[0].role",
      "must be one of",
    ],
    ["27 no object", messages("Hi"), "messages[0]", "must be an object"],
    ["28 no content", messages({ role: "user" }), "messages[0].content", "is required"],
    ["28 number", messages({ role: "user", content: 5 }), "messages[0].content", "string or an array"],
    ["28 boolean", messages({ role: "system", content: true }), "messages[0].content", "string or an array"],
    ["28 null", messages({ role: "user", content: null }), "messages[0].content", "string or an array"],
    [
      "29 unknown part",
      parts({ type: "smell" }),
      "messages[0].content[0].type",
      "must be one of text, image_url, input_audio",
    ],
    ["29 part without type", parts({ text: "x" }), "messages[0].content[0].type", "is required"],
    ["29 text without text", parts({ type: "text" }), "messages[0].content[0].text", "is required"],
    [
      "29 image without URL",
      parts({ type: "image_url", image_url: {} }),
      "messages[0].content[0].image_url.url",
      "is required",
    ],
    [
      "29 file URL",
      parts({ type: "image_url", image_url: { url: "file:///etc/passwd" } }),
      "messages[0].content[0].image_url.url",
      "http(s)",
    ],
    [
      "29 image in a system message",
      messages({ role: "system", content: [{ type: "image_url", image_url: { url: "https://a/b" } }] }),
      "messages[0].content[0].type",
      "must be one of text",
    ],
    ["name that is no text", messages({ ...user, name: 5 }), "messages[0].name", "must be a string"],
    [
      "tool calls that are no list",
      messages({ role: "assistant", content: "x", tool_calls: 5 }),
      "messages[0].tool_calls",
      "must be an array",
    ],
    ["31 no tool_call_id", messages({ role: "tool", content: "5" }), "messages[0].tool_call_id", "is required"],
    [
      "tool call with an object as arguments",
      messages({ role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: {} } }] }),
      "messages[0].tool_calls[0].function.arguments",
      "must be a string",
    ],
    ["32 zero tokens", { max_tokens: 0 }, "max_tokens", "integer from 1 to 2147483647"],
    ["32 negative", { max_tokens: -1 }, "max_tokens", "integer from 1"],
    ["32 fraction", { max_tokens: 1.5 }, "max_tokens", "integer from 1"],
    ["32 text", { max_tokens: "10" }, "max_tokens", "integer from 1"],
    ["32 huge", { max_tokens: 1e99 }, "max_tokens", "integer from 1"],
    ["32 2^31", { max_completion_tokens: 2 ** 31 }, "max_completion_tokens", "integer from 1"],
    ["32 NaN text", { max_tokens: "NaN" }, "max_tokens", "integer from 1"],
    ["33 hot", { temperature: 3 }, "temperature", "number from 0 to 2"],
    ["33 text", { temperature: "hot" }, "temperature", "number from 0 to 2"],
    ["34 top_p", { top_p: -0.1 }, "top_p", "number from 0 to 1"],
    ["34 penalty", { frequency_penalty: 2.1 }, "frequency_penalty", "number from -2 to 2"],
    ["34 bias", { logit_bias: { "50256": -101 } }, 'logit_bias["50256"]', "number from -100 to 100"],
    ["34 top_logprobs", { top_logprobs: 21 }, "top_logprobs", "integer from 0 to 20"],
    ["35 no answers", { n: 0 }, "n", "integer from 1 to 8"],
    ["35 many answers", { n: 1000 }, "n", "integer from 1 to 8"],
    ["36 text", { stream: "true" }, "stream", "must be a boolean"],
    ["36 number", { stream: 1 }, "stream", "must be a boolean"],
    ["37 5 stops", { stop: times(5, "x") }, "stop", "at most 4"],
    ["37 number in stops", { stop: ["a", 1] }, "stop[1]", "must be a string"],
    ["37 number", { stop: 1 }, "stop", "a string or an array of strings"],
    ["38 tools no list", { tools: {} }, "tools", "must be an array"],
    ["38 no name", tool({}), "tools[0].function.name", "is required"],
    ["38 spaces", tool({ name: "get weather" }), "tools[0].function.name", "letters, digits"],
    ["38 long name", tool({ name: "x".repeat(129) }), "tools[0].function.name", "1 to 128"],
    ["38 no function", { tools: [{ type: "function" }] }, "tools[0].function", "is required"],
    [
      "38 a tool that reaches a server",
      { tools: [{ type: "openrouter:mcp" }] },
      "tools[0].type",
      '"openrouter:mcp" is not',
    ],
    [
      "30 link-local image",
      parts({ type: "image_url", image_url: { url: "http://169.254.169.254/x" } }),
      "messages[0].content[0].image_url.url",
      "must be a public address",
    ],
    ["a plugin", { plugins: [{ id: "response-healing" }] }, "plugins[0].id", '"response-healing" is a plugin'],
    ["web search as a plugin", { plugins: [{ id: "web", enabled: true }] }, "plugins[0].id", "add :online"],
    ["a plugin without id", { plugins: [{ enabled: false }] }, "plugins[0].id", "is required"],
    ["a plugin switched off by a word", { plugins: [{ id: "web", enabled: "no" }] }, "plugins[0].enabled", "a boolean"],
    ["a preset", { preset: "email-copywriter" }, "preset", '"email-copywriter" is a preset'],
    ["an unknown transform", { transforms: ["middle-out", "summary"] }, "transforms[1]", "must be one of middle-out"],
    ["513 tools", { tools: times(513, { type: "function", function: { name: "f" } }) }, "tools", "at most 512"],
    ["40 sometimes", { tool_choice: "sometimes" }, "tool_choice", "must be one of none, auto, required"],
    [
      "40 function without name",
      { tool_choice: { type: "function", function: {} } },
      "tool_choice.function.name",
      "is required",
    ],
    [
      "41 yaml",
      { response_format: { type: "yaml" } },
      "response_format.type",
      "must be one of text, json_object, json_schema",
    ],
    [
      "41 schema without name",
      { response_format: { type: "json_schema", json_schema: {} } },
      "response_format.json_schema.name",
      "is required",
    ],
    ["42 ultra", { reasoning: { effort: "ultra" } }, "reasoning.effort", "must be one of max, xhigh"],
    ["42 both", { reasoning: { effort: "low", max_tokens: 9 } }, "reasoning", "not both"],
    ["42 shorthand and budget", { reasoning_effort: "low", reasoning: { max_tokens: 9 } }, "reasoning", "not both"],
    ["42 conflict", { reasoning_effort: "low", reasoning: { effort: "high" } }, "reasoning_effort", "differs"],
    ["43 list", provider([]), "provider", "must be an object"],
    ["43 order", provider({ order: "x" }), "provider.order", "must be an array"],
    ["43 name", provider({ only: ["a", 1] }), "provider.only[1]", "non-empty string"],
    ["65 names", provider({ ignore: times(65, "a") }), "provider.ignore", "at most 64"],
    ["46 partition", provider({ sort: { partition: "all" } }), "provider.sort.partition", "must be one of model, none"],
    ["47 negative", provider({ max_price: { prompt: -1 } }), "provider.max_price.prompt", "non-negative number"],
    ["47 negative text", provider({ max_price: { prompt: "-1" } }), "provider.max_price.prompt", "non-negative number"],
    [
      "47 cheap",
      provider({ max_price: { completion: "cheap" } }),
      "provider.max_price.completion",
      "non-negative number",
    ],
    [
      "47 Infinity text",
      provider({ max_price: { prompt: "Infinity" } }),
      "provider.max_price.prompt",
      "non-negative number",
    ],
    ["47 NaN text", provider({ max_price: { prompt: "NaN" } }), "provider.max_price.prompt", "non-negative number"],
    [
      "47 endless digits",
      provider({ max_price: { prompt: "9".repeat(100_000) } }),
      "provider.max_price.prompt",
      "non-negative number",
    ],
    ["47 image", provider({ max_price: { image: true } }), "provider.max_price.image", "non-negative number"],
    ["47 no object", provider({ max_price: "cheap" }), "provider.max_price", "must be an object"],
    ["49 fp3", provider({ quantizations: ["fp8", "fp3"] }), "provider.quantizations[1]", "must be one of int4"],
    ["50 maybe", provider({ data_collection: "maybe" }), "provider.data_collection", "must be one of allow, deny"],
    ["zdr", provider({ zdr: "yes" }), "provider.zdr", "must be a boolean"],
    [
      "threshold",
      provider({ preferred_max_latency: { p50: -1 } }),
      "provider.preferred_max_latency.p50",
      "non-negative number",
    ],
    ["session", { session_id: "x".repeat(257) }, "session_id", "at most 256"],
    [
      "17 pairs",
      { metadata: Object.fromEntries(times(17, 0).map((_, at) => [`k${at}`, "v"])) },
      "metadata",
      "at most 16",
    ],
    ["long key", { metadata: { ["k".repeat(65)]: "v" } }, "metadata", "longer than 64"],
    ["long value", { metadata: { k: "v".repeat(513) } }, 'metadata["k"]', "at most 512"],
    ["number as value", { metadata: { k: 1 } }, 'metadata["k"]', "must be a string"],
  ])("%s", (_name, more, path, message) => {
    const [first] = issuesOf(decode(more))
    expect(first?.path).toBe(path)
    expect(first?.message).toContain(message)
  })

  test("32, 47: numbers beyond what a double holds", () => {
    const body =
      '{"model":"a/b","messages":[{"role":"user","content":""}],"max_tokens":1e999,"provider":{"max_price":{"prompt":1e999}}}'
    expect(issuesOf(decodeText(body)).map((issue) => issue.path)).toEqual(["max_tokens", "provider.max_price.prompt"])
  })

  test("every problem at once, in the order of the body, the missing first", () => {
    const issues = issuesOf(decodeText('{"top_p":2,"messages":[{"role":"king"},5],"n":0}'))
    expect(issues.map((issue) => issue.path)).toEqual(["model", "top_p", "messages[0].role", "messages[1]", "n"])
  })

  test("but ten at most", () => {
    const result = decode(messages(...times(50, { role: "king" })))
    expect(issuesOf(result)).toHaveLength(10)
    expect(Either.isLeft(result) && result.left.message).toStartWith("messages[0].role: must be one of")
    expect(Either.isLeft(result) && result.left.message).toEndWith("(and 9 more).")
  })
})
