/**
 * Hosts that speak Google's protocol behind a real gateway: callers of three forms, whole and streamed, whose second turn gives
 * the first answer back as it came. What Google signed has to reach it again, at the parts that it signed.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import type { GatewayConfigInput } from "../../../src/config/GatewayConfig.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { postResponses, responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { ask, assembled, eventsOf } from "../../support/hosts/messages.ts"

// Answers are compared, so a wrong shape fails the test.
// biome-ignore lint/suspicious/noExplicitAny: as above
type Anything = any

const usageMetadata = {
  promptTokenCount: 20,
  cachedContentTokenCount: 8,
  candidatesTokenCount: 9,
  thoughtsTokenCount: 11,
  totalTokenCount: 40,
}

/** The first answer: a thought, a signed text, two calls of which the first is signed. */
const parts = [
  { text: "Both towns.", thought: true },
  { text: "Let me look. ", thoughtSignature: "c2lnbmVkLXRleHQ+/==" },
  { functionCall: { id: "f1", name: "weather", args: { town: "Bern" } }, thoughtSignature: "c2lnbmVkLWNhbGw+/w==" },
  { functionCall: { id: "f2", name: "weather", args: { town: "Oslo" } } },
]

const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\r\n\r\n`

const answerTo = (body: Anything, stream: boolean): Response => {
  const isSecond = body.contents.length > 1
  const said: ReadonlyArray<JsonObject> = isSecond ? [{ text: "Sunny." }] : parts
  const candidate = (content: ReadonlyArray<JsonObject>, more: JsonObject = {}) => ({
    candidates: [{ content: { role: "model", parts: content }, ...more }],
  })
  if (!stream) return Response.json({ ...candidate(said, { finishReason: "STOP" }), usageMetadata })
  const events = said.map((part) => event(candidate([part])))
  events.push(event({ ...candidate([], { finishReason: "STOP" }), usageMetadata }))
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } })
}

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

let host: ScriptedHost
let tokens: ReturnType<typeof Bun.serve>
let gateway: TestGateway

const pricing = { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000005" }
const model = (slug: string, name: string) => ({
  id: `google/${slug}`,
  context_length: 100_000,
  hosts: [{ provider: slug, model: name, pricing, max_completion_tokens: 5000 }],
})

const vector = (id: string, provider: string, name: string) => ({
  id,
  context_length: 2048,
  architecture: { output_modalities: ["embeddings"] },
  hosts: [{ provider, model: name, pricing: { prompt: "0.000001", completion: "0" } }],
})

beforeAll(async () => {
  host = scriptedHost((body: Anything, request) => {
    const { pathname } = new URL(request.url)
    if (body.requests) return Response.json({ embeddings: body.requests.map(() => ({ values: [0.5, 0.25] })) })
    if (pathname.endsWith(":generateContent")) return answerTo(body, false)
    if (pathname.endsWith(":streamGenerateContent")) return answerTo(body, true)
    return new Response(null, { status: 404 })
  })
  tokens = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ access_token: "ya29.token", expires_in: 3600, token_type: "Bearer" }),
  })
  const credentials = JSON.stringify({
    ...{ type: "service_account", project_id: "acme-1", private_key: privateKey },
    ...{ client_email: "g@acme-1.iam.gserviceaccount.com", token_uri: `http://127.0.0.1:${tokens.port}/token` },
  })
  const base = { base_url: host.url, network: "private" as const }
  const config: GatewayConfigInput = {
    providers: {
      "google-ai-studio": { ...base, api_key: "AIza-check" },
      "google-vertex": { ...base, credentials },
    },
    models: [
      model("google-ai-studio", "gemini-3.5-flash"),
      model("google-vertex", "gemini-3-pro-preview"),
      vector("google/vectors", "google-ai-studio", "gemini-embedding-001"),
    ],
  }
  gateway = await startGateway({ config })
})
afterAll(async () => {
  await gateway.stop()
  await tokens.stop(true)
  await host.stop()
})

const schema = { type: "object", properties: { town: { type: "string" } } }

/** What the host got as the second turn's model part, and the results. */
const secondTurn = (): Anything => {
  const { contents } = (host.calls.at(-1)?.body ?? {}) as Anything
  return contents.slice(1)
}

const expectedSecond = [
  { role: "model", parts },
  {
    role: "user",
    parts: [
      { functionResponse: { id: "f1", name: "weather", response: { result: "sunny in Bern" } } },
      { functionResponse: { id: "f2", name: "weather", response: { result: "sunny in Oslo" } } },
    ],
  },
]

const path = {
  "google-ai-studio": "/models/gemini-3.5-flash",
  "google-vertex": "/publishers/google/models/gemini-3-pro-preview",
}

