/** Streams of the Responses form, over sockets: each is read by the grammar, and says what the same whole answer says. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { saidInOrder } from "../../../src/formats/conversation.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { postResponses, readResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import {
  type Answer,
  answerAfter,
  closeAfterEach,
  routed,
  says,
  silent,
  status,
} from "../../support/gateways/routed.ts"
import { chunkOf, type HeldStream, heldStream, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const delta = (said: JsonObject, more: JsonObject = {}) => chunkOf({ delta: said, finish_reason: null, ...more })
const finish = (reason = "stop") => chunkOf({ delta: {}, finish_reason: reason })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const call = (index: number, more: JsonObject) => delta({ tool_calls: [{ index, ...more }] })
const thought = (more: JsonObject) => delta({ reasoning_details: [more] })

/** Whole and streamed, as a host of the chat form says the same. */
interface Sample {
  readonly message: JsonObject
  readonly deltas: ReadonlyArray<string>
  readonly finish?: string
  /** Output items without their ids. */
  readonly output: ReadonlyArray<JsonObject>
  readonly types: ReadonlyArray<string>
}

const text = (said: string, more: JsonObject = {}) => ({
  type: "output_text",
  text: said,
  annotations: [],
  logprobs: [],
  ...more,
})
const message = (...content: ReadonlyArray<JsonObject>) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content,
})
const functionCall = (call_id: string, name: string, given: string) => ({
  type: "function_call",
  status: "completed",
  call_id,
  name,
  arguments: given,
})
const reasoning = (more: JsonObject) => ({ type: "reasoning", status: "completed", summary: [], ...more })

const created = ["response.created", "response.in_progress"]
const added = "response.output_item.added"
const ended = "response.output_item.done"
const textEvents = [
  added,
  "response.content_part.added",
  "response.output_text.delta",
  "response.output_text.done",
  "response.content_part.done",
  ended,
]
const callEvents = [added, "response.function_call_arguments.delta", "response.function_call_arguments.done", ended]
const thoughtEvents = [
  added,
  "response.content_part.added",
  "response.reasoning_text.delta",
  "response.reasoning_text.done",
  "response.content_part.done",
  ended,
]

const citation = {
  type: "url_citation",
  url_citation: { url: "https://a.org", title: "A", start_index: 0, end_index: 2 },
}
const citedAt = (start: number) => ({
  type: "url_citation",
  url_citation: { url: "https://a.org", title: "A", start_index: start, end_index: start + 2 },
})
const format = "anthropic-claude-v1"
const openai = "openai-responses-v1"
/** What stands for the signature where a caller keeps only the members of the vendor's form. */
const wrappedSignature = expect.stringMatching(/^headgate\.v1\./)

