/** Google's clients at Google's hosts: the body passes, but for its bounds and what the host is not to get. */
import { beforeAll, describe, expect, test } from "bun:test"
import aiStudio from "../../../plugins/providers/google-ai-studio/index.ts"
import vertex from "../../../plugins/providers/google-vertex/index.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { readGenerateContentStream } from "../../../src/testing/grammar/generateContent.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { closeAfterAll, opened } from "../../support/gateways/watched.ts"
import { scriptedHost, sse } from "../../support/hosts/host.ts"
import { nativeAnswer } from "../../support/hosts/messages.ts"

closeAfterAll()

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15, trafficType: "ON_DEMAND" }
const candidate = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  usageMetadata,
})

let gateway: TestGateway
let sent: { readonly path: string; readonly body: JsonObject; readonly key: string | null }

beforeAll(async () => {
  const host = opened(
    scriptedHost((body, request) => {
      const { pathname, search } = new URL(request.url)
      sent = { path: pathname + search, body, key: request.headers.get("x-goog-api-key") }
      if (pathname.includes("anthropic")) return nativeAnswer([{ type: "text", text: "Hi" }])
      if (!pathname.includes("stream")) {
        return Response.json({
          ...candidate([{ text: "Hi" }], { finishReason: "OTHER", avgLogprobs: -1 }),
          modelVersion: "theirs",
        })
      }
      return sse([
        JSON.stringify(candidate([{ text: "A", thought: true }])),
        JSON.stringify(candidate([{ text: "B", thoughtSignature: "s" }], { finishReason: "MAX_TOKENS" })),
      ])
    }),
  )
  const at = { base_url: host.url, network: "private" as const, api_key: "operators" }
  const pricing = { prompt: "0.000001", completion: "0.000002" }
  const served = (id: string, provider: string, model: string) => ({
    ...{ id, context_length: 100_000 },
    hosts: [{ provider, model, pricing, max_completion_tokens: 1000 }],
  })
  gateway = opened(
    await startGateway({
      plugins: [aiStudio, vertex],
      config: {
        providers: { "google-ai-studio": at, "google-vertex": { ...at, project: "acme-1" } },
        models: [
          served("google/gemini-3-flash", "google-ai-studio", "gemini-3-flash"),
          served("acme/vertex", "google-vertex", "gemini-3-flash"),
          served("acme/claude", "google-vertex", "claude-sonnet-5@default"),
        ],
      },
    }),
  )
})

