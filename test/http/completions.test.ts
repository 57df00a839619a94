/** `POST /completions`: what becomes of each member, whole and streamed answers, and errors. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { parameterChecks } from "../../src/domain/request/placedParameters.ts"
import { decodeCompletions } from "../../src/formats/completions/completionsRequest.ts"
import { costlyMembers, credentialMembers, sharedMembers } from "../../src/formats/request/members.ts"
import { textMembers } from "../../src/formats/request/textMembers.ts"
import { errorOf } from "../support/clients/answers.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { type Answer, closeAfterEach, good, routed, status } from "../support/gateways/routed.ts"
import { closeAfterEach as closeOpenedAfterEach, opened } from "../support/gateways/watched.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  sse,
  wholeAnswer,
} from "../support/hosts/host.ts"
import { messagesConfig, nativeAnswer } from "../support/hosts/messages.ts"

closeAfterEach()
closeOpenedAfterEach()

const ask = (more: JsonObject = {}): JsonObject => ({ model: "acme/small", prompt: "Once", ...more })

const send = (gateway: TestGateway, body: JsonObject) =>
  gateway.call("/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })

/** A choice as a caller sees it, whole or streamed. */
interface Choice {
  readonly index: number
  readonly text: string
  readonly finish_reason: string | null
  readonly logprobs: JsonObject | null
}

interface Body extends JsonObject {
  readonly choices: ReadonlyArray<Choice>
}

const bodyOf = async (response: Response): Promise<Body> => {
  expect(response.status).toBe(200)
  return (await response.json()) as Body
}

/** The chunks of a stream, whose grammar is checked by `gateway.call`. */
const chunksOf = async (response: Response): Promise<ReadonlyArray<Body>> => {
  expect(response.headers.get("content-type")).toBe("text/event-stream")
  const blocks = (await response.text()).split("\n\n").filter((block) => block.startsWith("data: {"))
  return blocks.map((block) => JSON.parse(block.slice("data: ".length)))
}

const textOf = (chunks: ReadonlyArray<Body>, index = 0): string =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ text }) => text)
    .join("")

