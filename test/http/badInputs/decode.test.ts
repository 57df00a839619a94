/**
 * Decoding of `POST /chat/completions`. Names of tests begin with the number of the bad input (`badInputs.test.ts`)
 * that they cover.
 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type { BadRequest } from "../../../src/domain/failures/Failure.ts"
import type { Issue } from "../../../src/domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { firstFault } from "../../../src/domain/json/jsonFault.ts"
import { noPreferences } from "../../../src/domain/request/Preferences.ts"
import { type ChatRequest, noNeeds, routerOnly } from "../../../src/domain/request/request.ts"
import { decodeChat } from "../../../src/http/data/chat/decode.ts"
import { parseBody } from "../../../src/http/decode/json.ts"

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const decodeBytes = (bytes: Uint8Array): Either.Either<ChatRequest, BadRequest> =>
  Either.flatMap(parseBody(bytes), (body) => decodeChat(body))

const decodeText = (text: string) => decodeBytes(bytesOf(text))

const issuesOf = (result: Either.Either<unknown, BadRequest>): ReadonlyArray<Issue> =>
  Either.isLeft(result) ? result.left.issues : []

const accepted = <A>(result: Either.Either<A, BadRequest>): A => {
  if (Either.isLeft(result)) throw new Error(`refused: ${result.left.message}`)
  return result.right
}

const user = { role: "user", content: "Hello." }
/** Members that a request has as fields of its own. */
const apart = [
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
]
const minimal = { model: "acme/small", messages: [user] }
const decode = (more: JsonObject) => {
  const text = JSON.stringify({ ...minimal, ...more })
  return decodeText(text)
}
const messages = (...turns: ReadonlyArray<unknown>) => ({ messages: turns })
const parts = (...content: ReadonlyArray<unknown>) => messages({ role: "user", content })
const tool = (definition: unknown) => ({ tools: [{ type: "function", function: definition }] })
const provider = (preferences: unknown) => ({ provider: preferences })
const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } }
const times = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)

describe("bytes that are no usable body", () => {
  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`
  const utf16 = (text: string, mark: ReadonlyArray<number>) =>
    new Uint8Array([...mark, ...Array.from(text).flatMap((sign) => [sign.charCodeAt(0), 0])])

  test.each<[string, string | Uint8Array, string]>([
    ["1 nothing", "", "body is empty"],
    ["1 white space", " \r\n\t", "body is empty"],
    ["2 open", "{", "not valid JSON: it ends too early, at line 1, column 2"],
    ["2 second line", '{\n  "a": tru\n}', "not valid JSON: see line 2, column 8"],
    ["2 single quotes", "{'a':1}", "line 1, column 2"],
    ["2 trailing comma", '{"a":1,}', "line 1, column 8"],
    ["2 leading zero", '{"a":01}', "line 1, column 7"],
    ["2 escape", '{"a":"\\x"}', "line 1, column 6"],
    ["2 raw control character", '{"a":"\u0001"}', "line 1, column 6"],
    ["2 raw line feed in a string", '{"a":"x\n","b":1}', "line 1, column 8"],
    ["2 NaN", '{"temperature":NaN}', "line 1, column 16"],
    ["2 large: no time is spent on the position", `{"a":"${"x".repeat(2 ** 20)}`, "The body is not valid JSON"],
    ["3 null", "null", "must be a JSON object"],
    ["3 list", "[]", "must be a JSON object"],
    ["3 text", '"x"', "must be a JSON object"],
    ["3 number", "1", "must be a JSON object"],
    ["4 garbage behind", '{"a":1} x', "line 1, column 9"],
    ["4 second value", "{}{}", "line 1, column 3"],
    ["5 two marks", "\ufeff\ufeff{}", "line 1, column 1"],
    ["6 cut character", new Uint8Array([0x22, 0xe2, 0x82, 0x22]), "not UTF-8"],
    ["6 overlong", new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), "not UTF-8"],
    ["6 surrogate", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), "not UTF-8"],
    ["7 UTF-16 with its mark", utf16('{"a":1}', [0xff, 0xfe]), "not UTF-8"],
    ["7 UTF-16 without", utf16('{"a":1}', []), "not UTF-8"],
    ["7 UTF-16 big end first", new Uint8Array([0, 0x7b, 0, 0x7d]), "not UTF-8"],
    ["8 65 levels", `{"a":${deep(64)}}`, "limit is 64"],
    ["8 65 levels behind brackets in strings", `{"s":"]]]\\"]]]]","a":${deep(64)}}`, "limit is 64"],
    ["9 never closed", "[".repeat(100_000), "limit is 64"],
    ["9 closed", deep(100_000), "limit is 64"],
    ["9 objects", '{"a":'.repeat(100_000), "limit is 64"],
  ])("%s", (_name, body, message) => {
    const issues = issuesOf(parseBody(typeof body === "string" ? bytesOf(body) : body))
    expect(issues).toHaveLength(1)
    expect(issues[0]?.path).toBe("")
    expect(issues[0]?.message).toContain(message)
  })

  test.each<[string, string, JsonObject]>([
    ["5 a byte order mark", '\ufeff{"a":1}', { a: 1 }],
    ["8 64 levels", `{"a":${deep(63)}}`, JSON.parse(`{"a":${deep(63)}}`)],
    [
      "8 brackets in strings and side by side",
      `{"s":"${"[{".repeat(99)}\\\\","l":[${"[],".repeat(99)}{}]}`,
      {
        s: `${"[{".repeat(99)}\\`,
        l: [...times(99, []), {}],
      },
    ],
    ["11 a member given twice", '{"a":1,"a":2}', { a: 2 }],
  ])("passes: %s", (_name, body, value) => {
    expect(accepted(parseBody(bytesOf(body)))).toEqual(value)
  })

  test("a refused body leaves nothing behind for the next", () => {
    expect(Either.isLeft(parseBody(new Uint8Array([0xe2, 0x82])))).toBe(true)
    expect(accepted(parseBody(bytesOf("{}")))).toEqual({})
  })

  test("a body in the middle of a larger buffer is read alone", () => {
    const buffer = bytesOf('{"__proto__":1}{"constructor":1,"b":2}{}')
    expect(Object.keys(accepted(parseBody(buffer.subarray(15, 38))))).toEqual(["b"])
  })
})

