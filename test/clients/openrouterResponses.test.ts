/**
 * The Responses form by the router's own SDK, over a real socket. It validates every body and every event with its own
 * schemas, so whatever it rejects is a fault of ours.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { OpenRouter } from "@openrouter/sdk"
import type { OpenResponsesResult, ResponsesRequest, StreamEvents } from "@openrouter/sdk/models"
import * as errors from "@openrouter/sdk/models/errors"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, configFor, scriptedHost, sse } from "../support/hosts/host.ts"

const details = [
  { type: "reasoning.summary", summary: "s", format: "openai-responses-v1", id: "rs_host", index: 0 },
  { type: "reasoning.encrypted", data: "gAAAA", format: "openai-responses-v1", id: "rs_host", index: 0 },
  { type: "reasoning.text", text: "t", signature: "c2ln", format: "anthropic-claude-v1", index: 1 },
]
const annotations = [
  { type: "url_citation", url_citation: { url: "https://a.org", title: "A", start_index: 0, end_index: 1 } },
]
const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } }]
const calls = [{ index: 0, id: "call_a", type: "function", function: { name: "f", arguments: "{}" } }]
const logprobs = {
  content: [{ token: "a", logprob: -0.5, bytes: [97], top_logprobs: [{ token: "b", logprob: -1, bytes: null }] }],
}
const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
const said = {
  content: "a",
  refusal: "no",
  reasoning: "t",
  reasoning_details: details,
  annotations,
  images,
  tool_calls: calls,
}

/** Everything that an answer may have, in one. */
const everything = () =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason: "tool_calls", logprobs }],
    usage,
  })

const streamedEverything = () =>
  sse([
    ...Object.entries(said).map(([name, value]) =>
      chunkOf({ delta: { [name]: value }, finish_reason: null, ...(name === "content" ? { logprobs } : {}) }),
    ),
    chunkOf({ delta: {}, finish_reason: "tool_calls" }),
    JSON.stringify({ choices: [], usage }),
    "[DONE]",
  ])

const cut = () =>
  sse([
    chunkOf({ delta: { content: "a" }, finish_reason: null }),
    chunkOf({ delta: {}, finish_reason: "length" }),
    "[DONE]",
  ])

describe("the router's SDK, by responses", () => {
  const host = scriptedHost((body) => {
    const text = JSON.stringify(body["messages"])
    if (text.includes("long")) return cut()
    return body["stream"] === true ? streamedEverything() : everything()
  })
  const limited = scriptedHost(() => Response.json({ error: { message: "slow down" } }, { status: 429 }))
  let gateway: TestGateway
  let sdk: OpenRouter

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host, limited }) })
    sdk = new OpenRouter({ apiKey: gateway.key, serverURL: gateway.url, retryConfig: { strategy: "none" } })
  })
  afterAll(async () => {
    await gateway.stop()
    for (const each of [host, limited]) await each.stop()
  })

  const asked = (more: Partial<ResponsesRequest> = {}): ResponsesRequest => ({
    model: "acme/small",
    input: "hi",
    provider: { only: ["good"] },
    tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
    ...more,
  })

  const whole = async (more: Partial<ResponsesRequest> = {}): Promise<OpenResponsesResult> => {
    const answer = await sdk.beta.responses.send({ responsesRequest: { ...asked(more), stream: false } })
    if (!("output" in answer)) throw new Error("a stream where a whole answer was asked for")
    return answer
  }

  const stream = async (more: Partial<ResponsesRequest> = {}): Promise<ReadonlyArray<StreamEvents>> => {
    const events: Array<StreamEvents> = []
    const answer = await sdk.beta.responses.send({ responsesRequest: { ...asked(more), stream: true } })
    if ("output" in answer) throw new Error("a whole answer where a stream was asked for")
    for await (const event of answer) events.push(event)
    return events
  }

  const kinds = ["message", "reasoning", "image_generation_call", "function_call"]

  test("a whole answer with everything in it", async () => {
    const answer = await whole()
    expect(new Set(answer.output.map(({ type }) => type as string))).toEqual(new Set(kinds))
    expect(answer).toMatchObject({
      status: "completed",
      outputText: "a",
      usage: {
        inputTokens: 10,
        inputTokensDetails: { cachedTokens: 4 },
        outputTokens: 5,
        cost: 0.00002,
        isByok: false,
      },
    })
  })

  test("a stream with everything in it: the SDK knows every event", async () => {
    const events = await stream()
    expect(events.filter((event) => "isUnknown" in event)).toEqual([])
    const last = events.at(-1)
    if (last?.type !== "response.completed") throw new Error(`not completed but ${last?.type}`)
    expect(new Set(last.response.output.map(({ type }) => type as string))).toEqual(new Set(kinds))
    expect(last.response.usage).toMatchObject({ cost: 0.00002 })
  })

  test("an answer that ends for length", async () => {
    const last = (await stream({ input: "long" })).at(-1)
    expect(last).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incompleteDetails: { reason: "max_output_tokens" } },
    })
  })

  test("output of one turn is input of the next", async () => {
    const first = await whole()
    const input = [
      { role: "user" as const, content: "hi" },
      ...first.output,
      { type: "function_call_output" as const, callId: "call_a", output: "1" },
    ] as unknown as ResponsesRequest["input"]
    await whole({ input })
    const messages = host.calls.at(-1)?.body["messages"] as ReadonlyArray<Record<string, unknown>>
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
    expect(messages[1]).toMatchObject({ images, tool_calls: [{ id: "call_a" }], reasoning_details: details })
  })

  test("errors are those that the SDK knows", async () => {
    const bad = sdk.beta.responses.send({ responsesRequest: asked({ previousResponseId: "resp_1" }) })
    await expect(bad).rejects.toBeInstanceOf(errors.BadRequestResponseError)
    const busy = sdk.beta.responses.send({ responsesRequest: asked({ provider: { only: ["limited"] } }) })
    await expect(busy).rejects.toBeInstanceOf(errors.TooManyRequestsResponseError)
  })
})