describe("each member", () => {
  type Fate =
    /** Hosts get it as it is. */
    | { readonly sent: unknown }
    /** Hosts get these members in its place. */
    | { readonly asked: unknown; readonly as: JsonObject }
    /** For the router, or done by the gateway: no host gets it. */
    | { readonly here: unknown }
    /** No host gets it, and the caller is told. */
    | { readonly dropped: unknown }
    /** 400 that names it. */
    | { readonly refused: unknown }

  const content = { type: "content", content: "x" }
  const fates: Readonly<Record<string, ReadonlyArray<Fate>>> = {
    prompt: [
      { asked: "Twice", as: { messages: [{ role: "user", content: "Twice" }] } },
      { asked: ["Twice"], as: { messages: [{ role: "user", content: "Twice" }] } },
      ...[[], ["a", "b"], [1, 2], [[1, 2]], [{}], 7, null, {}].map((refused) => ({ refused })),
    ],
    echo: [{ here: true }, { here: false }, { refused: "yes" }],
    suffix: [{ here: "" }, { here: null }, { refused: "the end" }],
    n: [{ sent: 2 }, { refused: 9 }],
    best_of: [{ here: 1 }, { sent: 3 }, { refused: 0 }],
    logprobs: [
      { asked: 2, as: { logprobs: true, top_logprobs: 2 } },
      { asked: 0, as: { logprobs: true } },
      { sent: true },
      { sent: false },
      { refused: 21 },
      { refused: "all" },
    ],
    top_logprobs: [{ sent: 2 }, { refused: -1 }],
    messages: [{ refused: [{ role: "user", content: "hi" }] }],
    tools: [{ here: [] }, { refused: [{ type: "function", function: { name: "f" } }] }, { refused: {} }],
    tool_choice: [{ refused: "auto" }],
    parallel_tool_calls: [{ refused: true }],
    functions: [{ refused: [] }],
    function_call: [{ refused: "none" }],
    modalities: [{ here: ["text"] }, { refused: ["text", "image"] }],
    image_config: [{ refused: {} }],
    audio: [{ refused: {} }],
    // parameters of the chat form
    temperature: [{ sent: 0.5 }, { refused: 3 }],
    top_p: [{ sent: 0.5 }],
    top_k: [{ sent: 5 }],
    min_p: [{ sent: 0.5 }],
    top_a: [{ sent: 0.5 }],
    frequency_penalty: [{ sent: 1 }],
    presence_penalty: [{ sent: 1 }],
    repetition_penalty: [{ sent: 1.5 }],
    max_tokens: [{ sent: 9 }, { refused: 0 }],
    max_completion_tokens: [{ asked: 9, as: { max_tokens: 9 } }],
    logit_bias: [{ sent: { 1: -5 } }],
    seed: [{ sent: 1 }],
    stop: [{ sent: "x" }, { sent: ["x"] }, { refused: ["1", "2", "3", "4", "5"] }],
    include_reasoning: [{ here: true }],
    reasoning: [{ asked: { effort: "low" }, as: { reasoning_effort: "low" } }],
    reasoning_effort: [{ sent: "low" }],
    verbosity: [{ sent: "low" }],
    prediction: [{ sent: content }],
    response_format: [{ sent: { type: "json_object" } }],
    structured_outputs: [{ sent: true }],
    web_search_options: [{ sent: {} }],
    // members of all forms
    model: [{ asked: "acme/small", as: { model: "upstream" } }, { refused: "" }],
    models: [{ here: ["acme/small"] }, { refused: [""] }],
    route: [{ here: "fallback" }, { refused: "best" }],
    preset: [{ refused: "brief" }],
    stream: [{ refused: "yes" }],
    stream_options: [{ here: { include_usage: true } }],
    usage: [{ here: { include: true } }],
    service_tier: [{ sent: "default" }],
    cache_control: [{ sent: { type: "ephemeral" } }],
    prompt_cache_key: [{ sent: "k" }],
    prompt_cache_options: [{ sent: {} }],
    session_id: [{ here: "s" }],
    user: [{ sent: "u" }],
    metadata: [{ sent: { a: "b" } }],
    trace: [{ here: {} }],
    plugins: [{ here: [{ id: "web", enabled: false }] }, { refused: [{ id: "web" }] }],
    transforms: [{ here: ["middle-out"] }, { refused: ["other"] }],
    stop_server_tools_when: [{ here: [{}] }],
    debug: [{ here: {} }],
    background: [{ here: false }, { refused: true }],
    // what the operator pays or owns
    speed: [{ sent: "standard" }, { refused: "fast" }],
    inference_geo: [{ sent: "global" }, { refused: "us" }],
    billing_policy: [{ sent: { bill_to: "self" } }, { refused: { bill_to: "user_profile" } }],
    mcp_servers: [{ sent: [] }, { refused: [{ type: "url", url: "https://m.test", name: "m" }] }],
    vector_store_ids: [{ sent: [] }, { refused: ["vs_1"] }],
    ...Object.fromEntries(
      ["container", "thread", "fallback_credit_token", "user_profile_id", "previous_response_id", "conversation"].map(
        (name) => [name, [{ refused: "of_another_caller" }]],
      ),
    ),
    cached_content: [{ refused: "cachedContents/1" }],
    provider: [{ here: { only: ["host"] } }, { refused: 1 }],
    ...Object.fromEntries(
      [...credentialMembers, ...costlyMembers.filter((name) => !(name in sharedMembers))].map((name) => [
        name,
        [{ dropped: "x" }],
      ]),
    ),
    workspace_id: [{ refused: "wrkspc_1" }],
    // what the gateway does not know
    future: [{ sent: { a: [1] } }],
  }

  test("has its line here", () => {
    const shared = Object.keys({ ...parameterChecks, ...textMembers, ...sharedMembers })
    expect(shared.filter((name) => fates[name] === undefined)).toEqual([])
  })

  const rows = Object.entries(fates).flatMap(([name, each]) => each.map((fate) => [name, fate] as const))

  const host = scriptedHost(() => wholeAnswer("fine"))
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ host: { ...host, webSearch: "0" } }) })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  test.each(rows)("%s: %j", async (name, fate) => {
    const calls = host.calls.length
    const value = Object.values(fate)[0]
    const more = name === "top_logprobs" ? { logprobs: true } : {}
    const response = await send(gateway, ask({ ...more, [name]: value }))
    if ("refused" in fate) {
      const { metadata } = await errorOf(response)
      const issues = metadata?.["issues"] as ReadonlyArray<{ readonly path: string }>
      expect([response.status, issues.some(({ path }) => path.startsWith(name))]).toEqual([400, true])
      expect(host.calls).toHaveLength(calls)
      return
    }
    const told = "dropped" in fate ? name : null
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, told])
    const body = host.calls.at(-1)?.body ?? {}
    const usual = { model: "upstream", messages: [{ role: "user", content: "Once" }], stream: false, ...more }
    if ("here" in fate || "dropped" in fate) expect(body).toEqual(usual)
    else expect(body).toEqual({ ...usual, ...("as" in fate ? fate.as : { [name]: fate.sent }) })
  })
})