describe("10 unsafe names", () => {
  const hostile = `{"model":"acme/small","__proto__":{"polluted":1},"\\u005f_proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},
    "messages":[{"role":"user","content":"prototype","__proto__":{"polluted":1}}],
    "foo":{"a":[{"constructor":1,"prototyp\\u0065":2,"b":{"__proto__":3,"kept":"__proto__"}}]},"toString":1,"hasOwnProperty":2}`

  test("are dropped however they are escaped, and reach no prototype; in nested objects a caller's `constructor` is kept", () => {
    const { payload: body } = accepted(decodeText(hostile))
    expect(JSON.parse(JSON.stringify(body))).toEqual({
      messages: [{ role: "user", content: "prototype" }],
      foo: { a: [{ constructor: 1, prototype: 2, b: { kept: "__proto__" } }] },
      toString: 1,
      hasOwnProperty: 2,
    })
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect("polluted" in {}).toBe(false)
    expect("polluted" in body).toBe(false)
  })

  test.each(['"\\u005f_proto__"', '"\\u005F_proto__"', '"constructo\\u0072"', '"\\u0070rototype"'])(
    "are dropped when they are written with escapes only: %s",
    (name) => {
      expect(Object.keys(accepted(parseBody(bytesOf(`{${name}:1,"a":2}`))))).toEqual(["a"])
    },
  )

  test("do no harm to a copy without some members", () => {
    const body: JsonObject = JSON.parse(
      '{"model":"a/b","messages":[{"role":"user","content":""}],"api_key":"k","__proto__":{"polluted":1}}',
    )
    expect("polluted" in accepted(decodeChat(body)).payload).toBe(false)
  })
})

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
      "28 silent assistant",
      messages({ role: "assistant", content: null, tool_calls: [] }),
      "messages[0].content",
      "unless",
    ],
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
    ["38 long name", tool({ name: "x".repeat(65) }), "tools[0].function.name", "1 to 64"],
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

