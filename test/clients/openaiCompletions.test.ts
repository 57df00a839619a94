/** The official client of the legacy completions form against a started gateway, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI, { APIError } from "openai"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"

const contentOf = ({ messages }: Record<string, unknown>): string =>
  String(Array.isArray(messages) && messages[0]?.content)

describe("the openai client, completions", () => {
  const host = scriptedHost((body) =>
    body["stream"] === true
      ? streamAnswer(contentOf(body).match(/\s*\S+/g) ?? [])
      : wholeAnswer(`after: ${contentOf(body)}`),
  )
  let gateway: TestGateway
  let client: OpenAI

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host }) })
    client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  test("a whole answer", async () => {
    const asked = client.completions.create({ model: "acme/small", prompt: "Once", max_tokens: 9, stop: ["\n"] })
    const { data, response } = await asked.withResponse()
    expect(data).toMatchObject({
      id: expect.stringMatching(/^gen-\d{10}-[A-Za-z0-9]{20}$/),
      object: "text_completion",
      created: expect.any(Number),
      model: "acme/small",
      choices: [{ index: 0, text: "after: Once", logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    })
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect(host.calls.at(-1)?.body).toEqual({
      model: "upstream",
      messages: [{ role: "user", content: "Once" }],
      max_tokens: 9,
      stop: ["\n"],
      stream: false,
    })
  })

  test("a stream, with its usage on the last chunk", async () => {
    const stream = await client.completions.create({
      model: "acme/small",
      prompt: ["one two three"],
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: Array<OpenAI.Completion> = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]?.text)).toEqual(["one", " two", " three", "", undefined])
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? null)).toEqual([null, null, null, "stop", null])
    expect(new Set(chunks.map(({ id, object }) => `${id} ${object}`)).size).toBe(1)
    expect(chunks.map(({ usage }) => usage?.total_tokens)).toEqual([undefined, undefined, undefined, undefined, 15])
  })

  test("a prompt in tokens is refused", async () => {
    const refused = await client.completions.create({ model: "acme/small", prompt: [1, 2, 3] }).catch((cause) => cause)
    expect(refused).toBeInstanceOf(APIError)
    expect([refused.status, refused.message]).toEqual([400, expect.stringContaining("prompt: is a list of tokens")])
  })
})
