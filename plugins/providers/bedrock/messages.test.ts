import { describe, expect, test } from "bun:test"
import type { JsonObject } from "headgate/plugin"
import { encodedBy, hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { messages } from "./messages.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"
const user = { role: "user", content: "Hi" }

const head = { status: 200, headers: new Headers() }
const context = (model: string) => ({ request: requestWith({}), host: hostFor(model) })

describe("Claude by InvokeModel", () => {
  const invoked = (body: JsonObject, more: Anything = {}): Anything =>
    encodedBy(messages, requestWith({ messages: [user], ...body }, more), hostFor(claude))

  test("the model is in the path, the version in the body, and what Bedrock refuses is named", () => {
    const whole = invoked({ temperature: 0.5, service_tier: "auto", anthropic_beta: ["x"] }, { maxTokens: 9 })
    expect(whole.path).toBe(`/model/${encodeURIComponent(claude)}/invoke`)
    expect(whole.headers).toBeUndefined()
    expect(whole.body).toEqual({
      anthropic_version: "bedrock-2023-05-31",
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      temperature: 0.5,
    })
    expect(whole.dropped).toEqual(["anthropic_beta", "service_tier"])
    const streamed = invoked({}, { stream: true })
    expect(streamed.path).toBe(`/model/${encodeURIComponent(claude)}/invoke-with-response-stream`)
    expect(streamed.body.stream).toBeUndefined()
  })

  test("its thinking is that of its model", () => {
    expect(invoked({ reasoning: { max_tokens: 2000 } }).body.thinking).toEqual({ type: "enabled", budget_tokens: 2000 })
  })

  const decoder = () => messages.decoder(head, context(claude))

  test.each([
    ["exception:modelStreamErrorException", { message: "m" }, "overloaded"],
    ["exception:throttlingException", { message: "m" }, "rate-limited"],
    ["chunk", {}, "malformed"],
    ["chunk", { bytes: Buffer.from("{").toString("base64") }, "malformed"],
    [
      "chunk",
      { bytes: Buffer.from('{"type":"error","error":{"type":"overloaded_error"}}').toString("base64") },
      "overloaded",
    ],
  ])("%s %j is %s", (name, data, reason) => expect(decoder().event(name, data)).toMatchObject({ reason }))

  test("a guardrail's intervention is a finish by the filter of content, whole and streamed", () => {
    const told = { "amazon-bedrock-guardrailAction": "INTERVENED" }
    const finish = { finish_reason: "content_filter", native_finish_reason: "guardrail_intervened" }
    const content = [{ type: "text", text: "Blocked." }]
    const body = {
      type: "message",
      role: "assistant",
      content,
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    expect(messages.decode(head, { ...body, ...told }, context(claude))).toMatchObject({ choices: [finish] })
    const chunk = (event: object) =>
      decoding.event("chunk", { bytes: Buffer.from(JSON.stringify(event)).toString("base64") })
    const decoding = decoder()
    chunk({ type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } })
    const ended = [
      chunk({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }),
      chunk({ type: "message_stop", ...told }),
    ].flat()
    const finishes = ended
      .flatMap((one) => ("choices" in one ? one.choices : []))
      .filter((one) => one.finish_reason !== null)
    expect(finishes.at(-1)).toMatchObject(finish)
  })

  test("events of other names are passed over", () => expect(decoder().event("of-tomorrow", {})).toEqual([]))
})
