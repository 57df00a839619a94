/** Embeddings of the Gemini API and of Vertex AI. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { EmbeddingsPayload, EmbeddingsRequest } from "../../../src/domain/request/embeddings.ts"
import { decodeEmbeddings } from "../../../src/formats/embeddings/embeddingsRequest.ts"
import { embeddingsBody } from "../../../src/formats/generateContent/generateContentEmbeddings.ts"
import {
  embedContentProtocol,
  generateContentProtocol,
  vertexEmbeddingsProtocol,
} from "../../../src/formats/generateContent/generateContentHost.ts"
import { Target } from "../../../src/formats/Target.ts"
import { reporting } from "../../support/recordings/recordedTable.ts"
import { bodyOf, hostFor, recordings, requestWith } from "../../support/recordings/recordings.ts"
import { head } from "./build.ts"

const requestFor = (payload: EmbeddingsPayload): EmbeddingsRequest => {
  const { routing, bounds } = requestWith({})
  return { operation: "embeddings", routing, bounds, stream: false, maxTokens: 0, payload }
}

const studio = embedContentProtocol()
const vertex = vertexEmbeddingsProtocol()

const encoded = (protocol: typeof studio, payload: EmbeddingsPayload, model = "gemini-embedding-001") => {
  const { path, body, dropped } = Either.getOrThrow(protocol.encode(requestFor(payload), hostFor(model)))
  return { path, body: JSON.parse(String(body)) as JsonObject, dropped }
}

const refused = (protocol: typeof studio, payload: EmbeddingsPayload, model?: string): string =>
  Either.match(protocol.encode(requestFor(payload), hostFor(model ?? "gemini-embedding-001")), {
    onLeft: ({ path, reason }) => `${path}: ${reason}`,
    onRight: () => "carried",
  })

const read = (protocol: typeof studio, body: unknown, input: EmbeddingsPayload["input"] = ["a", "b"]) =>
  protocol.decode(head, body, requestFor({ input }))

const text = (part: string) => ({ parts: [{ text: part }] })

test("media without its type or data is refused: hosts were sent the word undefined", () => {
  const target = new Target("/api/v1", "http://127.0.0.1/api/v1beta/models/m:embedContent")
  const image = { mimeType: "image/png", data: "AAAA" }
  const isRead = (inlineData: object) => {
    const body = { content: { parts: [{ text: "a" }, { inlineData }] } }
    return Either.isRight(decodeEmbeddings({ ...embeddingsBody(body, target), model: "m" }))
  }
  expect([image, { mimeType: "image/png" }, { data: "AAAA" }, { ...image, data: 5 }].map(isRead)).toEqual([
    true,
    false,
    false,
    false,
  ])
})

describe("the Gemini API", () => {
  test("all inputs in one request, with length and purpose", () => {
    const payload = {
      input: ["a", "b"],
      dimensions: 768,
      input_type: "search_query",
      encoding_format: "base64",
      user: "u",
    } as const
    const common = { model: "models/gemini-embedding-001", taskType: "RETRIEVAL_QUERY", outputDimensionality: 768 }
    expect(encoded(studio, payload)).toEqual({
      path: "/models/gemini-embedding-001:batchEmbedContents",
      body: {
        requests: [
          { ...common, content: text("a") },
          { ...common, content: text("b") },
        ],
      },
      dropped: ["user"],
    })
  })

  test.each<[string, string | undefined]>([
    ["search_document", "RETRIEVAL_DOCUMENT"],
    ["semantic similarity", "SEMANTIC_SIMILARITY"],
    ["CODE_RETRIEVAL_QUERY", "CODE_RETRIEVAL_QUERY"],
    ["something", undefined],
  ])("the purpose %s", (input_type, taskType) => {
    const { body, dropped } = encoded(studio, { input: "a", input_type })
    expect(body["requests"]).toMatchObject([taskType === undefined ? { content: text("a") } : { taskType }])
    expect(dropped).toEqual(taskType === undefined ? ["input_type"] : [])
  })

  test("Gemini Embedding 2 takes parts, and no purpose", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
    ]
    const { body, dropped } = encoded(studio, { input: [{ content }], input_type: "query" }, "gemini-embedding-2")
    const parts = [
      { text: "a" },
      { inlineData: { mimeType: "image/png", data: "AAAA" } },
      { inlineData: { mimeType: "audio/wav", data: "BBBB" } },
    ]
    expect([body["requests"], dropped]).toEqual([
      [{ model: "models/gemini-embedding-2", content: { parts } }],
      ["input_type"],
    ])
  })

  test("refuses numbers of tokens and parts that it does not know", () => {
    expect(refused(studio, { input: [1, 2] })).toBe("input[0]: this host takes text and not numbers of tokens")
    const input = [{ content: [{ type: "input_file", input_file: {} }] }]
    expect(refused(studio, { input })).toBe("input[0].content[0]: this host has no such part")
  })

  test("vectors in the order of the inputs; counted where the host does", () => {
    const embeddings = [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }]
    const data = [
      { index: 0, embedding: [0.1, 0.2] },
      { index: 1, embedding: [0.3, 0.4] },
    ]
    expect(read(studio, { embeddings })).toEqual({ data })
    expect(read(studio, { embeddings, usageMetadata: { promptTokenCount: 7 } })).toMatchObject({
      data,
      usage: { prompt_tokens: 7, completion_tokens: 0 },
    })
    for (const body of [{}, { embeddings: [{}] }, [], null, { embeddings: [] }])
      expect(read(studio, body)).toBeInstanceOf(HostFailed)
    expect(read(studio, { error: { code: 404, status: "NOT_FOUND" } })).toMatchObject({ reason: "not-found" })
  })
})

describe("Vertex AI", () => {
  test("predicts", () => {
    expect(
      encoded(vertex, { input: ["a", "b"], dimensions: 256, input_type: "document" }, "text-embedding-005"),
    ).toEqual({
      path: "/publishers/google/models/text-embedding-005:predict",
      body: {
        instances: [
          { content: "a", task_type: "RETRIEVAL_DOCUMENT" },
          { content: "b", task_type: "RETRIEVAL_DOCUMENT" },
        ],
        parameters: { outputDimensionality: 256 },
      },
      dropped: [],
    })
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
    expect(refused(vertex, { input: [{ content: [{ type: "text", text: "a" }, image] }] })).toBe(
      "input[0].content[1]: this host makes vectors of text only",
    )
  })

  test("Gemini Embedding 2 takes one input", () => {
    expect(encoded(vertex, { input: "a", dimensions: 256 }, "gemini-embedding-2-preview")).toEqual({
      path: "/publishers/google/models/gemini-embedding-2-preview:embedContent",
      body: { content: text("a"), outputDimensionality: 256 },
      dropped: [],
    })
    expect(refused(vertex, { input: ["a", "b"] }, "gemini-embedding-2")).toBe(
      "input: this host takes one input in a request",
    )
    const answer = { embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }
    expect(read(vertex, answer, "a")).toMatchObject({
      data: [{ index: 0, embedding: [1, 2] }],
      usage: { prompt_tokens: 3 },
    })
  })

  test("what was counted is what was read of all inputs", () => {
    const prediction = (token_count: number) => ({
      embeddings: { values: [1], statistics: { token_count, truncated: false } },
    })
    expect(read(vertex, { predictions: [prediction(3), prediction(4)] })).toMatchObject({ usage: { prompt_tokens: 7 } })
    expect(read(vertex, { predictions: [prediction(-3), prediction(4)] })).not.toHaveProperty("usage")
  })
})

describe("recorded traffic", () => {
  for (const recorded of recordings("vertex-predict")) {
    // The recordings are trusted, as in the other tests of them.
    const asked = recorded.request?.body as { instances: ReadonlyArray<{ content: string }>; parameters: JsonObject }
    const input = asked.instances.map(({ content }) => content)

    const request = () => {
      const { body, path } = encoded(vertex, { input, dimensions: 768 }, recorded.model ?? "")
      expect(body).toEqual({ ...asked })
      expect(recorded.request?.path).toEndWith(path)
    }
    test(`${recorded.id}: the request`, reporting(recorded, request))

    const answer = () => {
      const body = bodyOf(recorded) as {
        predictions: ReadonlyArray<{
          embeddings: { values: ReadonlyArray<number>; statistics: { token_count: number } }
        }>
      }
      const [first] = body.predictions
      expect(read(vertex, body, input)).toEqual({
        data: [{ index: 0, embedding: first?.embeddings.values ?? [] }],
        usage: { prompt_tokens: first?.embeddings.statistics.token_count, completion_tokens: 0 },
      })
    }
    test(`${recorded.id}: the answer`, reporting(recorded, answer))
  }

  for (const recorded of recordings("gemini-embed")) {
    const check = () => {
      const { requests } = Object(recorded.request?.body) as {
        requests: ReadonlyArray<{ content: { parts: ReadonlyArray<{ text: string }> } }>
      }
      const input = requests.map(({ content }) => content.parts[0]?.text ?? "")
      const { body, path } = encoded(studio, { input, dimensions: 768 }, recorded.model ?? "")
      expect(body["requests"]).toEqual(
        requests.map(({ content }) => ({ model: `models/${recorded.model}`, content, outputDimensionality: 768 })),
      )
      expect(recorded.request?.path.split("?")[0]).toEndWith(path)
      const failure = generateContentProtocol().error(recorded.response.status, new Headers(), bodyOf(recorded))
      expect([failure.reason as string, failure.code]).toEqual(["not-found", "NOT_FOUND"])
    }
    test(`${recorded.id}: the request, and the error`, reporting(recorded, check))
  }

  test.skipIf(recordings("gemini").length === 0)("two recorded cases", () => {
    expect([...recordings("vertex-predict"), ...recordings("gemini-embed")]).toHaveLength(2)
  })
})
