/**
 * The description of the chat form against the decoder and the answers. Checks of their own have schemas that are written by
 * hand: what one accepts the other must accept.
 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { badBodies } from "../../support/clients/badBodies.ts"
import { agreement, faultsIn, problemsIn, values } from "../../support/clients/openApi.ts"
import { recordings, recordingsPresent } from "../../support/recordings/recordings.ts"

const decode = (body: JsonObject) => decodeChat(body)
const expectAgreement = agreement("ChatRequest", decode)
const problemsOf = (body: JsonObject) => problemsIn(decode(body))

const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }

/** Texts of a conversation, parts and turns, right and wrong. */
const texts = ["", "hi", null, 5, [], {}]
const parts = [
  { type: "text", text: "hi" },
  { type: "text", text: "" },
  { type: "text", text: null },
  { type: "text" },
  { type: "image_url", image_url: { url: "https://x.test/a.png", detail: "low" } },
  { type: "image_url", image_url: { url: "DATA:image/png;base64,AA", detail: null } },
  { type: "image_url", image_url: { url: "ftp://x.test" } },
  { type: "image_url", image_url: "https://x.test/a.png" },
  { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
  { type: "input_audio", input_audio: { data: "", format: "wav" } },
  { type: "video_url", video_url: { url: "https://x.test" } },
  { type: "input_video", video_url: {} },
  { type: "file", file: { file_id: "f", filename: null } },
  { type: "file", file: { file_data: "", filename: "" } },
  { type: "file", file: { file_id: 1 } },
  { type: "refusal", refusal: "no" },
  { type: "other" },
  { text: "hi" },
  "hi",
  null,
]
const calls = [
  call,
  { ...call, type: undefined },
  { ...call, type: null },
  { ...call, type: "custom", function: 5 },
  { ...call, id: null },
  { ...call, function: { name: "", arguments: "{}" } },
  { ...call, function: { name: "f" } },
  5,
]
const roles = ["system", "developer", "user", "assistant", "tool", "narrator", null]
const { constantFrom, oneof, option, record, array, constant } = FastCheck
const content = oneof(constantFrom(...texts), array(constantFrom(...parts), { maxLength: 3 }))
const maybe = <A>(arbitrary: FastCheck.Arbitrary<A>) => option(arbitrary, { nil: undefined, freq: 3 })
const turn = oneof(
  constant({ role: "user", content: "hi" }),
  record({ role: constantFrom(...roles), content: maybe(content), name: maybe(constantFrom("n", null, 5)) }),
  record({ role: constant("tool"), content, tool_call_id: maybe(constantFrom("c", "", null)) }),
  record({
    role: constant("assistant"),
    content: maybe(content),
    tool_calls: maybe(oneof(array(constantFrom(...calls), { maxLength: 2 }), constantFrom(null, {}))),
    reasoning: maybe(constantFrom("why", "", null, 5)),
    reasoning_details: maybe(constantFrom([], [{ type: "reasoning.text" }], [5], null)),
    refusal: maybe(constantFrom("no", null, 1)),
    images: maybe(constantFrom([{}], [], 5)),
    audio: maybe(constantFrom({}, null, "a")),
    function_call: maybe(constantFrom({}, null)),
  }),
  constantFrom(null, "hi", []),
)

const anyValue = constantFrom(...values)

const names = ["order", "only", "ignore", "allow_fallbacks", "sort", "require_parameters", "data_collection", "zdr"]
const moreNames = ["enforce_distillable_text", "quantizations", "max_price", "preferred_min_throughput", "hedge", "new"]
const preferenceValues: ReadonlyArray<unknown> = [
  ...["price", "deny", ["fp8"], ["fp9"], { by: "price", partition: "none" }, { by: "" }, { partition: "both" }],
  ...[{ prompt: "0.5", completion: 1e-7 }, { prompt: "-1" }, { audio: "1e3" }, { image: "x" }, { prompt: -1 }],
  ...[{ prompt: null }, { request: "1".repeat(64) }, { request: "1".repeat(65) }, { p50: 1, p99: null }, { p90: -1 }],
]
const preference = oneof(anyValue, constantFrom(...preferenceValues))
const provider = oneof(anyValue, FastCheck.dictionary(constantFrom(...names, ...moreNames), preference, { maxKeys: 4 }))

const reasoning = oneof(
  anyValue,
  record({
    effort: maybe(constantFrom("low", "none", null, "huge")),
    max_tokens: maybe(constantFrom(0, 1000, null, -1, 1.5, "many")),
    enabled: maybe(constantFrom(true, null, 1)),
    exclude: maybe(constantFrom(false, "no")),
    summary: maybe(constantFrom("auto", null, "long")),
    context: maybe(constantFrom("all_turns", null, "none")),
    mode: maybe(constantFrom("pro", null, "slow")),
  }),
)

const named = { type: "function", function: { name: "f" } }
const tool = (more: JsonObject) => ({ type: "function", function: { name: "f", ...more } })
/** Values that fit, or nearly fit, one member. */
const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  tools: [
    [tool({ parameters: {}, strict: null, description: null })],
    [tool({ name: "a b" })],
    [tool({ parameters: 5 })],
    [{ type: "function" }],
    [{ type: "openrouter:web_search" }, { type: "custom", x: 1 }],
    [{ type: "openrouter:bash" }],
    [{ type: "router:datetime" }],
    [{ function: { name: "f" } }],
  ],
  tool_choice: [named, { type: "function", function: {} }, { type: "web_search" }, { function: { name: "f" } }],
  response_format: [
    { type: "text" },
    { type: "json_object", x: 1 },
    { type: "json_schema", json_schema: { name: "n", schema: {}, strict: null } },
    { type: "json_schema", json_schema: { name: "n n" } },
    { type: "json_schema" },
    { type: "grammar", grammar: "" },
    { type: "grammar" },
    { type: "xml" },
  ],
  prediction: [
    { type: "content", content: "x" },
    { type: "content", content: [{ type: "text", text: "x" }] },
    { type: "content", content: [{ type: "file", file: {} }] },
    { type: "content" },
  ],
  plugins: [[{ id: "web", enabled: false }], [{ id: "web" }], [{ id: "", enabled: false }], [{ enabled: false }], [5]],
  service_tier: ["flex", "fast", "gold"],
  verbosity: ["high", "none"],
  route: ["sort"],
  reasoning_effort: ["high", "low"],
  include_reasoning: [true],
  stop: [["a", "b", "c", "d"]],
  model: ["acme/small", "a b", "a\u2028b", "%00"],
  models: [["acme/small", "acme/m"], [null]],
}
const plain = [
  ...["temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty"],
  ...["max_tokens", "max_completion_tokens", "logit_bias", "seed", "stop", "reasoning_effort", "include_reasoning"],
  ...["verbosity", "logprobs", "top_logprobs", "structured_outputs", "parallel_tool_calls", "web_search_options"],
  ...["n", "best_of", "prompt", "modalities", "image_config", "audio", "model", "models", "route", "preset", "stream"],
  ...["stream_options", "usage", "service_tier", "cache_control", "prompt_cache_key", "prompt_cache_options"],
  ...["session_id", "user", "metadata", "trace", "plugins", "transforms", "stop_server_tools_when", "debug", "tools"],
  ...["tool_choice", "response_format", "prediction", "api_key", "unheard_of", "speed", "mcp_servers", "conversation"],
]
const member = oneof(
  constantFrom(...plain).chain((name) => {
    const fitting = near[name] ?? []
    const value = fitting.length === 0 ? anyValue : oneof(anyValue, constantFrom(...fitting))
    return value.map((chosen) => ({ [name]: chosen }))
  }),
  provider.map((value) => ({ provider: value })),
  reasoning.map((value) => ({ reasoning: value })),
)
const messages = oneof(
  { weight: 3, arbitrary: constant([{ role: "user", content: "hi" }]) },
  { weight: 3, arbitrary: array(turn, { maxLength: 2 }) },
  anyValue,
)
const body = FastCheck.tuple(maybe(messages), array(member, { maxLength: 3 })).map(
  ([turns, members]): JsonObject =>
    JSON.parse(JSON.stringify(Object.assign({ model: "acme/small", messages: turns }, ...members))),
)

