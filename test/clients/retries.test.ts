/** How often the SDKs repeat a request that failed: they obey `x-should-retry` before they look at the status. docs/errors.md#agents */
import { afterAll, beforeAll, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { requestsOf } from "../support/clients/requestsOf.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const messages = [{ role: "user" as const, content: "hi" }]

/** Asks with the SDK's own number of repetitions. Returns the status at its end, and how many requests were sent. */
const clients = {
  openai: async (key: string, counted: typeof fetch, model = "headgate/echo") => {
    const client = new OpenAI({ apiKey: key, baseURL: gateway.url, fetch: counted })
    await client.chat.completions.create({ model, messages })
  },
  anthropic: async (key: string, counted: typeof fetch, model = "headgate/echo") => {
    const client = new Anthropic({ apiKey: key, baseURL: gateway.url.replace(/\/v1$/, ""), fetch: counted })
    await client.messages.create({ model, messages, max_tokens: 16 })
  },
}

test.each(Object.entries(clients))(
  "%s repeated a request twice within seconds against a limit of an hour: now it stops",
  async (_name, ask) => {
    const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } })
    expect(await requestsOf((counted) => ask(key, counted))).toEqual({ status: 200, requests: 1 })
    expect(await requestsOf((counted) => ask(key, counted))).toEqual({ status: 429, requests: 1 })
  },
)

test.each(Object.entries(clients))("%s repeats nothing that stays wrong", async (_name, ask) => {
  expect(await requestsOf((counted) => ask("sk-gw-nobody", counted))).toEqual({ status: 401, requests: 1 })
  expect(await requestsOf((counted) => ask(gateway.key, counted, "acme/none"))).toEqual({ status: 400, requests: 1 })
  expect(await requestsOf((counted) => ask(gateway.managementKey, counted))).toEqual({ status: 403, requests: 1 })
})
