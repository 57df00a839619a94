/**
 * Answers with status 200 that are beyond a limit of ours, in every form of callers and hosts: each was a free 502, without a row, and every
 * host of the model was called for it. docs/guarantees.md#g5 and #g10
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { toUsd } from "../../../src/domain/price/money.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"

const longest = 100_000
const nested = (): unknown => JSON.parse(`${"[".repeat(70)}${"]".repeat(70)}`)
const long = "x".repeat(2 * longest)
const event = (name: string, data: JsonObject): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`
const data = (json: JsonObject): string => `data: ${JSON.stringify(json)}\n\n`

interface Spoken {
  readonly plugin: string
  readonly host?: JsonObject
  /** An answer with this text and this input of a tool call. */
  readonly whole: (text: string, input: unknown) => JsonObject
  readonly stream: (text: string, input: unknown) => string
}

const chatUsage = { prompt_tokens: 30, completion_tokens: 12 }
const messagesUsage = { input_tokens: 30, output_tokens: 12 }
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null }
const block = (input: unknown) => ({ type: "tool_use", id: "toolu_1", name: "f", input })
const candidate = (text: string, input: unknown) => ({
  candidates: [
    {
      index: 0,
      content: { role: "model", parts: [{ text }, { functionCall: { name: "f", args: { input } } }] },
      finishReason: "STOP",
    },
  ],
  usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 12, totalTokenCount: 42 },
})
const response = (text: string, input: unknown) => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  model: "m",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [input] }],
    },
  ],
  usage: { input_tokens: 30, output_tokens: 12, total_tokens: 42 },
})

const protocols: Readonly<Record<string, Spoken>> = {
  chat: {
    plugin: "openai-compatible",
    whole: (content, input) => ({
      choices: [{ index: 0, message: { role: "assistant", content, more: input }, finish_reason: "stop" }],
      usage: chatUsage,
    }),
    stream: (content, input) =>
      `${data({
        choices: [{ index: 0, delta: { role: "assistant", content, more: input }, finish_reason: "stop" }],
        usage: chatUsage,
      })}data: [DONE]\n\n`,
  },
  messages: {
    plugin: "anthropic",
    whole: (text, input) => ({
      ...message,
      content: [{ type: "text", text }, block({ input })],
      stop_reason: "tool_use",
      usage: messagesUsage,
    }),
    stream: (text, input) =>
      event("message_start", {
        message: { ...message, content: [], stop_reason: null, usage: { ...messagesUsage, output_tokens: 1 } },
      }) +
      event("content_block_start", { index: 0, content_block: block({ input, text }) }) +
      event("message_delta", {
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 12 },
      }) +
      event("message_stop", {}),
  },
  gemini: {
    plugin: "google-ai-studio",
    whole: candidate,
    stream: (text, input) => data(candidate(text, input)),
  },
  responses: {
    plugin: "openai",
    host: { api: "responses" },
    whole: response,
    stream: (text, input) => event("response.completed", { response: response(text, input) }),
  },
}

const clients: Readonly<Record<string, (model: string, stream: boolean) => readonly [string, JsonObject]>> = {
  chat: (model, stream) => [
    "/chat/completions",
    { model, stream, max_tokens: 1000, messages: [{ role: "user", content: "hi" }] },
  ],
  completions: (model, stream) => ["/completions", { model, stream, max_tokens: 1000, prompt: "hi" }],
  messages: (model, stream) => [
    "/messages",
    { model, stream, max_tokens: 1000, messages: [{ role: "user", content: "hi" }] },
  ],
  responses: (model, stream) => ["/responses", { model, stream, max_output_tokens: 1000, input: "hi" }],
}

const bounds: Readonly<Record<string, readonly [text: string, input: unknown]>> = {
  depth: ["hello", nested()],
  length: [long, []],
}

const hosts: Array<ScriptedHost> = []
let says: (protocol: string, stream: boolean) => Response = () => new Response("", { status: 500 })
let gateway: TestGateway
let account: TestAccount