const samples: Readonly<Record<string, Sample>> = {
  text: {
    message: { content: "Hello" },
    deltas: [delta({ role: "assistant", content: "" }), delta({ content: "Hel" }), delta({ content: "lo" })],
    output: [message(text("Hello"))],
    types: textEvents,
  },
  "a call without arguments": {
    message: {
      content: null,
      tool_calls: [{ id: "call_a", type: "function", function: { name: "f", arguments: "" } }],
    },
    deltas: [call(0, { id: "call_a", type: "function", function: { name: "f", arguments: "" } })],
    finish: "tool_calls",
    output: [functionCall("call_a", "f", "{}")],
    types: callEvents,
  },
  "thinking between calls": {
    message: {
      refusal: null,
      ...saidInOrder([
        { type: "reasoning", details: [{ type: "reasoning.text", text: "A", signature: "c2ln", format }] },
        { type: "content", content: { type: "text", text: "Looking. " } },
        { type: "call", call: { id: "call_a", type: "function", function: { name: "f", arguments: '{"a":1}' } } },
        { type: "reasoning", details: [{ type: "reasoning.encrypted", data: "aGlkZGVu", format }] },
        { type: "content", content: { type: "text", text: "And more." } },
        { type: "call", call: { id: "call_b", type: "function", function: { name: "g", arguments: '{"b":1}' } } },
      ]),
      annotations: [citedAt(0), citedAt(9)],
    },
    deltas: [
      thought({ type: "reasoning.text", text: "A", signature: "c2ln", format, index: 0 }),
      delta({ content: "Looking. " }),
      delta({ annotations: [citedAt(0)] }),
      call(0, { id: "call_a", type: "function", function: { name: "f", arguments: '{"a":1}' } }),
      thought({ type: "reasoning.encrypted", data: "aGlkZGVu", format, index: 3 }),
      delta({ content: "And more." }),
      delta({ annotations: [citedAt(9)] }),
      call(1, { id: "call_b", type: "function", function: { name: "g", arguments: '{"b":1}' } }),
      thought({ type: "reasoning.encrypted", id: "headgate-order", format: "unknown", index: 6, data: "[]" }),
    ],
    finish: "tool_calls",
    output: [
      reasoning({
        content: [{ type: "reasoning_text", text: "A" }],
        signature: "c2ln",
        format,
        encrypted_content: wrappedSignature,
      }),
      message(text("Looking. ", { annotations: [{ type: "url_citation", ...citedAt(0).url_citation }] })),
      functionCall("call_a", "f", '{"a":1}'),
      reasoning({ encrypted_content: wrappedSignature, format }),
      message(text("And more.", { annotations: [{ type: "url_citation", ...citedAt(0).url_citation }] })),
      functionCall("call_b", "g", '{"b":1}'),
    ],
    types: [
      ...thoughtEvents,
      ...[added, "response.content_part.added", "response.output_text.delta", "response.output_text.annotation.added"],
      ...["response.output_text.done", "response.content_part.done", ended],
      ...[
        added,
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        ended,
        added,
        ended,
      ],
      ...[added, "response.content_part.added", "response.output_text.delta", "response.output_text.annotation.added"],
      ...["response.output_text.done", "response.content_part.done", ended],
      ...[added, "response.function_call_arguments.delta", "response.function_call_arguments.done", ended],
    ],
  },
  "text and two calls that take turns": {
    message: {
      content: "Looking",
      tool_calls: [
        { id: "call_a", type: "function", function: { name: "f", arguments: '{"a":1}' } },
        { id: "call_b", type: "function", function: { name: "g", arguments: '{"b":"Łódź"}' } },
      ],
    },
    deltas: [
      delta({ content: "Looking" }),
      call(0, { id: "call_a", type: "function", function: { name: "f", arguments: '{"a"' } }),
      call(1, { id: "call_b", type: "function", function: { name: "g", arguments: '{"b":"' } }),
      call(0, { function: { arguments: ":1}" } }),
      call(1, { function: { arguments: 'Łódź"}' } }),
    ],
    finish: "tool_calls",
    output: [
      message(text("Looking")),
      functionCall("call_a", "f", '{"a":1}'),
      functionCall("call_b", "g", '{"b":"Łódź"}'),
    ],
    types: [
      ...textEvents,
      ...[added, "response.function_call_arguments.delta", added, "response.function_call_arguments.delta"],
      ...["response.function_call_arguments.done", ended, "response.function_call_arguments.done", ended],
    ],
  },
  "plain reasoning, then text": {
    message: { content: "So", reasoning: "Hmm, well" },
    deltas: [delta({ reasoning: "Hmm" }), delta({ reasoning: ", well" }), delta({ content: "So" })],
    output: [reasoning({ content: [{ type: "reasoning_text", text: "Hmm, well" }] }), message(text("So"))],
    types: [...thoughtEvents, ...textEvents],
  },
  "signed reasoning, hidden reasoning, then text": {
    message: {
      content: "So",
      reasoning: "Hmm",
      reasoning_details: [
        { type: "reasoning.text", text: "Hmm", signature: "c2ln", format, index: 0 },
        { type: "reasoning.encrypted", data: "aGlkZGVu", format, index: 1 },
      ],
    },
    deltas: [
      delta({ reasoning: "Hmm", reasoning_details: [{ type: "reasoning.text", text: "Hmm", format, index: 0 }] }),
      thought({ type: "reasoning.text", signature: "c2ln", format, index: 0 }),
      thought({ type: "reasoning.encrypted", data: "aGlkZGVu", format, index: 1 }),
      delta({ content: "So" }),
    ],
    output: [
      reasoning({
        content: [{ type: "reasoning_text", text: "Hmm" }],
        signature: "c2ln",
        format,
        encrypted_content: wrappedSignature,
      }),
      reasoning({ encrypted_content: wrappedSignature, format }),
      message(text("So")),
    ],
    types: [...thoughtEvents, added, ended, ...textEvents],
  },
  "a summary in two parts with encrypted content": {
    message: {
      content: "So",
      reasoning_details: [
        { type: "reasoning.summary", summary: "First", id: "rs_host", format: openai, index: 0 },
        { type: "reasoning.summary", summary: "Second", id: "rs_host", format: openai, index: 1 },
        { type: "reasoning.encrypted", data: "gAAAA", id: "rs_host", format: openai, index: 0 },
      ],
    },
    deltas: [
      thought({ type: "reasoning.summary", summary: "Fir", id: "rs_host", format: openai, index: 0 }),
      thought({ type: "reasoning.summary", summary: "st", id: "rs_host", format: openai, index: 0 }),
      thought({ type: "reasoning.summary", summary: "Second", id: "rs_host", format: openai, index: 1 }),
      thought({ type: "reasoning.encrypted", data: "gAAAA", id: "rs_host", format: openai, index: 0 }),
      delta({ content: "So" }),
    ],
    output: [
      {
        ...reasoning({ encrypted_content: "gAAAA", format: openai }),
        summary: [
          { type: "summary_text", text: "First" },
          { type: "summary_text", text: "Second" },
        ],
      },
      message(text("So")),
    ],
    types: [
      added,
      ...["response.reasoning_summary_part.added", "response.reasoning_summary_text.delta"],
      ...["response.reasoning_summary_part.added", "response.reasoning_summary_text.delta"],
      ...["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"],
      ...["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"],
      ended,
      ...textEvents,
    ],
  },
  "pieces of two formats under one index": {
    message: {
      content: "So",
      reasoning_details: [
        { type: "reasoning.text", text: "Hmm", format: "google-gemini-v1", index: 0 },
        { type: "reasoning.encrypted", data: "aGlkZGVu", format, index: 0 },
      ],
    },
    deltas: [
      thought({ type: "reasoning.text", text: "Hmm", format: "google-gemini-v1", index: 0 }),
      thought({ type: "reasoning.encrypted", data: "aGlkZGVu", format, index: 0 }),
      delta({ content: "So" }),
    ],
    output: [
      reasoning({ content: [{ type: "reasoning_text", text: "Hmm" }], format: "google-gemini-v1" }),
      reasoning({ encrypted_content: wrappedSignature, format }),
      message(text("So")),
    ],
    types: [...thoughtEvents, added, ended, ...textEvents],
  },
  "a refusal": {
    message: { content: null, refusal: "I will not" },
    deltas: [delta({ refusal: "I will" }), delta({ refusal: " not" })],
    output: [message({ type: "refusal", refusal: "I will not" })],
    types: [
      ...[added, "response.content_part.added", "response.refusal.delta", "response.refusal.done"],
      ...["response.content_part.done", ended],
    ],
  },
  citations: {
    message: { content: "ab", annotations: [citation] },
    deltas: [delta({ content: "ab" }), delta({ annotations: [citation] })],
    output: [message(text("ab", { annotations: [{ type: "url_citation", ...citation.url_citation }] }))],
    types: [...textEvents.slice(0, 3), "response.output_text.annotation.added", ...textEvents.slice(3)],
  },
  probabilities: {
    message: { content: "a" },
    deltas: [
      delta(
        { content: "a" },
        {
          logprobs: {
            content: [{ token: "a", logprob: -0.5, bytes: [97], top_logprobs: [{ token: "b", logprob: -1 }] }],
          },
        },
      ),
    ],
    output: [
      message(
        text("a", {
          logprobs: [
            { token: "a", logprob: -0.5, bytes: [97], top_logprobs: [{ token: "b", logprob: -1, bytes: [] }] },
          ],
        }),
      ),
    ],
    types: textEvents,
  },
  "an image": {
    message: { content: "Here", images: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } }] },
    deltas: [
      delta({ content: "Here" }),
      delta({ images: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } }] }),
    ],
    output: [message(text("Here")), { type: "image_generation_call", status: "completed", result: "iVBORw0K" }],
    types: [...textEvents, added, ended],
  },
}