describe("accepted", () => {
  test.each<[string, JsonObject]>([
    ["28 assistant that only called tools", messages(user, { role: "assistant", tool_calls: [call] })],
    ["28 with null", messages(user, { role: "assistant", content: null, tool_calls: [call] })],
    [
      "28 assistant that refused",
      messages({ role: "assistant", content: null, refusal: "No.", tool_calls: null, function_call: null }),
    ],
    ["28 assistant that only thought", messages({ role: "assistant", content: null, reasoning: "Hm." })],
    [
      "29 every part",
      parts(
        { type: "text", text: "x" },
        { type: "file", file: { file_data: "data:application/pdf;base64,AA==", file_id: null } },
      ),
    ],
    ["29 no parts", parts()],
    ["image as data", parts({ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } })],
    ["31 answer of a tool", messages({ role: "tool", tool_call_id: "c1", content: "5" })],
    ["32 one token", { max_tokens: 1 }],
    ["32 2^31 - 1", { max_tokens: 2 ** 31 - 1 }],
    ["33 bounds", { temperature: 0, top_p: 0, presence_penalty: -2 }],
    ["39 a large schema", tool({ name: "f", parameters: { type: "object", description: "x".repeat(2 ** 20) } })],
    [
      "tool of an unknown kind",
      { tools: [{ type: "custom", custom: { name: "f" } }], tool_choice: { type: "custom" } },
    ],
    ["40 named function", { tool_choice: { type: "function", function: { name: "f" } } }],
    ["41 schema", { response_format: { type: "json_schema", json_schema: { name: "a", schema: {}, strict: null } } }],
    ["42 the same twice", { reasoning_effort: "low", reasoning: { effort: "low", max_tokens: null } }],
    [
      "null where it may be",
      { temperature: null, stop: null, seed: null, provider: null, max_tokens: null, stream_options: null },
    ],
    ["52 unknown", { foo: { bar: [1] }, toString: 5 }],
    ["54 usage", { usage: { cost: -1, include: true } }],
    [
      "16 pairs",
      { metadata: Object.fromEntries(times(16, 0).map((_, at) => [`k${at}`.padEnd(64, "x"), "v".repeat(512)])) },
    ],
    ["4,096 messages", messages(...times(4096, user))],
    ["unknown preference", provider({ colour: "red" })],
  ])("%s", (_name, more) => {
    const all: JsonObject = JSON.parse(JSON.stringify({ ...minimal, ...more }))
    const sent = Object.entries(all).filter(([name]) => !routerOnly.has(name) && !apart.includes(name))
    expect<unknown>(accepted(decode(more)).payload).toEqual(Object.fromEntries(sent))
  })

  test("a plain request", () => {
    const text = JSON.stringify({ ...minimal, messages: [user, user, user] })
    const { messages } = JSON.parse(text)
    expect(accepted(decodeText(text))).toEqual({
      operation: "chat",
      routing: { models: ["acme/small"], preferences: noPreferences, parameters: [], needs: noNeeds },
      bounds: {
        promptBytes: 3 * user.content.length,
        mediaBytes: 0,
        mediaParts: 0,
        textBytes: 3 * user.content.length,
        messages: 3,
        images: 0,
        searches: 1,
        maxTokens: undefined,
        choices: 1,
      },
      stream: false,
      maxTokens: undefined,
      reasoning: { effort: undefined, maxTokens: undefined, enabled: undefined, exclude: false, written: {} },
      payload: { messages },
    })
  })

  test("the prompt is bounded by bytes, not by characters, and not by how they are escaped", () => {
    const text = JSON.stringify({ ...minimal, messages: [{ role: "user", content: "\u{1f600}é" }] }, null, 4)
    expect(accepted(decodeText(text)).bounds.promptBytes).toBe(6)
    expect(accepted(decodeText(text.replace("é", "\\u00e9"))).bounds.promptBytes).toBe(6)
  })

  test("a member that is undefined is absent, also for those who build a body themselves", () => {
    const body = {
      ...minimal,
      stream: undefined,
      temperature: undefined,
      reasoning: { effort: undefined, exclude: undefined },
    }
    expect(accepted(decodeChat(body)).routing.parameters).toEqual(["reasoning"])
  })

  test("models, each once, the first choice first", () => {
    expect(accepted(decode({ models: ["a/b", "acme/small", "a/b", "c/d"] })).routing.models).toEqual([
      "acme/small",
      "a/b",
      "c/d",
    ])
    expect(accepted(decode({ model: undefined, models: ["a/b"] })).routing.models).toEqual(["a/b"])
    expect(accepted(decode({ model: null, models: ["a/b"] })).routing.models).toEqual(["a/b"])
  })

  test("max_completion_tokens wins, unless it is null", () => {
    expect(accepted(decode({ max_tokens: 5, max_completion_tokens: 7 })).maxTokens).toBe(7)
    expect(accepted(decode({ max_tokens: 5, max_completion_tokens: null })).maxTokens).toBe(5)
  })

  test("answers that are paid for", () => {
    expect(accepted(decode({ n: 3 })).bounds.choices).toBe(3)
    expect(accepted(decode({ n: null })).bounds.choices).toBe(1)
    expect(accepted(decode({ n: 2, best_of: 4 })).bounds.choices).toBe(4)
  })

  test.each<[JsonObject, boolean]>([
    [{ reasoning: { exclude: true } }, true],
    [{ reasoning: { exclude: false } }, false],
    [{ include_reasoning: false }, true],
    [{ include_reasoning: true }, false],
    [{}, false],
  ])("reasoning is withheld: %j", (more, exclude) => {
    expect(accepted(decode(more)).reasoning.exclude).toBe(exclude)
  })

  test("parameters that a host may lack, without those that are null", () => {
    const more = {
      temperature: 1,
      tools: [],
      user: "u",
      foo: 1,
      seed: null,
      stream: true,
      reasoning: {},
      max_tokens: 5,
    }
    const request = accepted(decode(more))
    expect(request.routing.parameters).toEqual(["temperature", "tools", "reasoning", "max_tokens"])
    expect(request.stream).toBe(true)
  })

  test("media is counted over all turns", () => {
    const image = { type: "image_url", image_url: { url: "https://a.example/b.png" } }
    const more = messages(
      {
        role: "user",
        content: [{ type: "text", text: "x" }, image, { type: "video_url", video_url: { url: "https://a.example/v" } }],
      },
      { role: "assistant", content: "", images: [image], audio: { id: "a" } },
      { role: "user", content: [{ type: "input_audio", input_audio: { data: "AA==", format: "wav" } }] },
      { role: "tool", tool_call_id: "c", content: [image] },
    )
    expect(accepted(decode(more)).bounds).toMatchObject({ mediaParts: 6, images: 2, mediaBytes: 4 })
  })

  test("53: credentials and addresses are dropped, the rest is not copied", () => {
    const names = [
      "api_base",
      "base_url",
      "api_key",
      "api_version",
      "organization",
      "headers",
      "extra_headers",
      "extra_body",
      "extra_query",
      "timeout",
    ]
    const secret = Object.fromEntries(names.map((name) => [name, "http://127.0.0.1/"]))
    expect(accepted(decode({ ...secret, foo: 1 })).payload).toMatchObject({ foo: 1 })
    for (const name of names) expect(name in accepted(decode(secret)).payload).toBe(false)
    const foo = { headers: 1 }
    expect(accepted(decodeChat({ ...minimal, foo })).payload["foo"]).toBe(foo)
  })

  test("52: an unknown member changes nothing but the body and its size", () => {
    const withoutSize = ({
      payload: _,
      bounds: { promptBytes: __, textBytes: ___, ...bounds },
      ...request
    }: ChatRequest) => ({
      ...request,
      bounds,
    })
    const more = accepted(decode({ foo: { cost: 0 }, usage: { cost: -1 } }))
    expect(withoutSize(more)).toEqual(withoutSize(accepted(decode({}))))
  })
})

