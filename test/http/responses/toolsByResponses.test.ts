/**
 * Requests with tools for OpenAI's models from GPT-5.4 on, which `/chat/completions` refuses: they go by the Responses form,
 * whatever the client's format.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { message, responseObject } from "../../support/hosts/responsesHost.ts"

let gateway: TestGateway
let host: ScriptedHost

const price = { prompt: "0.000001", completion: "0.000002" }
interface ModelHost {
  readonly provider: string
  readonly model: string
  readonly api?: string
}

/** The host of each model that is called. The catalogue has others for some. */
const hosts: Readonly<Record<string, ModelHost>> = {
  "openai/gpt-5.4": { provider: "openai", model: "gpt-5.4" },
  "openai/gpt-5.6-sol": { provider: "azure", model: "our-deployment" },
  "ours/sol": { provider: "openai", model: "gpt-6.2-sol" },
  "ours/keys": { provider: "several", model: "gpt-6-astra" },
  "openai/gpt-5.2": { provider: "openai", model: "gpt-5.2" },
  "ours/old-name": { provider: "azure", model: "gpt-35-turbo" },
  "ours/named": { provider: "openai", model: "gpt-5.5", api: "chat" },
  "openai/gpt-5.5": { provider: "old", model: "gpt-5.5" },
}

const modelFor = (id: string, host: ModelHost) => ({ id, context_length: 8192, hosts: [{ pricing: price, ...host }] })

beforeAll(async () => {
  // As OpenAI does: tools are refused in the chat form.
  host = scriptedHost(({ input, tools }) => {
    if (input !== undefined) return Response.json(responseObject([message("Hi")]))
    if (tools !== undefined)
      return Response.json(
        { error: { message: "Function tools with reasoning_effort are not supported in /v1/chat/completions" } },
        { status: 400 },
      )
    const said = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }
    return Response.json({ choices: [said], usage: { prompt_tokens: 20, completion_tokens: 12 } })
  })
  const server = { base_url: host.url, network: "private" } as const
  const settings = { ...server, api_key: "k" }
  gateway = await startGateway({
    config: {
      providers: {
        openai: settings,
        azure: settings,
        old: { ...settings, plugin: "azure", api_version: "2025-04-01-preview" },
        several: { ...server, plugin: "openai", api_keys: [{ key: "k1" }, { key: "k2" }] },
      },
      models: Object.entries(hosts).map(([id, one]) => modelFor(id, one)),
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const schema = { type: "object", properties: {} }
const bodies: Readonly<Record<string, readonly [plain: JsonObject, tools: JsonObject]>> = {
  "/chat/completions": [
    { messages: [{ role: "user", content: "hi" }] },
    { tools: [{ type: "function", function: { name: "f", parameters: schema } }] },
  ],
  "/messages": [
    { messages: [{ role: "user", content: "hi" }], max_tokens: 100 },
    { tools: [{ name: "f", input_schema: schema }] },
  ],
  "/responses": [{ input: "hi" }, { tools: [{ type: "function", name: "f", parameters: schema }] }],
}

/** The status, and the path at the host. */
const asked = async (path: string, model: string, withTools: boolean) => {
  const [plain, tools] = bodies[path] ?? []
  const response = await gateway.call(path, {
    method: "POST",
    body: JSON.stringify({ model, ...plain, ...(withTools ? tools : {}) }),
    headers: { "content-type": "application/json", "x-gw-host": hosts[model]?.provider ?? "" },
  })
  const text = await response.text()
  const form = host.calls.at(-1)?.body["input"] === undefined ? "chat" : "responses"
  return { status: response.status, form, text }
}

describe.each(Object.keys(bodies))("a client of %s", (path) => {
  test.each(["openai/gpt-5.4", "openai/gpt-5.6-sol", "ours/sol", "ours/keys"])(
    "with tools is served by the Responses form, and without by that of chats: %s",
    async (model) => {
      const { status, form, text } = await asked(path, model, true)
      expect([status, form]).toEqual([200, "responses"])
      expect(text).toContain("Hi")
      expect(await asked(path, model, false)).toMatchObject({ status: 200, form: "chat" })
    },
  )

  test.each(["openai/gpt-5.2", "ours/old-name", "ours/named", "openai/gpt-5.5"])(
    "of earlier models, and where the configuration names the protocol, tools go by the form of chats: %s",
    async (model) => {
      expect((await asked(path, model, true)).form).toBe("chat")
    },
  )
})