const probabilities = {
  content: [{ token: "a", logprob: -0.5, bytes: [97], top_logprobs: [{ token: "b", logprob: -1 }] }],
}

const answering =
  ({ message: said, deltas, finish: reason = "stop" }: Sample, name: string): Answer =>
  (body) =>
    body["stream"] === true
      ? sse([...deltas, finish(reason), usage, "[DONE]"])
      : Response.json({
          choices: [
            {
              index: 0,
              message: { role: "assistant", ...said },
              finish_reason: reason,
              logprobs: name === "probabilities" ? probabilities : null,
            },
          ],
          usage: { prompt_tokens: 10, completion_tokens: 5 },
        })

const withoutIds = (output: unknown) =>
  Array.isArray(output) ? output.map(({ id: _, ...item }: JsonObject) => item) : output

const usageBody = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
  cost: 0.00002,
  is_byok: false,
  cost_details: {
    upstream_inference_cost: 0.00002,
    upstream_inference_input_cost: 0.00001,
    upstream_inference_output_cost: 0.00001,
  },
}

/** The sample that the last message of a request names. */
const bySample: Answer = (body, request, call) => {
  const [last] = (body["messages"] as ReadonlyArray<{ readonly content?: string }>).slice(-1)
  const name = last?.content ?? ""
  const sample = samples[name]
  if (sample === undefined) throw new Error(`no sample is called ${name}`)
  return answering(sample, name)(body, request, call)
}

