import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { embeddings } from "./embeddings.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

describe("embeddings", () => {
  const request = (payload: Anything) => ({
    ...requestWith({}),
    operation: "embeddings" as const,
    stream: false as const,
    maxTokens: 0 as const,
    payload,
  })
  const encode = (model: string, payload: Anything): Anything =>
    Either.match(embeddings.encode(request(payload), hostFor(model)), {
      onLeft: ({ path }) => path,
      onRight: ({ path, body, dropped }) => ({ path, body: JSON.parse(String(body)), dropped }),
    })
  const image = {
    content: [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    ],
  }

  test.each([
    [
      "cohere.embed-english-v3",
      { input: ["a", "b"], dimensions: 8, user: "u" },
      { texts: ["a", "b"], input_type: "search_document", embedding_types: ["float"], output_dimension: 8 },
      ["user"],
    ],
    [
      "cohere.embed-v4:0",
      { input: { content: [{ type: "text", text: "a" }] }, input_type: "search_query", truncate: "END" },
      { texts: ["a"], input_type: "search_query", embedding_types: ["float"], truncate: "END" },
      [],
    ],
    [
      "amazon.titan-embed-text-v2:0",
      { input: "a", dimensions: 256, normalize: false, input_type: "x" },
      { inputText: "a", dimensions: 256, normalize: false, embeddingTypes: ["float"] },
      ["input_type"],
    ],
    ["amazon.titan-embed-text-v1", { input: ["a"], dimensions: 256 }, { inputText: "a" }, ["dimensions"]],
    [
      "amazon.titan-embed-image-v1",
      { input: image, dimensions: 256 },
      { inputText: "a", inputImage: "AA", embeddingConfig: { outputEmbeddingLength: 256 } },
      [],
    ],
    [
      "amazon.nova-2-multimodal-embeddings-v1:0",
      { input: "a", input_type: "search_query", dimensions: 384 },
      {
        taskType: "SINGLE_EMBEDDING",
        singleEmbeddingParams: {
          embeddingPurpose: "GENERIC_RETRIEVAL",
          embeddingDimension: 384,
          text: { truncationMode: "NONE", value: "a" },
        },
      },
      [],
    ],
  ])("%s is asked in its own words", (model, payload, body, dropped) => {
    expect(encode(model, payload)).toEqual({ path: `/model/${encodeURIComponent(model)}/invoke`, body, dropped })
  })

  test.each([
    ["amazon.titan-embed-text-v2:0", { input: ["a", "b"] }, "input"],
    ["amazon.titan-embed-text-v2:0", { input: image }, "input"],
    ["amazon.titan-embed-image-v1", { input: { content: [{ type: "input_audio" }] } }, "input"],
    ["cohere.embed-english-v3", { input: ["a", [1, 2]] }, "input[1]"],
  ])("%s refuses %j", (model, payload, path) => expect(encode(model, payload)).toBe(path))

  const decode = (body: unknown, input: Anything = "a", headers = {}): Anything =>
    embeddings.decode({ status: 200, headers: new Headers(headers) }, body, request({ input }))
  const usage = { prompt_tokens: 5, completion_tokens: 0 }

  test.each([
    [{ embedding: [1, 2], inputTextTokenCount: 5 }, "a", {}, [[1, 2]]],
    [{ embeddings: { float: [[1], [2]] } }, ["a", "b"], { "x-amzn-bedrock-input-token-count": "5" }, [[1], [2]]],
    [{ embeddings: [[1], [2]] }, ["a", "b"], { "x-amzn-bedrock-input-token-count": "5" }, [[1], [2]]],
    [
      { embeddings: [{ embeddingType: "TEXT", embedding: [1] }] },
      "a",
      { "x-amzn-bedrock-input-token-count": "5" },
      [[1]],
    ],
  ])("reads %j", (body, input, headers, vectors) => {
    expect(decode(body, input, headers)).toEqual({
      data: vectors.map((embedding, index) => ({ index, embedding })),
      usage,
    })
  })

  test.each([[{}], [{ embedding: [] }], [{ embedding: ["1"] }], [{ embeddings: [[1], [2]] }]])(
    "%j is no answer",
    (body) => {
      expect(decode(body)).toMatchObject({ reason: "malformed" })
    },
  )
})