beforeAll(async () => {
  const providers: Record<string, JsonObject> = {}
  for (const [name, { plugin }] of Object.entries(protocols)) {
    for (const place of ["first", "second"]) {
      const host = scriptedHost((body, request) =>
        says(name, body["stream"] === true || request.url.includes("streamGenerateContent")),
      )
      hosts.push(host)
      providers[`${name}-${place}`] = { plugin, base_url: host.url, network: "private", api_key: "k" }
    }
  }
  gateway = await startGateway({
    config: {
      providers,
      models: Object.entries(protocols).map(([name, { host = {} }]) => ({
        id: `acme/${name}`,
        context_length: 100_000,
        hosts: ["first", "second"].map((place) => ({
          provider: `${name}-${place}`,
          model: name === "messages" ? "claude-sonnet-4-5" : name === "gemini" ? "gemini-2.5-flash" : "upstream",
          pricing: { prompt: "0.000001", completion: "0.000002" },
          max_completion_tokens: 4096,
          ...host,
        })),
      })),
      limits: { body_bytes: longest },
    },
  })
  account = await openAccount(gateway)
})

afterAll(async () => {
  await gateway.stop()
  for (const host of hosts) await host.stop()
})

const calls = (): number => hosts.reduce((sum, host) => sum + host.calls.length, 0)

const ask = (client: string, model: string, stream: boolean): Promise<Response> => {
  const [path, body] = clients[client]?.(model, stream) ?? ["/", {}]
  return gateway.call(path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${account.secret}` },
    body: JSON.stringify(body),
  })
}

const cases = Object.keys(clients).flatMap((client) =>
  Object.keys(protocols).flatMap((protocol) =>
    Object.keys(bounds).flatMap((bound) =>
      [false, true].map((stream) => [client, protocol, stream ? "a stream" : "whole", bound] as const),
    ),
  ),
)

describe("an answer beyond a limit was free and had no row, and every host was called for it", () => {
  test.each(cases)(
    "%s from a host of %s, %s, beyond %s: 502, one call, charged as told",
    async (client, protocol, how, bound) => {
      const [text, input] = bounds[bound] ?? ["", null]
      const spoken = protocols[protocol]
      says = (name, stream) => {
        if (name !== protocol || spoken === undefined) return new Response("", { status: 500 })
        if (!stream) return Response.json(spoken.whole(text, input))
        return new Response(spoken.stream(text, input), { headers: { "content-type": "text/event-stream" } })
      }
      const callsBefore = calls()
      const rowsBefore = (await account.rows()).length
      const answer = await ask(client, `acme/${protocol}`, how !== "whole")
      const { error } = (await answer.json()) as { readonly error: JsonObject }
      const rows = await account.rows()
      const [row] = rows
      expect([answer.status, calls() - callsBefore, rows.length - rowsBefore]).toEqual([502, 1, 1])
      expect(row).toMatchObject({ outcome: "cut", waived: null })
      const cost = toUsd(row?.cost ?? 0n)
      expect(cost).toBeGreaterThan(0)
      // What the reservation would have paid for is the most.
      expect(cost).toBeLessThan(0.003)
      if (bound === "depth" && (how === "whole" || protocol !== "messages"))
        expect(row).toMatchObject({ estimated: false, promptTokens: 30, completionTokens: 12 })
      const metadata = isJsonObject(error["metadata"]) ? error["metadata"] : {}
      expect([Number(answer.headers.get("x-gw-cost-usd")), metadata["cost"]]).toEqual([cost, cost])
      expect(answer.headers.get("x-should-retry")).toBe("false")
      expect(await account.reserved()).toBe(0n)
    },
  )
})

describe("what is beyond a limit and no answer is a failure of the host, and free", () => {
  test.each([
    ["endless lists", () => new Response("[],".repeat(longest), { headers: { "content-type": "application/json" } })],
    ["endless text", () => new Response("x".repeat(2 * longest), { headers: { "content-type": "text/event-stream" } })],
  ])("%s: every host is called", async (_, garbage) => {
    says = garbage
    for (const stream of [false, true]) {
      const callsBefore = calls()
      const rowsBefore = (await account.rows()).length
      const answer = await ask("chat", "acme/chat", stream)
      expect([answer.status, calls() - callsBefore, (await account.rows()).length - rowsBefore]).toEqual([502, 2, 0])
      await answer.text()
    }
  })
})