/** The text of a stream; `then` runs once its first bytes have come. */
const readWhile = async (answer: Response, then: () => void): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ""
  for await (const bytes of answer.body ?? []) {
    if (text === "") then()
    text += decoder.decode(bytes, { stream: true })
  }
  return text
}

describe("an answer in the Responses form", () => {
  test("is the same whole and streamed, with the events of its parts", async () => {
    const gateway = await routed({ a: bySample }, { socket: true })
    for (const [input, sample] of Object.entries(samples)) {
      const whole = await responseOf(await postResponses(gateway, { input }))
      const streamed = await responsesStreamOf(await postResponses(gateway, { input, stream: true }))
      expect([input, ...streamed.types]).toEqual([input, ...created, ...sample.types, "response.completed"])
      for (const response of [whole, streamed.response]) {
        expect([input, withoutIds(response["output"])]).toEqual([input, sample.output])
        expect(response).toMatchObject({ status: "completed", error: null, incomplete_details: null, usage: usageBody })
      }
      const ids = (streamed.response["output"] as ReadonlyArray<JsonObject>).map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }
  })

  test("repeats what was asked, and has every member that strict clients require", async () => {
    const gateway = await routed({ a: answering(samples["text"] as Sample, "") }, { socket: true })
    const tool = { type: "function", name: "f", description: "d" }
    const asked = {
      ...{ instructions: "be brief", max_output_tokens: 9, max_tool_calls: 3, metadata: { a: "b" }, temperature: 0.5 },
      ...{ tools: [tool], tool_choice: "none", parallel_tool_calls: false, top_p: 0.5, truncation: "auto", user: "u" },
      ...{ reasoning: { effort: "low" }, text: { verbosity: "low" }, presence_penalty: 1, frequency_penalty: 2 },
      ...{ safety_identifier: "s", prompt_cache_key: "k", top_logprobs: 2 },
    }
    const answer = await postResponses(gateway, asked)
    const generation = answer.headers.get("x-generation-id") ?? ""
    const expected = {
      id: `resp_${generation.slice(4)}`,
      object: "response",
      created_at: expect.any(Number),
      status: "completed",
      model: "acme/small",
      ...asked,
      tools: [{ ...tool, parameters: null, strict: null }],
      reasoning: { effort: "low", summary: null },
      text: { format: { type: "text" }, verbosity: "low" },
      background: false,
      previous_response_id: null,
      store: false,
      service_tier: "default",
      error: null,
      incomplete_details: null,
    }
    const { output, output_text, usage: used, completed_at, ...rest } = await responseOf(answer)
    expect(rest).toEqual(expected)
    expect([output_text, used, completed_at]).toEqual(["Hello", usageBody, expect.any(Number)])
    expect(answer.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect(answer.headers.get("x-gw-host")).toBe("a")
    const { events, response } = await responsesStreamOf(await postResponses(gateway, { ...asked, stream: true }))
    const { usage: _, output_text: __, ...completed } = response
    expect(events[0]?.["response"]).toEqual({ ...completed, status: "in_progress", completed_at: null, output: [] })
  })

  test("leaves out reasoning that is excluded", async () => {
    const gateway = await routed(
      { a: answering(samples["plain reasoning, then text"] as Sample, "") },
      { socket: true },
    )
    const asked = { reasoning: { exclude: true } }
    const whole = await responseOf(await postResponses(gateway, asked))
    const { response } = await responsesStreamOf(await postResponses(gateway, { ...asked, stream: true }))
    for (const { output } of [whole, response]) expect(withoutIds(output)).toEqual([message(text("So"))])
  })

  test.each([
    ["length", "incomplete", { reason: "max_output_tokens" }, "incomplete"],
    ["content_filter", "incomplete", { reason: "content_filter" }, "incomplete"],
    ["stop", "completed", null, "completed"],
  ])("that ends for %s is %s", async (reason, state, details, itemStatus) => {
    const sample = { ...samples["text"], finish: reason } as Sample
    const gateway = await routed({ a: answering(sample, "") }, { socket: true })
    const whole = await responseOf(await postResponses(gateway, {}))
    const { response, types } = await responsesStreamOf(await postResponses(gateway, { stream: true }))
    for (const one of [whole, response]) {
      expect(one).toMatchObject({ status: state, incomplete_details: details, output: [{ status: itemStatus }] })
    }
    expect(types.at(-1)).toBe(`response.${state}`)
  })

  test("that uses up its key's budget is incomplete for want of output tokens, and charged", async () => {
    const endless: Answer = (_, request) => {
      const held = heldStream(request)
      for (let n = 0; n < 200; n++) held.send(delta({ content: "word word word word " }))
      return held.response
    }
    const gateway = await routed({ a: endless }, { socket: true })
    const secret = await gateway.newKey({ limit: 200_000_000n })
    const answer = await postResponses(gateway, { stream: true }, { authorization: `Bearer ${secret}` })
    const { response } = await responsesStreamOf(answer)
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete" }],
    })
    expect((response["usage"] as JsonObject)["cost"]).toBeGreaterThan(0.00005)
  })
})

