/** `X-OpenRouter-Metadata: enabled`: the attempts that a request really took. */
import { describe, expect, test } from "bun:test"
import { OpenRouterMetadata$inboundSchema } from "@openrouter/sdk/models"
import { streamOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import {
  type Answer,
  answerAfter,
  ask,
  closeAfterEach,
  good,
  routed,
  silent,
  status,
} from "../../support/gateways/routed.ts"
import { chunkOf, heldStream } from "../../support/hosts/host.ts"
import { deadUrl } from "../../support/hosts/rawHost.ts"

closeAfterEach()

const enabled = { headers: { "x-openrouter-metadata": "enabled" } }

/** The metadata as the caller of a whole or a streamed answer gets it; checked as the public client checks it. */
const metadataOf = async (response: Response): Promise<unknown> => {
  const bodies = (response.headers.get("content-type") ?? "").startsWith("text/event-stream")
    ? dataOf(await response.text())
    : [(await response.json()) as Record<string, unknown>]
  const withIt = bodies.filter((body) => "openrouter_metadata" in body)
  expect(withIt).toEqual(bodies.slice(-1))
  const metadata = withIt[0]?.["openrouter_metadata"]
  expect(OpenRouterMetadata$inboundSchema.safeParse(metadata).error).toBeUndefined()
  return metadata
}

const dataOf = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)))

describe.each([false, true])("an answer (stream: %p)", (stream) => {
  test("has the attempts that were made, in their order", async () => {
    const gateway = await routed({ gone: deadUrl(), bad: status(500), fine: good(), spare: good() })
    const body = ask({ stream, provider: { ignore: ["spare"] } })
    expect(await metadataOf(await gateway.chat(body, enabled))).toEqual({
      requested: "acme/small",
      strategy: "direct",
      region: null,
      summary: "fine answered at attempt 3, of 3 that could be tried.",
      attempt: 3,
      is_byok: false,
      endpoints: {
        total: 4,
        available: [
          { provider: "gone", model: "acme/small", selected: false },
          { provider: "bad", model: "acme/small", selected: false },
          { provider: "fine", model: "acme/small", selected: true },
        ],
      },
      attempts: [
        { provider: "gone", model: "acme/small", status: 502 },
        { provider: "bad", model: "acme/small", status: 500 },
        { provider: "fine", model: "acme/small", status: 200 },
      ],
    })
  })

  test("says how the model was found", async () => {
    const gateway = await routed(
      { bad: status(500), other: good() },
      { models: { "acme/other": ["other"] }, aliases: { "other-one": "acme/other" } },
    )
    const found = async (more: Record<string, unknown>) =>
      (await metadataOf(await gateway.chat(ask({ stream, ...more }), enabled))) as Record<string, unknown>
    expect(await found({ models: ["acme/other"] })).toMatchObject({ strategy: "fallback", requested: "acme/small" })
    expect(await found({ model: "acme/other" })).toMatchObject({ strategy: "direct", requested: "acme/other" })
    expect(await found({ model: "other-one" })).toMatchObject({ strategy: "alias", requested: "other-one" })
  })

  test.each([
    ["no header", {}],
    ["disabled", { "x-openrouter-metadata": "disabled" }],
    ["another value", { "x-openrouter-metadata": "yes" }],
  ])("has none with %s", async (_, headers) => {
    const gateway = await routed({ bad: status(500), fine: good() })
    const text = await (await gateway.chat(ask({ stream }), { headers })).text()
    expect(text).not.toContain("openrouter_metadata")
  })

  test.each(["x-openrouter-metadata", "x-openrouter-experimental-metadata"])("%s in any case", async (name) => {
    const gateway = await routed({ fine: good() })
    expect(await metadataOf(await gateway.chat(ask({ stream }), { headers: { [name]: "Enabled" } }))).toMatchObject({
      attempt: 1,
    })
  })

  test("an error has it too, once there was a plan", async () => {
    const clock = new ManualClock()
    const limits = { deadline_ms: stream ? 10_000 : 1000, ttfb_ms: 1000 }
    const gateway = await routed({ a: status(503), b: silent }, { limits, clock })
    const asked = gateway.chat(ask({ stream }), enabled)
    const failed = await answerAfter(gateway, clock, asked, { calls: 2, milliseconds: 1200 })
    expect(failed.status).toBeGreaterThan(399)
    expect(await metadataOf(failed)).toMatchObject({
      attempts: stream
        ? [
            { provider: "a", status: 503 },
            { provider: "b", status: 408 },
          ]
        : [{ provider: "a", status: 503 }],
      endpoints: { total: 2, available: [{ selected: false }, { selected: false }] },
    })
    const refused = await gateway.chat(ask({ stream, provider: { only: ["nobody"] } }), enabled)
    expect(refused.status).toBe(404)
    expect(await refused.text()).not.toContain("openrouter_metadata")
  })
})

test("a stream that breaks off has it in the error", async () => {
  const begun = Promise.withResolvers<void>()
  const breaksOff: Answer = (_, request) => {
    const held = heldStream(request)
    held.send(chunkOf({ delta: { content: "a" }, finish_reason: null }))
    void begun.promise.then(() => held.send('{"error":{"message":"no"}}'))
    return held.response
  }
  const gateway = await routed({ bad: status(500), broken: breaksOff })
  const response = await gateway.chat(ask({ stream: true }), enabled)
  begun.resolve()
  expect(await metadataOf(response)).toMatchObject({
    attempt: 2,
    attempts: [
      { provider: "bad", status: 500 },
      { provider: "broken", status: 200 },
    ],
  })
})

test("the text of the answer is the same with it", async () => {
  const gateway = await routed({ fine: good("a b c") })
  expect((await streamOf(await gateway.chat(ask({ stream: true }), enabled))).text).toBe("a b c")
})
