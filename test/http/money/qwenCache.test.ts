/** What Alibaba's prompt cache costs: one that was asked for, and the one that is always there. docs/guarantees.md#g5 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse } from "../../support/hosts/host.ts"

let gateway: TestGateway
let host: ScriptedHost
let usage: JsonObject = {}

const prices = { prompt: "0.000001", completion: "0.000002" }

beforeAll(async () => {
  host = scriptedHost(({ stream }) =>
    stream === true
      ? sse([
          chunkOf({ delta: { content: "fine" }, finish_reason: "stop" }),
          JSON.stringify({ choices: [], usage }),
          "[DONE]",
        ])
      : Response.json({
          choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }],
          usage,
        }),
  )
  const modelWith = (id: string, pricing: typeof prices & Record<string, string>) => ({
    id,
    context_length: 100_000,
    hosts: [{ provider: "alibaba", model: id, pricing, max_completion_tokens: 4096 }],
  })
  gateway = await startGateway({
    config: {
      providers: { alibaba: { plugin: "alibaba", base_url: host.url, network: "private", api_key: "k" } },
      models: [
        modelWith("qwen/plain", prices),
        modelWith("qwen/priced", { ...prices, input_cache_read: "0.0000002" }),
        modelWith("qwen/own", { ...prices, input_cache_read_explicit: "0.0000005" }),
      ],
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const costOf = async (model: string, details: JsonObject, stream: boolean): Promise<number> => {
  usage = { prompt_tokens: 2100, completion_tokens: 10, total_tokens: 2110, prompt_tokens_details: details }
  const response = await gateway.chat({ model, stream, messages: [{ role: "user", content: "hi" }] })
  expect(response.status).toBe(200)
  const [, cost] = /"cost":([0-9.e-]+)/.exec(await response.text()) ?? []
  return Number(cost)
}

const written = { cache_creation_input_tokens: 2000, cache_type: "ephemeral", cached_tokens: 0 }
const explicit = { cached_tokens: 2000, cache_type: "ephemeral" }
const implicit = { cached_tokens: 2000 }

test.each<[what: string, model: string, details: JsonObject, cost: number]>([
  ["a write is 1.25 of the prompt's price", "qwen/plain", written, 0.00262],
  ["an implicit read is 0.2", "qwen/plain", implicit, 0.00052],
  ["an explicit read is 0.1", "qwen/plain", explicit, 0.00032],
  ["an implicit read has the model's price", "qwen/priced", implicit, 0.00052],
  ["an explicit read is 0.1 beside the model's price of implicit ones", "qwen/priced", explicit, 0.00032],
  ["an explicit read has the operator's price", "qwen/own", explicit, 0.00112],
])("W3: %s", async (_, model, details, cost) => {
  for (const stream of [false, true]) expect(await costOf(model, details, stream)).toBeCloseTo(cost, 10)
})
