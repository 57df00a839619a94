/**
 * Answers that their host does not finish here: a response in the background goes on, is billed and cannot be fetched.
 * docs/guarantees.md#g5
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { streamOf as chatStreamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { eventsOf, message, responseObject, streamOf } from "../../support/hosts/responsesHost.ts"

let gateway: TestGateway
let host: ScriptedHost
let answer: (body: Record<string, unknown>) => Response

beforeAll(async () => {
  host = scriptedHost((body) => answer(body))
  gateway = await startGateway({
    config: {
      providers: { openai: { base_url: host.url, network: "private", api_key: "key-of-openai" } },
      models: [
        {
          id: "acme/small",
          context_length: 8192,
          hosts: [
            {
              provider: "openai",
              model: "gpt-5-mini",
              api: "responses",
              pricing: { prompt: "0.000001", completion: "0.000002" },
              max_completion_tokens: 4096,
            },
          ],
        },
      ],
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const prompt = { messages: [{ role: "user", content: "Hello" }] }
const queued = (status: string): JsonObject => responseObject([], { status, background: true, usage: null })

/** Picodollars of 50 output tokens, and of as many prompt tokens as the sent body has bytes, with 16 for the message. */
const boundOf = (output: number): bigint => {
  const sent = Buffer.byteLength(JSON.stringify(host.calls.at(-1)?.body))
  return BigInt(sent + 16) * 1_000_000n + BigInt(output) * 2_000_000n
}

describe("a response that its host queues", () => {
  test.each([
    ["queued", "with a limit", 1_000_000_000_000n],
    ["queued", "without a limit", null],
    ["in_progress", "without a limit", null],
  ] as const)(
    "with status %s, for a key %s: an answer that costs the most that it can, in a row of the ledger",
    async (status, _name, limit) => {
      answer = () => Response.json(queued(status))
      const account = await openAccount(gateway, { limit })
      const response = await account.chat({ ...prompt, max_tokens: 50 })
      expect(await wholeBodyOf(response)).toMatchObject({
        choices: [{ finish_reason: "length", native_finish_reason: status, message: { content: "" } }],
        usage: { completion_tokens: 50 },
      })
      expect(await account.rows()).toMatchObject([
        { outcome: "finished", estimated: true, waived: null, cost: boundOf(50), upstreamCost: boundOf(50) },
      ])
    },
  )

  test("without a bound on its output: as many tokens as the host allows", async () => {
    answer = () => Response.json(queued("queued"))
    const account = await openAccount(gateway, { limit: null })
    await account.chat(prompt)
    expect(await account.rows()).toMatchObject([{ completionTokens: 4096, cost: boundOf(4096) }])
  })

  test("ten times opens no breaker: others are served", async () => {
    const account = await openAccount(gateway)
    for (let at = 0; at < 10; at++) {
      answer = () => Response.json(queued("queued"))
      expect((await account.chat({ ...prompt, max_tokens: 50 })).status).toBe(200)
    }
    answer = () => Response.json(responseObject([message("Hi")]))
    expect(await wholeBodyOf(await account.chat(prompt))).toMatchObject({ choices: [{ message: { content: "Hi" } }] })
  })

  test("streamed: the end of its events is no end of it", async () => {
    const started = queued("queued")
    answer = () =>
      streamOf([
        { type: "response.created", response: started },
        { type: "response.queued", response: started },
      ])
    const account = await openAccount(gateway)
    const { last } = await chatStreamOf(await account.chat({ ...prompt, max_tokens: 50, stream: true }))
    expect(last).toMatchObject({ choices: [{ finish_reason: "length", native_finish_reason: "queued" }] })
    expect(await account.rows()).toMatchObject([{ outcome: "finished", estimated: true, cost: boundOf(50) }])
  })

  test("streamed to its end: by the host's own count", async () => {
    answer = () => {
      const events = eventsOf([message("Hi")], { background: true })
      return streamOf([
        ...events.slice(0, 1),
        { type: "response.queued", response: queued("queued") },
        ...events.slice(1),
      ])
    }
    const account = await openAccount(gateway)
    await (await account.chat({ ...prompt, max_tokens: 50, stream: true })).text()
    expect(await account.rows()).toMatchObject([{ estimated: false, promptTokens: 20, completionTokens: 12 }])
  })

  test("to a request for a stream, as one JSON object", async () => {
    answer = () => Response.json(queued("queued"))
    const account = await openAccount(gateway)
    const { last } = await chatStreamOf(await account.chat({ ...prompt, max_tokens: 50, stream: true }))
    expect(last).toMatchObject({ choices: [{ finish_reason: "length", native_finish_reason: "queued" }] })
    expect(await account.rows()).toMatchObject([{ outcome: "finished", estimated: true, cost: boundOf(50) }])
  })
})

/** Host and terminal event disagree in apfel#412 (2026-09-06). */
describe.each(["in_progress", "queued"])("an answer that has ended while its host calls it %s", (status) => {
  const whole = responseObject([message("Hi")], { status })
  const end = { type: "response.completed", response: whole, sequence_number: 7 }
  const paths = ["chat/completions", "messages", "responses"] as const

  test.each(paths)("is booked with its usage, and has finished: /%s", async (path) => {
    for (const stream of [false, true]) {
      answer = () => (stream ? streamOf([...eventsOf([message("Hi")]).slice(0, -1), end]) : Response.json(whole))
      const account = await openAccount(gateway)
      const body = path === "responses" ? { input: "Hello" } : { ...prompt, max_tokens: 50 }
      const text = await (
        await gateway.call(`/${path}`, {
          method: "POST",
          body: JSON.stringify({ model: "acme/small", stream, ...body }),
          headers: { authorization: `Bearer ${account.secret}`, "content-type": "application/json" },
        })
      ).text()
      expect(text).toMatch(/"finish_reason":"stop"|"stop_reason":"end_turn"|"status":"completed"/)
      if (path === "responses")
        expect(text.split('"type":"response.completed"').at(-1)).not.toContain(`"status":"${status}"`)
      expect(await account.rows()).toMatchObject([
        { outcome: "finished", estimated: false, promptTokens: 20, completionTokens: 12 },
      ])
    }
  })
})

test("a whole answer to a request for a stream is the stream of it", async () => {
  answer = () => Response.json(responseObject([message("Hi there")]))
  const account = await openAccount(gateway)
  const { text, last } = await chatStreamOf(await account.chat({ ...prompt, stream: true }))
  expect(text).toBe("Hi there")
  expect(last).toMatchObject({ choices: [{ finish_reason: "stop" }], usage: { completion_tokens: 12 } })
  expect(await account.rows()).toMatchObject([{ outcome: "finished", estimated: false }])
})

describe("background: true is refused with a sentence, and no host is called", () => {
  test.each([
    ["/chat/completions", prompt],
    ["/completions", { prompt: "Hello" }],
    ["/messages", { ...prompt, max_tokens: 50 }],
    ["/responses", { input: "Hello" }],
  ])("%s", async (path, body) => {
    const calls = host.calls.length
    const ask = (background: unknown) =>
      gateway.call(path, { method: "POST", body: JSON.stringify({ model: "acme/small", ...body, background }) })
    expect(await (await ask(true)).text()).toContain("background: must be false")
    expect(host.calls.length).toBe(calls)
    answer = () => Response.json(responseObject([message("Hi")]))
    for (const harmless of [false, null]) expect((await ask(harmless)).status).toBe(200)
  })
})