const postTo = (
  model: string,
  method: string,
  body: JsonObject,
  headers: Record<string, string> = {},
  query = "",
): Promise<Response> =>
  fetch(`${gateway.url}beta/models/${model}:${method}${query}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", "x-goog-api-key": gateway.key, ...headers },
  })

const post = (method: string, body: JsonObject, headers: Record<string, string> = {}, query = "") =>
  postTo("google/gemini-3-flash", method, body, headers, query)
const contents = [{ role: "user", parts: [{ text: "hi" }] }]

describe("a body", () => {
  test("passes as it came, in the spelling of Google's JSON, with the operator's key", async () => {
    const generationConfig = { temperature: 0.5, thinkingConfig: { thinkingLevel: "LOW", includeThoughts: true } }
    const body = { contents, generationConfig, safetySettings: [{ category: "a", threshold: "b" }] }
    expect((await post("generateContent", body)).status).toBe(200)
    expect(sent.path).toEndWith("/models/gemini-3-flash:generateContent")
    expect(sent.body).toEqual(body)
    expect(sent.key).toBe("operators")
    const snake = {
      contents,
      system_instruction: { parts: [{ text: "a" }] },
      generation_config: { max_output_tokens: 7 },
    }
    await post("generateContent", snake)
    expect(sent.body).toEqual({
      contents,
      systemInstruction: { parts: [{ text: "a" }] },
      generationConfig: { maxOutputTokens: 7 },
    })
  })

  test("keeps formats of an answer that Google alone has", async () => {
    const generationConfig = { responseMimeType: "text/x.enum", responseSchema: { type: "STRING", enum: ["a"] } }
    const response = await post("generateContent", { contents, generationConfig })
    expect([response.headers.get("x-gw-dropped"), sent.body["generationConfig"]]).toEqual([null, generationConfig])
  })

  test("loses tools without a price, unknown members and other vendors' thoughts, which is said", async () => {
    const ours = Buffer.from(`headgate.v1.${Buffer.from('{"type":"reasoning.text"}').toString("base64url")}`)
    const call = { functionCall: { id: "1", name: "f", args: { file_id: "free" } } }
    const thought = { text: "", thought: true, thoughtSignature: ours.toString("base64") }
    const result = { role: "user", parts: [{ functionResponse: { id: "1", name: "f", response: { a: 1 } } }] }
    const response = await post("generateContent", {
      contents: [...contents, { role: "model", parts: [thought, call] }, result],
      tools: [{ functionDeclarations: [{ name: "f" }] }, { codeExecution: {} }],
      generationConfig: { unknown: 1 },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get("x-gw-dropped")).toBe("tools[1].codeExecution, generationConfig.unknown")
    expect(sent.body["tools"]).toEqual([{ functionDeclarations: [{ name: "f" }] }])
    const signed = { ...call, thoughtSignature: "skip_thought_signature_validator" }
    expect(sent.body["contents"]).toEqual([...contents, { role: "model", parts: [signed] }, result])
  })

  const operators = { fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/a" } }
  test.each<[JsonObject, string]>([
    [{ contents, systemInstruction: { parts: [operators] } }, "systemInstruction.parts[0].fileData.fileUri"],
    [{ contents: [{ parts: [{ text: "a", ...operators }] }] }, "contents[0].parts[0].fileData.fileUri"],
    [
      { contents: [...contents, { role: "model", parts: [{ text: "a", thought: true, ...operators }] }] },
      "contents[1].parts[0].fileData.fileUri",
    ],
    [{ contents: [{ parts: [{ fileData: { fileUri: "files/a" } }] }] }, "contents[0].parts[0].fileData.fileUri"],
    [{ contents, cachedContent: "cachedContents/a" }, "cachedContent"],
    [
      {
        contents: [{ parts: [{ fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/a" } }] }],
      },
      "contents[0].parts[0].fileData.fileUri",
    ],
    [
      { contents: [{ parts: [{ fileData: { fileUri: "http://10.0.0.1/a" } }] }] },
      "contents[0].parts[0].fileData.fileUri",
    ],
    [
      { contents, tools: [{ fileSearch: { fileSearchStoreNames: ["a"] } }] },
      "tools[0].fileSearch.fileSearchStoreNames",
    ],
    [{ contents: [{ parts: [{ text: 1 }] }] }, "contents[0].parts[0].text"],
    [{ contents, generationConfig: { temperature: "hot" } }, "generationConfig.temperature"],
  ])("%j is refused", async (body, path) => {
    const response = await post("generateContent", body)
    const { error } = (await response.json()) as { readonly error: JsonObject }
    expect([response.status, error["status"], String(error["message"]).split(":")[0]]).toEqual([
      400,
      "INVALID_ARGUMENT",
      path,
    ])
  })
})

describe("an answer", () => {
  test("has our ids, and the cost beside Google's own counts", async () => {
    const account = await openAccount(gateway)
    const response = await post("generateContent", { contents }, { "x-goog-api-key": account.secret })
    expect(await response.json()).toMatchObject({
      candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "OTHER", avgLogprobs: -1 }],
      modelVersion: "google/gemini-3-flash",
      responseId: expect.stringMatching(/^gen-/),
      usageMetadata: { ...usageMetadata, cost: 0.00002 },
    })
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect(await account.rows()).toMatchObject([{ form: "generateContent", streamed: false }])
  })

  test("in a stream, finish and usage come last, with the cost: as events, and as one array", async () => {
    const events = [
      { candidates: [{ content: { role: "model", parts: [{ text: "A", thought: true }] }, index: 0 }] },
      { candidates: [{ content: { role: "model", parts: [{ text: "B", thoughtSignature: "s" }] }, index: 0 }] },
      { candidates: [{ index: 0, finishReason: "MAX_TOKENS" }], usageMetadata: { ...usageMetadata, cost: 0.00002 } },
    ]
    const streamed = await (await post("streamGenerateContent", { contents }, {}, "?alt=sse")).text()
    expect(readGenerateContentStream(streamed)).toMatchObject(events)
    expect(sent.path).toEndWith(":streamGenerateContent?alt=sse")
    const response = await post("streamGenerateContent", { contents })
    expect(response.headers.get("content-type")).toStartWith("application/json")
    expect(readGenerateContentStream(await response.text())).toMatchObject(events)
  })
})

describe("at Vertex AI", () => {
  const call = { functionCall: { id: "1", name: "f", args: {} }, thoughtSignature: "c2lnbmVk" }
  const result = { role: "user", parts: [{ functionResponse: { id: "1", name: "f", response: { output: "a" } } }] }
  const body = { contents: [...contents, { role: "model", parts: [call] }, result], labels: { team: "a" } }

  test("Gemini gets the body as it came, with what it signed, and so does the client its answer", async () => {
    const response = await postTo("acme/vertex", "generateContent", body)
    expect(response.headers.get("x-gw-dropped")).toBeNull()
    expect(sent.path).toEndWith("/publishers/google/models/gemini-3-flash:generateContent")
    expect(sent.body).toEqual(body)
    expect(await response.json()).toMatchObject({ candidates: [{ avgLogprobs: -1 }], modelVersion: "acme/vertex" })
    const streamed = await (await postTo("acme/vertex", "streamGenerateContent", body)).text()
    expect(readGenerateContentStream(streamed)[1]).toMatchObject({
      candidates: [{ content: { parts: [{ text: "B", thoughtSignature: "s" }] } }],
    })
  })

  test("a model of another publisher gets a translation", async () => {
    const response = await postTo("acme/claude", "generateContent", body)
    expect(response.headers.get("x-gw-dropped")).toBe("labels")
    expect(sent.path).toEndWith("/publishers/anthropic/models/claude-sonnet-5%40default:rawPredict")
    expect(sent.body).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }] })
  })
})

describe("a key", () => {
  const ask = (
    headers: Record<string, string>,
    query: string,
    path = "beta/models/google/gemini-3-flash:generateContent",
  ) => fetch(`${gateway.url}${path}${query}`, { method: "POST", body: JSON.stringify({ contents }), headers })

  test("may stand in the query, on Google's paths alone; Authorization comes first", async () => {
    const inQuery = `?key=${gateway.key}`
    const statuses = await Promise.all([
      ask({}, inQuery),
      ask({ "x-goog-api-key": gateway.key }, ""),
      ask({}, ""),
      ask({ authorization: "Bearer sk-gw-unknown" }, inQuery),
      ask({ "x-goog-api-key": gateway.managementKey }, ""),
      ask({}, inQuery, "/chat/completions"),
      ask({ "x-goog-api-key": gateway.key }, "", "/chat/completions"),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 401, 401, 403, 401, 401])
  })

  test("a request that is repeated for another model is another request", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() }
    const first = await post("generateContent", { contents }, headers)
    const again = await post("generateContent", { contents }, headers)
    const other = await post("countTokens", { contents }, headers)
    const stream = await post("streamGenerateContent", { contents }, headers)
    expect([first, again, other, stream].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect([again, stream].map((one) => one.headers.get("idempotent-replayed"))).toEqual(["true", null])
  })
})