describe("preferences", () => {
  const preferencesOf = (value: unknown) => accepted(decode(provider(value))).routing.preferences

  test("every member", () => {
    expect(
      preferencesOf({
        order: ["a", "b/eu"],
        only: ["A"],
        ignore: ["c"],
        sort: { by: "latency", partition: "none" },
        allow_fallbacks: false,
        data_collection: "deny",
        zdr: true,
        quantizations: ["fp8", "unknown"],
        max_price: { prompt: "0.15", completion: 2, request: "0.01", image: 0, audio: 1 },
        require_parameters: true,
        preferred_min_throughput: { p50: 10, p90: 1.5 },
        preferred_max_latency: 2,
        enforce_distillable_text: true,
        hedge: true,
      }),
    ).toEqual({
      order: ["a", "b/eu"],
      only: ["A"],
      ignore: ["c"],
      sort: "latency",
      partition: "none",
      allowFallbacks: false,
      denyDataCollection: true,
      zeroDataRetention: true,
      quantizations: ["fp8", "unknown"],
      maxPrice: { prompt: 150_000n, completion: 2_000_000n, request: 10_000_000_000n, image: 0n, audio: 10n ** 12n },
      requireParameters: true,
      distillable: true,
      minThroughput: { p50: 10, p90: 1.5 },
      maxLatencyMs: { p50: 2000 },
      serviceTier: undefined,
      hedge: true,
    })
  })

  test.each([
    ["default", "default"],
    ["flex", "flex"],
    ["priority", "priority"],
    ["fast", "priority"],
    ["auto", undefined],
    ["scale", undefined],
    [null, undefined],
  ] as const)("the service tier %p", (written, serviceTier) => {
    const { preferences } = accepted(decode({ service_tier: written, provider: { zdr: true } })).routing
    expect(preferences).toEqual({ ...noPreferences, zeroDataRetention: true, serviceTier })
  })

  test.each([
    [{ route: "sort" }, "none"],
    [{ route: "fallback" }, "model"],
    [{ route: "sort", provider: { sort: "price" } }, "none"],
    [{ route: "sort", provider: { sort: { partition: "model" } } }, "model"],
  ] as const)("the older name of the partition: %p", (body, partition) => {
    expect(accepted(decode(body)).routing.preferences.partition).toBe(partition)
  })

  test("what is needed of a host besides parameters", () => {
    const { needs } = accepted(
      decode({
        modalities: ["text", "image"],
        tool_choice: { type: "function", function: { name: "f" } },
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: "https://a.test/1" } },
              { type: "image_url", image_url: { url: "https://a.test/2" } },
              { type: "input_video", video_url: { url: "https://a.test/3" } },
              { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
              { type: "file", file: { file_data: "data:application/pdf;base64,AA==" } },
              { type: "text", text: "what?" },
            ],
          },
        ],
      }),
    ).routing
    expect(needs).toEqual({ inputs: ["image", "video", "audio", "file"], outputs: ["image"], toolChoice: "function" })
    expect(accepted(decode({ tool_choice: "required" })).routing.needs).toEqual({ ...noNeeds, toolChoice: "required" })
  })

  test.each<readonly [string, unknown, string?]>([
    ["order", "a"],
    ["order", [""], "[0]"],
    ["only", [1], "[0]"],
    ["ignore", Array.from({ length: 65 }, () => "a")],
    ["allow_fallbacks", "no"],
    ["sort", 1],
    ["sort", { by: 1 }, ".by"],
    ["sort", { by: "price", partition: "all" }, ".partition"],
    ["require_parameters", 1],
    ["data_collection", true],
    ["zdr", "true"],
    ["enforce_distillable_text", 1],
    ["quantizations", "fp8"],
    ["quantizations", ["int2"], "[0]"],
    ["max_price", 3],
    ["max_price", { prompt: -1 }, ".prompt"],
    ["max_price", { completion: "1 USD" }, ".completion"],
    ["max_price", { request: [] }, ".request"],
    ["max_price", { image: "-0.1" }, ".image"],
    ["max_price", { audio: {} }, ".audio"],
    ["preferred_min_throughput", "fast"],
    ["preferred_min_throughput", { p75: "9" }, ".p75"],
    ["preferred_max_latency", -1],
    ["preferred_max_latency", { p99: true }, ".p99"],
  ])("a bad value is refused with its path: %s %p", (name, value, more = "") => {
    const [issue] = issuesOf(decode(provider({ [name]: value })))
    expect(issue?.path).toBe(`provider.${name}${more}`)
  })

  test("null and absent are the defaults", () => {
    expect(preferencesOf({})).toEqual(noPreferences)
    const names = [
      "hedge",
      "order",
      "only",
      "ignore",
      "sort",
      "allow_fallbacks",
      "data_collection",
      "zdr",
      "quantizations",
      "require_parameters",
    ]
    expect(preferencesOf(Object.fromEntries(names.map((name) => [name, null])))).toEqual(noPreferences)
    expect(preferencesOf({ zdr: false, data_collection: "allow", sort: "price" })).toEqual({
      ...noPreferences,
      sort: "price",
    })
  })

  test.each<[string | number, bigint]>([
    [0, 0n],
    ["1", 1_000_000n],
    [0.29, 290_000n],
    [0.1 + 0.2, 300_000n],
    ["0.000001", 1n],
    ["0.0000019999", 1n],
    [1e-7, 0n],
    ["1.5e1", 15_000_000n],
    [1e21, 10n ** 27n],
  ])("a ceiling of %p USD per 1M tokens", (prompt, picodollars) => {
    expect(preferencesOf({ max_price: { prompt } }).maxPrice).toEqual({ prompt: picodollars })
  })

  test("a price of whole picodollars is within the ceiling just when it is in decimals", () => {
    const decimals = 9
    FastCheck.assert(
      FastCheck.property(FastCheck.bigInt(0n, 10n ** 12n), FastCheck.bigInt(-3n, 3n), (ceiling, off) => {
        const digits = ceiling.toString().padStart(decimals + 1, "0")
        const { maxPrice } = preferencesOf({
          max_price: { prompt: `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}` },
        })
        const price = ceiling / 1000n + off
        expect(price <= (maxPrice.prompt ?? -1n)).toBe(price * 1000n <= ceiling)
      }),
    )
  })
})