/** OmniRoute#6713 (2026-07-09), sub2api#7098 (2026-09-13): agents took an empty answer for a finished one. */
test.each([
  ["a chat host", undefined, { finish_reason: "abort" }, "abort"],
  ["Gemini", "google-ai-studio", { finishReason: "MALFORMED_FUNCTION_CALL" }, "MALFORMED_FUNCTION_CALL"],
] as const)(
  "a call that the model of %s failed to write is a failed response, and is charged",
  async (_, plugin, end, native) => {
    const counted = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
    const gemini = { candidates: [{ index: 0, ...end }], usageMetadata: counted }
    const used = { prompt_tokens: 10, completion_tokens: 5 }
    const answer: Answer = ({ stream }, request) => {
      if (plugin !== undefined) {
        const isStream = new URL(request.url).pathname.endsWith(":streamGenerateContent")
        return isStream ? sse([JSON.stringify(gemini)]) : Response.json(gemini)
      }
      return stream === true
        ? sse([chunkOf({ delta: {}, ...end }), usage, "[DONE]"])
        : Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "" }, ...end }], usage: used })
    }
    const gateway = await routed(
      { a: answer },
      { socket: true, ...(plugin === undefined ? {} : { settings: { a: { plugin } } }) },
    )
    const account = await openAccount(gateway)
    const headers = { authorization: `Bearer ${account.secret}` }
    const failed = {
      status: "failed",
      error: { code: "server_error", message: `The model's answer failed: ${native}.` },
      usage: { input_tokens: 10, output_tokens: 5, cost: 0.00002 },
    }
    expect(await responseOf(await postResponses(gateway, {}, headers))).toMatchObject(failed)
    const { response, types } = await responsesStreamOf(await postResponses(gateway, { stream: true }, headers))
    expect(response).toMatchObject(failed)
    expect(types.at(-1)).toBe("response.failed")
    const charged = { outcome: "finished", cost: 20_000_000n }
    expect(await account.rows()).toMatchObject([charged, charged])
  },
)

