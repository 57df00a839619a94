/**
 * Decoding of `POST /chat/completions`. Names of tests begin with the number of the bad input (`badInputs.test.ts`)
 * that they cover.
 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { noPreferences } from "../../../src/domain/request/Preferences.ts"
import { type ChatRequest, noNeeds, routerOnly } from "../../../src/domain/request/request.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { parseBody } from "../../../src/http/parseBody.ts"
import {
  accepted,
  apart,
  bytesOf,
  call,
  decode,
  decodeText,
  issuesOf,
  messages,
  minimal,
  parts,
  provider,
  times,
  tool,
  user,
} from "./decoding.ts"

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
