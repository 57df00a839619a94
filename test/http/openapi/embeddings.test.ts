/** The description of embeddings against their decoder, and against answers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { packed } from "../../../src/domain/request/embeddings.ts"
import { decodeEmbeddings } from "../../../src/formats/embeddings/embeddingsRequest.ts"
import { agreement, faultsIn, values } from "../../support/clients/openApi.ts"
import { answered, type UnaryScene, unaryScene } from "../../support/hosts/unaryHosts.ts"

const expectAgreement = agreement("EmbeddingsRequest", (body) => decodeEmbeddings(body))

const fine: JsonObject = { model: "acme/unary", input: "hi" }

const image = (url: unknown) => ({ type: "image_url", image_url: { url, detail: "low" } })
const media = ["input_audio", "input_video", "input_file"].flatMap((type) => [
  { type, [type]: { data: "AA", format: "wav" } },
  { type, [type]: { data: "AA", format: null } },
  { type, [type]: { data: "AA", format: 5 } },
  { type, [type]: { data: "" } },
  { type, [type]: {} },
  { type, [type]: "AA" },
  { type },
])
const parts: ReadonlyArray<unknown> = [
  { type: "text", text: "hi" },
  { type: "text", text: "", more: 1 },
  { type: "text", text: null },
  { type: "text" },
  { text: "hi" },
  ...["https://x.test/a.png", "HTTP://x.test", "DaTa:image/png;base64,AA", "data:", "ftp://x", "https://", "", 5].map(
    image,
  ),
  { type: "image_url", image_url: "https://x.test/a.png" },
  { type: "image_url", image_url: {} },
  ...media,
  { type: "song" },
  { type: null },
  "hi",
  null,
]

const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  input: [
    ["a", "b"],
    ["a", 1],
    ["a", null],
    [1, 2],
    [1, "a"],
    [1, 2 ** 31 - 1],
    [1, 2 ** 31],
    [0, 1],
    [0, -1],
    [0.5],
    [[1], [2, 3]],
    [[1], []],
    [[1], "a"],
    [["a"]],
    ...parts.map((part) => [{ content: [part] }]),
    [{ content: [parts[0], image("https://x.test")], more: 1 }, { content: [parts[0]] }],
    [{ content: [parts[0]] }, "a"],
    [{ content: [] }],
    [{ content: "hi" }],
    [{ content: null }],
    Array(2048).fill("a"),
    Array(2049).fill("a"),
    Array(2048).fill([1]),
    Array(2049).fill([1]),
    Array(2049).fill(1),
    Array(2049).fill({ content: [parts[0]] }),
  ],
  encoding_format: ["float", "base64", "int8"],
  plugins: [[{ id: "web", enabled: false }], [{ id: "web" }]],
  provider: [{ only: ["acme"] }, { only: "acme" }, { sort: "price" }],
}

const names = [
  ...["model", "models", "provider", "route", "preset", "stream", "stream_options", "usage", "service_tier", "user"],
  ...["cache_control", "prompt_cache_key", "prompt_cache_options", "session_id", "metadata", "trace", "plugins"],
  ...["transforms", "stop_server_tools_when", "debug", "input", "dimensions", "encoding_format", "input_type"],
  ...["temperature", "max_tokens", "messages", "api_key", "unheard_of"],
]

test("schema and decoder agree on every member with every value", () => {
  for (const name of names) {
    for (const value of [...values, ...(near[name] ?? [])]) expectAgreement({ ...fine, [name]: value })
  }
  expectAgreement({ model: "acme/unary" })
  expectAgreement({ input: "hi" })
  expectAgreement({ models: ["acme/unary"], input: "hi" })
})

describe("answers fit their schema:", () => {
  let scene: UnaryScene
  beforeAll(async () => {
    scene = await unaryScene("embeddings", {
      acme: ({ input }) => {
        if (input === "nothing") return new Response("no", { status: 500 })
        const inputs = Array.isArray(input) ? input : [input]
        return Response.json({
          object: "list",
          data: inputs.map((_, index) => ({ object: "embedding", index, embedding: [0.5, -1] })),
          usage: { prompt_tokens: 9, total_tokens: 9, prompt_tokens_details: { image_tokens: 4 } },
        })
      },
    })
  })
  afterAll(() => scene.stop())

  test.each([
    ["numbers", { input: ["a", "b"] }, [0.5, -1]],
    ["base64", { input: "a", encoding_format: "base64" }, packed([0.5, -1])],
    ["an image", { input: [{ content: [image("https://x.test/a.png")] }] }, [0.5, -1]],
  ])("%s", async (_what, asked, expected) => {
    const { status, body } = await answered(scene.post(asked, { headers: { "x-openrouter-metadata": "enabled" } }))
    expect([status, body.data[0].embedding]).toEqual([200, expected])
    expect(body).toMatchObject({ openrouter_metadata: {}, usage: { prompt_tokens_details: { image_tokens: 4 } } })
    expect(faultsIn("EmbeddingsAnswer", body)).toEqual([])
  })

  test("an error", async () => {
    const { status, body } = await answered(scene.post({ input: "nothing" }))
    expect(status).toBe(502)
    expect(faultsIn("Error", body)).toEqual([])
  })
})