test.each<[string, JsonObject, string]>([
  ["fewer made than wanted", { n: 3, best_of: 2 }, "best_of"],
  ["a choice of the best in a stream", { best_of: 2, stream: true }, "best_of"],
  ["probabilities of the prompt", { echo: true, logprobs: 1 }, "echo"],
  ["two numbers of alternatives", { logprobs: 1, top_logprobs: 2 }, "top_logprobs"],
  ["two efforts", { reasoning: { effort: "low" }, reasoning_effort: "high" }, "reasoning_effort"],
])("%s is refused", (_name, more, path) => {
  const issues = Either.match(decodeCompletions(ask(more)), {
    onLeft: (refused) => refused.issues.map((issue) => issue.path),
    onRight: () => [],
  })
  expect(issues).toEqual([path])
})

test("what a host picks from is reserved for and paid", () => {
  const { bounds } = Either.getOrThrow(decodeCompletions(ask({ n: 2, best_of: 5 })))
  expect(bounds.choices).toBe(5)
})

describe("an answer", () => {
  const twoChoices: Answer = (body) =>
    body["stream"] === true
      ? sse([
          chunkOf({ delta: { content: "a" }, finish_reason: null }),
          chunkOf({ index: 1, delta: { content: "b" }, finish_reason: null }),
          chunkOf({ index: 1, delta: {}, finish_reason: "length" }),
          chunkOf({ delta: { content: "c" }, finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: "stop" }),
          chunkOf({}, { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }),
          "[DONE]",
        ])
      : Response.json({
          choices: [
            { index: 0, message: { role: "assistant", content: "ac" }, finish_reason: "stop" },
            { index: 1, message: { role: "assistant", content: "b" }, finish_reason: "length" },
          ],
          usage: { prompt_tokens: 10, completion_tokens: 5 },
        })

  test("has a text for each choice, and usage with its cost", async () => {
    const gateway = await routed({ host: twoChoices })
    const response = await send(gateway, ask({ n: 2 }))
    expect(response.headers.get("x-gw-host")).toBe("host")
    const body = await bodyOf(response)
    expect(body).toMatchObject({
      id: response.headers.get("x-generation-id"),
      object: "text_completion",
      provider: "host",
      model: "acme/small",
      system_fingerprint: null,
      service_tier: "default",
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.00002, is_byok: false },
    })
    expect(body.choices.map((choice): unknown => choice)).toEqual([
      { index: 0, text: "ac", logprobs: null, finish_reason: "stop", native_finish_reason: "stop" },
      { index: 1, text: "b", logprobs: null, finish_reason: "length", native_finish_reason: "length" },
    ])
  })

  test("comes to the same in a stream, with both finishes and the usage at its end", async () => {
    const gateway = await routed({ host: twoChoices })
    const chunks = await chunksOf(await send(gateway, ask({ n: 2, stream: true })))
    expect([textOf(chunks), textOf(chunks, 1)]).toEqual(["ac", "b"])
    expect(chunks.at(-1)).toMatchObject({
      object: "text_completion",
      choices: [
        { index: 1, text: "", finish_reason: "length", native_finish_reason: "length", logprobs: null },
        { index: 0, text: "", finish_reason: "stop", native_finish_reason: "stop", logprobs: null },
      ],
      usage: { total_tokens: 15, cost: 0.00002 },
    })
  })

  test("repeats the prompt where `echo` asks for it, once for each choice and at no cost", async () => {
    const gateway = await routed({ host: twoChoices })
    const response = await send(gateway, ask({ n: 2, echo: true }))
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect((await bodyOf(response)).choices.map(({ text }) => text)).toEqual(["Onceac", "Onceb"])
    const chunks = await chunksOf(await send(gateway, ask({ n: 2, echo: true, stream: true })))
    expect([textOf(chunks), textOf(chunks, 1)]).toEqual(["Onceac", "Onceb"])
    expect(chunks.at(-1)?.["usage"]).toMatchObject({ cost: 0.00002 })
  })

  test("repeats the prompt before an empty answer too", async () => {
    const gateway = await routed({ host: good("") })
    for (const stream of [false, true]) {
      const response = await send(gateway, ask({ echo: true, stream }))
      expect(stream ? textOf(await chunksOf(response)) : (await bodyOf(response)).choices[0]?.text).toBe("Once")
    }
  })

  const tokens = (...texts: ReadonlyArray<string>) => ({
    content: texts.map((token) => ({ token, logprob: -0.5, top_logprobs: [{ token, logprob: -0.5 }] })),
  })

  test("has the probabilities of its tokens as the form has them, with their places", async () => {
    const gateway = await routed({
      host: (body) =>
        body["stream"] === true
          ? sse([
              chunkOf({ delta: { content: "𝄞a" }, logprobs: tokens("𝄞", "a"), finish_reason: null }),
              chunkOf({ delta: { content: "b" }, logprobs: tokens("b"), finish_reason: null }),
              chunkOf({ delta: { content: "c" }, logprobs: tokens("c"), finish_reason: null }),
              chunkOf({ delta: {}, finish_reason: "stop" }),
              "[DONE]",
            ])
          : Response.json({
              choices: [
                {
                  index: 0,
                  message: { role: "assistant", content: "𝄞ab" },
                  logprobs: tokens("𝄞", "a", "b"),
                  finish_reason: "stop",
                },
              ],
            }),
    })
    const body = await bodyOf(await send(gateway, ask({ logprobs: 1 })))
    expect(body.choices[0]?.logprobs).toEqual({
      tokens: ["𝄞", "a", "b"],
      token_logprobs: [-0.5, -0.5, -0.5],
      top_logprobs: [{ "𝄞": -0.5 }, { a: -0.5 }, { b: -0.5 }],
      text_offset: [0, 1, 2],
    })
    const chunks = await chunksOf(await send(gateway, ask({ logprobs: 1, stream: true })))
    expect(chunks.map(({ choices }) => choices[0]?.logprobs?.["text_offset"])).toEqual([[0, 1], [2], [3], undefined])
  })

  test("keeps reasoning and a refusal beside its text", async () => {
    const said = { content: null, reasoning: "hm", refusal: "No." }
    const gateway = await routed({
      host: (body) =>
        body["stream"] === true
          ? sse([
              chunkOf({ delta: said, finish_reason: null }),
              chunkOf({ delta: {}, finish_reason: "stop" }),
              "[DONE]",
            ])
          : Response.json({ choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason: "stop" }] }),
    })
    const expected = { text: "", reasoning: "hm", refusal: "No." }
    expect((await bodyOf(await send(gateway, ask()))).choices).toMatchObject([expected])
    expect((await chunksOf(await send(gateway, ask({ stream: true }))))[0]?.choices).toMatchObject([expected])
    const [hidden] = (await bodyOf(await send(gateway, ask({ reasoning: { exclude: true } })))).choices
    expect(hidden).not.toHaveProperty("reasoning")
  })

  test("comes from the next host where the first one fails", async () => {
    const gateway = await routed({ a: status(500), b: good("from b") })
    for (const stream of [false, true]) {
      const response = await send(gateway, ask({ stream }))
      expect(stream ? textOf(await chunksOf(response)) : (await bodyOf(response)).choices[0]?.text).toBe("from b")
    }
  })

  test("begins anew at the next host where the first one broke off before anything was sent", async () => {
    const gateway = await routed({
      a: () =>
        sse([
          chunkOf({ delta: { content: "lost" }, logprobs: tokens("lost"), finish_reason: null }),
          JSON.stringify({ error: { message: "it broke", code: 500 } }),
        ]),
      b: () =>
        sse([
          chunkOf({ delta: { content: "kept" }, logprobs: tokens("kept"), finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: "stop" }),
          "[DONE]",
        ]),
    })
    expect(textOf(await chunksOf(await send(gateway, ask({ echo: true, stream: true }))))).toBe("Oncekept")
    const [chunk] = await chunksOf(await send(gateway, ask({ logprobs: 1, stream: true })))
    expect(chunk?.choices[0]?.logprobs?.["text_offset"]).toEqual([0])
    expect(gateway.called()).toEqual(["a", "b", "a", "b"])
  })

  test("of a host that speaks the Messages form names what that host does not get", async () => {
    const claude = opened(scriptedHost(() => nativeAnswer([{ type: "text", text: "upon a time" }])))
    const gateway = opened(await startGateway({ config: messagesConfig({ claude }) }))
    const response = await send(gateway, ask({ seed: 1 }))
    expect(response.headers.get("x-gw-dropped")).toBe("seed")
    expect((await bodyOf(response)).choices[0]?.text).toBe("upon a time")
  })
})