/** GitHub Copilot (nanobot#1555, 2026-03-05). */
test("calls in a second choice are calls of the answer, and those of one choice alone", async () => {
  const one = { id: "call_a", type: "function", function: { name: "f", arguments: "{}" } }
  const other = { id: "call_b", type: "function", function: { name: "g", arguments: "{}" } }
  for (const first of [undefined, one]) {
    const calls = first === undefined ? {} : { tool_calls: [first] }
    const choices = [
      { index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: "Looking", ...calls } },
      { index: 1, finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [other] } },
    ]
    const answer: Answer = ({ stream }) =>
      stream === true
        ? sse([
            ...choices.map(({ index, message: { tool_calls: called, ...said } }) =>
              JSON.stringify({
                choices: [
                  {
                    index,
                    delta: {
                      ...said,
                      ...(called && { tool_calls: called.map((each, at) => ({ index: at, ...each })) }),
                    },
                    finish_reason: null,
                  },
                ],
              }),
            ),
            JSON.stringify({
              choices: choices.map(({ index }) => ({ index, delta: {}, finish_reason: "tool_calls" })),
            }),
            usage,
            "[DONE]",
          ])
        : Response.json({ choices, usage: { prompt_tokens: 10, completion_tokens: 5 } })
    const gateway = await routed({ a: answer }, { socket: true })
    const whole = await responseOf(await postResponses(gateway, {}))
    const { response } = await responsesStreamOf(await postResponses(gateway, { stream: true }))
    const expected = [
      message(text("Looking")),
      first === undefined ? functionCall("call_b", "g", "{}") : functionCall("call_a", "f", "{}"),
    ]
    for (const { output } of [whole, response]) expect(withoutIds(output)).toEqual(expected)
  }
})