/** Of reasoning that is given in two ways: see below. */
const contradicts = ({ reasoning: asked, reasoning_effort: shorthand }: JsonObject): boolean =>
  isJsonObject(asked) && asked["effort"] != null && shorthand != null && asked["effort"] !== shorthand

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

describe("the schema of requests and their decoder", () => {
  test("agree on 1,000 generated bodies", () => {
    let accepted = 0
    FastCheck.assert(
      FastCheck.property(body, (generated) => {
        FastCheck.pre(!contradicts(generated))
        expectAgreement(generated)
        if (problemsOf(generated).length === 0) accepted += 1
      }),
      { numRuns: Number(process.env["SCHEMA_RUNS"] ?? 1000) },
    )
    // Neither all nor none: about 120 of 1,000 are accepted, 12 more or less.
    expect(accepted).toBeGreaterThan(50)
    expect(accepted).toBeLessThan(Number(process.env["SCHEMA_RUNS"] ?? 1000) - 100)
  })

  test("agree on every member with every value", () => {
    const fine: JsonObject = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
    for (const name of [...plain, "messages"]) {
      for (const value of [...values, ...(near[name] ?? [])]) expectAgreement({ ...fine, [name]: value })
    }
    for (const name of [...names, ...moreNames]) {
      for (const value of [...values, ...preferenceValues]) expectAgreement({ ...fine, provider: { [name]: value } })
    }
    for (const name of ["effort", "max_tokens", "enabled", "exclude", "summary", "context", "mode"]) {
      for (const value of values) expectAgreement({ ...fine, reasoning: { [name]: value } })
    }
    for (const role of roles) {
      for (const content of [...texts, ...parts.map((part) => [part])]) {
        expectAgreement({ ...fine, messages: [{ role, content }] })
      }
    }
  })

  test("agree on every bad body of the other tests", () => {
    // What is wrong with the others is the model's name or the JSON itself.
    const refused = badBodies.map(({ text }) => jsonIn(text)).filter((bad) => isJsonObject(bad))
    expect(refused.length).toBeGreaterThan(80)
    for (const bad of refused) expectAgreement(bad)
  })

  test.skipIf(!recordingsPresent())("agree on the recorded requests", () => {
    const bodies = recordings("openai-chat").flatMap(({ request }) =>
      isJsonObject(request?.body) ? [request.body] : [],
    )
    expect(bodies.length).toBeGreaterThan(50)
    for (const recorded of bodies) expectAgreement(recorded)
  })

  test.each<[string, JsonObject]>([
    ["an effort that differs from its shorthand", { reasoning: { effort: "low" }, reasoning_effort: "high" }],
    ["a text whose UTF-16 units are more than its characters", { session_id: "😀".repeat(200) }],
  ])("differ on %s, which no schema can say", (_, members) => {
    const asked = { model: "acme/small", messages: [{ role: "user", content: "hi" }], ...members }
    expect(problemsOf(asked)).toHaveLength(1)
    expect(faultsIn("ChatRequest", asked)).toEqual([])
  })
})