describe.each([
  ["google-ai-studio", false],
  ["google-ai-studio", true],
  ["google-vertex", false],
  ["google-vertex", true],
] as const)("%s, stream %p", (slug, stream) => {
  const name = `google/${slug}`
  const method = stream ? ":streamGenerateContent?alt=sse" : ":generateContent"

  test("a caller of the chat form", async () => {
    const tools = [{ type: "function", function: { name: "weather", parameters: schema } }]
    const body = { model: name, stream, tools, reasoning: { effort: "low" }, max_tokens: 900 }
    const asked = { role: "user", content: "Bern and Oslo?" }
    const first = await gateway.chat({ ...body, messages: [asked] })
    const { message, finish, usage } = stream ? await joined(first) : await whole(first)
    const call = host.calls.at(-1)
    expect(call?.request.url).toBe(`${host.url}${path[slug]}${method}`)
    const credential = slug === "google-vertex" ? "authorization" : "x-goog-api-key"
    expect(call?.request.headers.get(credential)).toBe(slug === "google-vertex" ? "Bearer ya29.token" : "AIza-check")
    expect(call?.body).toMatchObject({
      generationConfig: { maxOutputTokens: 900, thinkingConfig: { includeThoughts: true, thinkingLevel: "low" } },
      tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: schema }] }],
    })
    expect([message.content, message.reasoning, finish]).toEqual(["Let me look. ", "Both towns.", "tool_calls"])
    // 12 ordinary tokens, 8 from the cache, 20 of output.
    expect(usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 20, total_tokens: 40, cost: 0.000056 })
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(11)
    const results = message.tool_calls.map((called: Anything) => ({
      role: "tool",
      tool_call_id: called.id,
      content: `sunny in ${JSON.parse(called.function.arguments).town}`,
    }))
    const second = await gateway.chat({ ...body, messages: [asked, message, ...results] })
    expect((stream ? await joined(second) : await whole(second)).message.content).toBe("Sunny.")
    expect(secondTurn()).toEqual(expectedSecond)
  })

  test("a caller of the Messages form", async () => {
    const tools = [{ name: "weather", input_schema: schema }]
    const body = { model: name, max_tokens: 5000, stream, tools, thinking: { type: "enabled", budget_tokens: 2000 } }
    const asked = { role: "user", content: "Bern and Oslo?" }
    const read = async (response: Response): Promise<Anything> =>
      stream ? assembled(await eventsOf(response)) : await response.json()
    const { content, stop_reason } = await read(await ask(gateway, { ...body, messages: [asked] }))
    expect(stop_reason).toBe("tool_use")
    const results = content
      .filter(({ type }: Anything) => type === "tool_use")
      .map(({ id, input }: Anything) => ({ type: "tool_result", tool_use_id: id, content: `sunny in ${input.town}` }))
    const messages = [asked, { role: "assistant", content }, { role: "user", content: results }]
    const second = await read(await ask(gateway, { ...body, messages }))
    expect(second.content).toMatchObject([{ type: "text", text: "Sunny." }])
    expect(secondTurn()).toEqual(expectedSecond)
  })

  test.each([true, false])("a caller of the Responses form, who keeps all members: %p", async (keepsAll) => {
    const tools = [{ type: "function", name: "weather", parameters: schema }]
    const post = async (input: ReadonlyArray<unknown>): Promise<Anything> => {
      const include = ["reasoning.encrypted_content"]
      const reasoning = { effort: "low" }
      const response = await postResponses(gateway, { model: name, input, tools, stream, include, reasoning })
      return stream ? (await responsesStreamOf(response)).response : responseOf(response)
    }
    const asked = { role: "user", content: "Bern and Oslo?" }
    const { output } = await post([asked])
    const results = output
      .filter(({ type }: Anything) => type === "function_call")
      .map(({ call_id, arguments: given }: Anything) => ({
        type: "function_call_output",
        call_id,
        output: `sunny in ${JSON.parse(given).town}`,
      }))
    // Clients of the vendor's form give back the members that it has.
    const kept = ({ format: _, signature: __, ...item }: Anything) => item
    const second = await post([asked, ...(keepsAll ? output : output.map(kept)), ...results])
    expect(second.output_text).toBe("Sunny.")
    // A thought that is not signed is a text that only a caller with all members can give back as Google's.
    const first = keepsAll ? parts : parts.filter((part) => !("thought" in part))
    expect(secondTurn()[0].parts.filter((part: Anything) => keepsAll || !part.thought)).toEqual(first)
    expect(secondTurn()[1]).toEqual(expectedSecond[1])
  })
})

test("embeddings", async () => {
  const response = await gateway.call("/embeddings", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "google/vectors", input: ["a", "b"], dimensions: 2 }),
  })
  const { data, usage }: Anything = await response.json()
  expect(data.map(({ index, embedding }: Anything) => [index, embedding])).toEqual([
    [0, [0.5, 0.25]],
    [1, [0.5, 0.25]],
  ])
  expect(usage.prompt_tokens).toBeGreaterThan(0)
  expect(host.calls.at(-1)?.request.url).toBe(`${host.url}/models/gemini-embedding-001:batchEmbedContents`)
})

const whole = async (response: Response): Promise<Anything> => {
  const { choices, usage }: Anything = await response.json()
  return { message: choices[0].message, finish: choices[0].finish_reason, usage }
}

/** A stream as a caller puts it together. */
const joined = async (response: Response): Promise<Anything> => {
  const message: Anything = { role: "assistant", content: "", reasoning: "", reasoning_details: [], tool_calls: [] }
  let finish: unknown
  let usage: Anything
  for (const line of (await response.text()).split("\n")) {
    if (!line.startsWith("data: {")) continue
    const chunk: Anything = JSON.parse(line.slice(6))
    usage = chunk.usage ?? usage
    for (const { delta, finish_reason } of chunk.choices) {
      message.content += delta.content ?? ""
      message.reasoning += delta.reasoning ?? ""
      message.reasoning_details.push(...(delta.reasoning_details ?? []))
      message.tool_calls.push(...(delta.tool_calls ?? []).map(({ index: _, ...call }: Anything) => call))
      finish = finish_reason ?? finish
    }
  }
  return { message, finish, usage }
}