describe("a fault in the stream", () => {
  const everything = [
    delta({ reasoning: "Hmm" }),
    thought({ type: "reasoning.summary", summary: "Sum", format: openai, index: 0 }),
    thought({ type: "reasoning.encrypted", data: "gAAAA", format: openai, index: 0 }),
    delta({ content: "Hel" }),
    delta({ content: "lo" }),
    delta({ annotations: [citation] }),
    call(0, { id: "call_a", type: "function", function: { name: "f", arguments: '{"a"' } }),
    call(1, { id: "call_b", type: "function", function: { name: "g", arguments: "{}" } }),
    call(0, { function: { arguments: ":1}" } }),
  ]

  const faults: ReadonlyArray<readonly [name: string, error: string, code: string, type: string]> = [
    ["an error of the host", '{"error":{"code":503,"message":"x"}}', "server_error", "provider_unavailable"],
    ["a rate limit", '{"error":{"code":429,"message":"x"}}', "rate_limit_exceeded", "rate_limit_exceeded"],
    ["a refusal, which agents repeated", '{"error":{"code":403,"message":"x"}}', "invalid_prompt", "permission_denied"],
  ]

  test.each(faults)(
    "%s after each event ends it as failed, with what was said, for nothing",
    async (_name, error, code, type) => {
      let held: HeldStream | undefined
      let count = 0
      const answer: Answer = (_, request) => {
        held = heldStream(request)
        for (const event of everything.slice(0, count)) held.send(event)
        return held.response
      }
      const lenient = { limits: { breaker: { open_s: 0 }, cooldown: { rate_limit_s: 0 } } }
      const gateway = await routed({ a: answer }, { socket: true, ...lenient })
      const account = await openAccount(gateway)
      const headers = { authorization: `Bearer ${account.secret}` }
      for (count = 1; count <= everything.length; count++) {
        const text = await readWhile(await postResponses(gateway, { stream: true }, headers), () => held?.send(error))
        const { response, types } = readResponses(text)
        expect([count, types.at(-1)]).toEqual([count, "response.failed"])
        expect(response).toMatchObject({
          status: "failed",
          completed_at: null,
          error_type: type,
          error: { code, message: expect.stringMatching(/\.$/) },
          usage: { cost: 0 },
        })
      }
      await until(async () => (await account.reserved()) === 0n, "the release of what was reserved")
      expect(await account.total()).toBe(0n)
    },
  )

  /** A stream whose host says this, and then an error, or closes the connection. */
  const broken = async (events: ReadonlyArray<string>, error: string | undefined) => {
    let held: HeldStream | undefined
    const gateway = await routed(
      {
        a: (_, request) => {
          held = heldStream(request)
          for (const event of events) held.send(event)
          return held.response
        },
      },
      { socket: true },
    )
    const breakOff = () => (error === undefined ? held?.close() : held?.send(error))
    return readResponses(await readWhile(await postResponses(gateway, { stream: true }), breakOff))
  }

  test("leaves its calls unfinished, since an agent would carry them out", async () => {
    const { response, events } = await broken(everything, '{"error":{"code":503,"message":"x"}}')
    expect(events.filter(({ type }) => type === "response.function_call_arguments.done")).toEqual([])
    const calls = (response["output"] as ReadonlyArray<JsonObject>).filter(({ type }) => type === "function_call")
    expect(calls.map(({ status: state, arguments: given }) => [state, given])).toEqual([
      ["incomplete", '{"a":1}'],
      ["incomplete", "{}"],
    ])
  })

  test("a connection that breaks off", async () => {
    const { response } = await broken([delta({ content: "Hel" })], undefined)
    expect(response).toMatchObject({ status: "failed", output: [{ status: "incomplete", content: [{ text: "Hel" }] }] })
  })

  test("of the length, once something was said: the answer is incomplete and no failure", async () => {
    const error = '{"error":{"code":400,"message":"maximum context length exceeded","type":"context_length_exceeded"}}'
    const { response } = await broken([delta({ content: "Hel" })], error)
    expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
  })

  test("at a silent host: comments, and the failure when the head had to go out before", async () => {
    const clock = new ManualClock()
    const gateway = await routed(
      { a: silent },
      { socket: true, limits: { commit_after_ms: 100, ttfb_ms: 1000 }, clock },
    )
    const asked = postResponses(gateway, { stream: true })
    const answer = await answerAfter(gateway, clock, asked, { milliseconds: 200 })
    await pass(clock, 1000)
    const written = await answer.text()
    expect(written).toStartWith(": GW PROCESSING\n\nevent: response.created\n")
    expect(readResponses(written).response).toMatchObject({
      status: "failed",
      error_type: "timeout",
      model: "acme/small",
      output: [],
    })
  })

  test("before anything was said: the next host answers", async () => {
    const gateway = await routed(
      {
        a: () => sse([delta({ role: "assistant" }), '{"error":{"code":503,"message":"x"}}']),
        b: answering(samples["text"] as Sample, ""),
      },
      { socket: true },
    )
    const answer = await postResponses(gateway, { stream: true })
    expect(answer.headers.get("x-gw-host")).toBe("b")
    expect(withoutIds((await responsesStreamOf(answer)).response["output"])).toEqual([message(text("Hello"))])
  })

  test.each([
    [429, true, 429, "rate_limit_exceeded"],
    [429, false, 429, "rate_limit_exceeded"],
    [500, true, 502, "provider_unavailable"],
    [500, false, 502, "provider_unavailable"],
  ])(
    "a host's %d before anything was said (stream: %p) is an error of the chat form",
    async (code, stream, sent, type) => {
      const gateway = await routed({ a: status(code) }, { socket: true })
      const error = await errorOf(await postResponses(gateway, { stream }))
      expect([error.code, error.metadata?.["error_type"]]).toEqual([sent, type])
    },
  )

  test("a caller who leaves ends the call, and is charged for what was said", async () => {
    const gateway = await routed({ a: says(delta({ content: "Hel" })) }, { socket: true })
    const account = await openAccount(gateway)
    const leaving = new AbortController()
    const answer = await gateway.call("/responses", {
      method: "POST",
      signal: leaving.signal,
      headers: { authorization: `Bearer ${account.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/small", input: "hi", stream: true }),
    })
    await answer.body?.getReader().read()
    leaving.abort()
    await until(async () => (await account.rows()).length === 1, "the row")
    const [row] = await account.rows()
    expect(row).toMatchObject({ form: "responses", outcome: "caller-gone" })
    expect(row?.cost).toBeGreaterThan(0n)
  })
})