describe("whatever comes", () => {
  const known = (
    "model models messages provider tools tool_choice response_format reasoning reasoning_effort stream stop metadata logit_bias " +
    "max_tokens temperature prediction usage role content type text image_url function name tool_calls tool_call_id max_price sort " +
    "prompt order __proto__ constructor toString headers"
  ).split(" ")
  const words = "user assistant tool system function text image_url json_schema a/b price low 1e5".split(" ")
  const { value } = FastCheck.letrec<{ value: unknown }>((tie) => ({
    value: FastCheck.oneof(
      { maxDepth: 6 },
      FastCheck.constantFrom<unknown>(null, true, 0, -1, 1, 1e308, "", ...words),
      FastCheck.string(),
      FastCheck.array(tie("value"), { maxLength: 4 }),
      FastCheck.array(FastCheck.tuple(FastCheck.constantFrom(...known), tie("value")), { maxLength: 6 }).map(
        Object.fromEntries,
      ),
    ),
  }))

  const settles = (result: Either.Either<ChatRequest, BadRequest>): void => {
    if (Either.isLeft(result)) {
      expect(result.left.issues.length).toBeLessThanOrEqual(10)
      expect(result.left.message).toEndWith(".")
    } else expect(result.right.routing.models.length).toBeGreaterThan(0)
    expect("polluted" in {}).toBe(false)
  }

  test("any JSON gives a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(FastCheck.jsonValue(), value), (json) =>
        settles(decodeText(JSON.stringify(json))),
      ),
      { numRuns: 1000 },
    )
  })

  test("any value of any member gives a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.constantFrom(...known), value, (name, json) => settles(decode({ [name]: json }))),
      { numRuns: 2000 },
    )
  })

  test("any members in messages give a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(value), (turns) => settles(decode({ messages: turns }))),
      { numRuns: 500 },
    )
  })

  test("any bytes give a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array({ maxLength: 200 }), (bytes) => settles(decodeBytes(bytes))),
      { numRuns: 1000 },
    )
  })

  test("any depth gives a request or issues, and 64 is the deepest that passes", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 5000 }),
        FastCheck.constantFrom("[", '{"__proto__":', '{"a":'),
        (levels, opening) => {
          const close = opening === "[" ? "]" : "}"
          const text = `{"a":${opening.repeat(levels - 1)}{"polluted":1}${close.repeat(levels - 1)}}`
          expect(Either.isRight(parseBody(bytesOf(text)))).toBe(levels + 1 <= 64)
          settles(decodeText(text))
        },
      ),
      { numRuns: 200 },
    )
  })

  test("the fault finder and the parser agree on what is JSON", () => {
    const text = FastCheck.oneof(
      FastCheck.json(),
      FastCheck.tuple(FastCheck.json(), FastCheck.nat(), FastCheck.constantFrom(...'{}[],:"\\0-.e \u0001t\u00e9')).map(
        ([json, at, sign]) => {
          const cut = at % (json.length + 1)
          return json.slice(0, cut) + sign + json.slice(cut + (at % 2))
        },
      ),
      FastCheck.string({ unit: FastCheck.constantFrom(...'{}[],:"\\01-+.eEu tfn', "true", "null"), maxLength: 12 }),
    )
    const isJson = (candidate: string): boolean => {
      try {
        JSON.parse(candidate)
        return true
      } catch {
        return false
      }
    }
    FastCheck.assert(
      FastCheck.property(text, (candidate) => {
        const at = firstFault(candidate)
        if (at < candidate.length) expect(isJson(candidate)).toBe(false)
        if (isJson(candidate)) expect(at).toBe(candidate.length)
        // Nothing before the fault is at fault.
        expect(firstFault(candidate.slice(0, at))).toBe(at)
      }),
      { numRuns: 5000 },
    )
  })

  test("names are not looked up in the prototype of objects", () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      const body: JsonObject = { ...minimal, ...Object.fromEntries([[name, 1]]) }
      expect(isJsonObject(accepted(decodeChat(body)).payload)).toBe(true)
    }
  })
})
