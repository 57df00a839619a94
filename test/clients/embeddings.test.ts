/** Embeddings and rerank by public clients, over a real socket. The router's SDK validates every body. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { OpenAIEmbeddings } from "@langchain/openai"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { OpenRouter } from "@openrouter/sdk"
import { embed } from "ai"
import OpenAI from "openai"
import { packed } from "../../src/domain/request/embeddings.ts"
import { type UnaryScene, unaryScene } from "../support/hosts/unaryHosts.ts"

/** Numbers that float32 holds exactly. */
const vector = [0.5, -0.25, 3]

describe("embeddings", () => {
  let scene: UnaryScene
  let openai: OpenAI
  let router: OpenRouter
  beforeAll(async () => {
    scene = await unaryScene("embeddings", {
      floats: () => Response.json({ data: [{ embedding: vector }], usage: { prompt_tokens: 3, total_tokens: 3 } }),
      base64: () => Response.json({ data: [{ index: 0, embedding: packed(vector) }], usage: { total_tokens: 3 } }),
    })
    openai = new OpenAI({ apiKey: scene.gateway.key, baseURL: scene.gateway.url, maxRetries: 0 })
    router = new OpenRouter({
      apiKey: scene.gateway.key,
      serverURL: scene.gateway.url,
      retryConfig: { strategy: "none" },
    })
  })
  afterAll(() => scene.stop())

  const at = (host: string) => ({ provider: { only: [host] } })

  // Without an encoding the client asks for base64, and unpacks it.
  test.each(["floats", "base64"])("the openai client, where the host gives %s", async (host) => {
    for (const encoding of [{}, { encoding_format: "float" }] as const) {
      const request = { model: "acme/unary", input: "hi", ...encoding, ...at(host) }
      const { data, model, usage } = await openai.embeddings.create(request)
      expect(data.map(({ embedding }) => embedding)).toEqual([vector])
      expect(model).toBe("acme/unary")
      expect(usage).toMatchObject({ prompt_tokens: 3, total_tokens: 3, cost: 0.000003 })
    }
    const raw = await openai.embeddings.create({
      ...{ model: "acme/unary", input: ["hi"], encoding_format: "base64" as const },
      ...at(host),
    })
    expect(raw.data.map(({ embedding }) => String(embedding))).toEqual([packed(vector) ?? ""])
  })

  test("the AI SDK by both of its providers", async () => {
    const access = { apiKey: scene.gateway.key, baseURL: scene.gateway.url }
    const models = [
      createOpenRouter(access).textEmbeddingModel("acme/unary"),
      createOpenAICompatible({ name: "headgate", ...access }).embeddingModel("acme/unary"),
    ]
    for (const model of models) {
      const { embedding, usage } = await embed({ model, value: "hi" })
      expect([embedding, usage.tokens]).toEqual([vector, 3])
    }
  })

  test("LangChain", async () => {
    const configuration = { baseURL: scene.gateway.url }
    const model = new OpenAIEmbeddings({ model: "acme/unary", apiKey: scene.gateway.key, configuration })
    expect([await model.embedQuery("hi"), await model.embedDocuments(["hi"])]).toEqual([vector, [vector]])
  })

  test("the openai client's error", async () => {
    const error = await openai.embeddings.create({ model: "acme/unary", input: [] }).catch((cause: unknown) => cause)
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining("input") })
  })

  test("the router's SDK", async () => {
    for (const host of ["floats", "base64"]) {
      const answer = await router.embeddings.generate({
        requestBody: {
          model: "acme/unary",
          input: [{ content: [{ type: "text", text: "hi" }] }],
          encodingFormat: "float",
          provider: { only: [host] },
        },
      })
      if (typeof answer === "string") throw new Error(answer)
      expect(answer.data).toEqual([{ object: "embedding", index: 0, embedding: vector }])
      expect(answer.usage).toMatchObject({ promptTokens: 3, totalTokens: 3, cost: 0.000003, isByok: false })
    }
    const models = await router.embeddings.listModels()
    expect(JSON.stringify(models)).toContain("acme/unary")
  })
})

test("rerank by the router's SDK", async () => {
  const scene = await unaryScene("rerank", {
    one: () =>
      Response.json({ results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } }),
  })
  const router = new OpenRouter({ apiKey: scene.gateway.key, serverURL: scene.gateway.url })
  const answer = await router.rerank.rerank({ requestBody: { model: "acme/unary", query: "a", documents: ["b"] } })
  await scene.stop()
  if (typeof answer === "string") throw new Error(answer)
  expect(answer.results).toEqual([{ index: 0, relevanceScore: 0.5, document: { text: "b" } }])
  expect(answer.usage).toMatchObject({ searchUnits: 1 })
})