describe("a failure", () => {
  test("before the answer has the body of the chat form", async () => {
    const gateway = await routed({ host: status(500) })
    for (const stream of [false, true]) expect((await errorOf(await send(gateway, ask({ stream })))).code).toBe(502)
  })

  test("in the stream ends it, free of charge", async () => {
    const streams: Array<HeldStream> = []
    const gateway = await routed({
      host: (_body, request) => {
        const held = heldStream(request)
        streams.push(held)
        held.send(chunkOf({ delta: { content: "upon" }, finish_reason: null }))
        return held.response
      },
    })
    const response = await send(gateway, ask({ stream: true, echo: true }))
    streams[0]?.send(JSON.stringify({ error: { message: "it broke", code: 500 } }))
    const chunks = await chunksOf(response)
    expect(textOf(chunks)).toBe("Onceupon")
    expect(chunks.at(-1)).toMatchObject({
      error: { code: 502, metadata: { error_type: "provider_unavailable" } },
      choices: [{ index: 0, text: "", finish_reason: "error" }],
      usage: { cost: 0 },
    })
  })

  test("for its length names the prompt, by the caller's name of it", async () => {
    const gateway = await routed({ host: good() })
    for (const [path, member] of [
      ["/completions", "prompt"],
      ["/responses", "input"],
    ] as const) {
      const body = JSON.stringify({ model: "acme/small", [member]: "x".repeat(160_000) })
      const { metadata } = await errorOf(await gateway.call(path, { method: "POST", body }))
      expect(metadata).toMatchObject({ error_type: "context_length_exceeded", issues: [{ path: member }] })
    }
  })
})
