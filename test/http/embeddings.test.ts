/** `POST /embeddings` over real sockets, with scripted hosts. */
import { afterEach, describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { defineProvider, embeddingsProtocol, httpError } from "headgate/plugin"
import { KeyId } from "../../src/domain/ids.ts"
import { packed } from "../../src/domain/request/embeddings.ts"
import { answerBytes } from "../../src/services/request/AnswerBytes.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { startGateway } from "../support/gateways/gateway.ts"
import { type Answer, answered, type UnaryScene, unaryScene } from "../support/hosts/unaryHosts.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const scene = async (...of: Parameters<typeof unaryScene>): Promise<UnaryScene> => {
  const made = await unaryScene(...of)
  stops.push(made.stop)
  return made
}

/** Gives these vectors. */
const giving =
  (vectors: ReadonlyArray<unknown>, usage: unknown = { prompt_tokens: 7, total_tokens: 7 }): Answer =>
  () =>
    Response.json({
      object: "list",
      data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
      model: "upstream-v1",
      usage,
    })

const failing =
  (status: number): Answer =>
  () =>
    Response.json({ error: { message: "no" } }, { status })

test("a host that hangs is left for the next one after `attempt_ms`", async () => {
  const never: Answer = (_, request) =>
    new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response()), { once: true }))
  // The other one has all the time that it needs on a busy machine.
  const settings = { hung: { attempt_ms: 1000 }, next: { attempt_ms: 60_000 } }
  const { post } = await scene("embeddings", { hung: never, next: giving([[1]]) }, {}, settings)
  const { status, headers } = await answered(post({ input: "hi" }))
  expect([status, headers.get("x-gw-host")]).toEqual([200, "next"])
})

describe("an answer", () => {
  test("has every documented member, and is charged and booked as embeddings", async () => {
    const { gateway, post, hosts } = await scene("embeddings", { one: giving([[0.1, -2]]) })
    const account = await openAccount(gateway)
    const { status, headers, body } = await answered(
      post({ input: "hi", dimensions: 2, own_member: 1 }, { headers: { authorization: `Bearer ${account.secret}` } }),
    )
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^gen-/),
      object: "list",
      model: "acme/unary",
      provider: "one",
      data: [{ object: "embedding", index: 0, embedding: [0.1, -2] }],
      usage: {
        prompt_tokens: 7,
        total_tokens: 7,
        cost: 0.000007,
        is_byok: false,
        cost_details: {
          upstream_inference_cost: 0.000007,
          upstream_inference_prompt_cost: 0.000007,
          upstream_inference_completions_cost: 0,
        },
      },
    })
    expect(headers.get("x-gw-cost-usd")).toBe("0.000007")
    expect(headers.get("x-gw-host")).toBe("one")
    expect(hosts["one"]?.calls.map(({ request, body }) => [new URL(request.url).pathname, body])).toEqual([
      ["/v1/embeddings", { input: "hi", dimensions: 2, own_member: 1, model: "upstream" }],
    ])
    expect(await account.rows()).toMatchObject([
      { form: "embeddings", operation: "embeddings", promptTokens: 7, completionTokens: 0, cost: 7_000_000n },
    ])
    expect([await account.reserved(), await account.total()]).toEqual([0n, 7_000_000n])
    const generation = await gateway.call(`/generation?id=${body.id}`, {
      headers: { authorization: `Bearer ${account.secret}` },
    })
    expect(await generation.json()).toMatchObject({ data: { api_type: "embeddings", native_tokens_prompt: 7 } })
  })

  test("has its vectors in the order of the inputs, whatever the host's", async () => {
    const { post } = await scene("embeddings", {
      one: () =>
        Response.json({
          data: [
            { index: 1, embedding: [1] },
            { index: 0, embedding: [0] },
          ],
        }),
    })
    const { body } = await answered(post({ input: ["a", "b"] }))
    expect(body.data.map(({ index, embedding }: Record<string, unknown>) => [index, embedding])).toEqual([
      [0, [0]],
      [1, [1]],
    ])
  })

  test("of a host without usage is estimated, tokens exactly", async () => {
    const { post } = await scene("embeddings", { one: giving([[1], [2]], null) })
    expect((await answered(post({ input: ["12345678", "1234"] }))).body.usage.prompt_tokens).toBe(3)
    expect((await answered(post({ input: [[1, 2, 3], [4]] }))).body.usage.prompt_tokens).toBe(4)
  })

  test("is given again for the same Idempotency-Key", async () => {
    const { post, hosts } = await scene("embeddings", { one: giving([[1]]) })
    const init = { headers: { "idempotency-key": "again" } }
    const first = await answered(post({ input: "a" }, init))
    const second = await answered(post({ input: "a" }, init))
    expect(second.body).toEqual(first.body)
    expect(hosts["one"]?.calls).toHaveLength(1)
  })
})

describe("the encoding", () => {
  const vector = [0.5, -0.25, 0, -0]
  const base64 = packed(vector)
  const asText = "[0.5,-0.25,0,-0]"

  test.each([
    ["float", vector, asText],
    ["float", base64, asText],
    ["base64", vector, JSON.stringify(base64)],
    ["base64", base64, JSON.stringify(base64)],
    [undefined, vector, asText],
    [undefined, base64, asText],
  ])("%p, where the host gives %j", async (wanted, given, expected) => {
    const host: Answer = () =>
      new Response(`{"data":[{"index":0,"embedding":${Array.isArray(given) ? asText : JSON.stringify(given)}}]}`)
    const { post } = await scene("embeddings", { one: host })
    const text = await (await post({ input: "a", ...(wanted && { encoding_format: wanted }) })).text()
    expect(text).toContain(`"embedding":${expected}`)
  })

  test("is not asked of a host that does not list it, and nothing is said to be dropped", async () => {
    const facts = { one: { supported_parameters: ["dimensions"] } }
    const { post, hosts } = await scene("embeddings", { one: giving([[0.5]]) }, facts)
    const { headers, body } = await answered(post({ input: "a", encoding_format: "base64", input_type: "query" }))
    expect(body.data[0].embedding).toBe(packed([0.5]))
    expect(hosts["one"]?.calls[0]?.body).toEqual({ input: "a", model: "upstream" })
    expect(headers.get("x-gw-dropped")).toBe("input_type")
  })

  test("that cannot be read is a failure of the host, and the next one is asked", async () => {
    const { post } = await scene("embeddings", { one: giving(["AAAA"]), two: giving([[1]]) })
    const { headers, body } = await answered(
      post({ input: "a", encoding_format: "float", provider: { order: ["one"] } }),
    )
    expect(body.data[0].embedding).toEqual([1])
    expect(headers.get("x-gw-host")).toBe("two")
  })
})

describe("what a host is sent", () => {
  const text = (of: string) => ({ type: "text", text: of })
  const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } }

  test.each([
    ["a text", "a", "a"],
    ["texts", ["a", "b"], ["a", "b"]],
    ["tokens", [1, 2], [1, 2]],
    ["lists of tokens", [[1], [2]], [[1], [2]]],
    ["parts that are text, as a text", [{ content: [text("a"), text("b")] }], ["ab"]],
    ["other parts, as they are", [{ content: [text("a"), image] }], [{ content: [text("a"), image] }]],
  ])("%s", async (_what, input, sent) => {
    const { post, hosts } = await scene("embeddings", {
      one: (body) =>
        giving(Array.isArray(body["input"]) && body["input"][0] !== 1 ? body["input"].map(() => [1]) : [[1]])(
          body,
          new Request("http://x"),
        ),
    })
    expect((await post({ input })).status).toBe(200)
    expect(hosts["one"]?.calls[0]?.body["input"]).toEqual(sent)
  })

  test("parts that a host refuses are refused before the call, by their path", async () => {
    const { post, hosts } = await scene("embeddings", { one: giving([[1]]) }, {}, { one: { strict: true } })
    const { status, body } = await answered(post({ input: [{ content: [text("a")] }, { content: [image] }] }))
    expect(status).toBe(400)
    expect(body.error.metadata.path).toBe("input[1].content")
    expect(hosts["one"]?.calls).toEqual([])
  })

  test("dimensions go to hosts that have them only", async () => {
    const facts = { one: { supported_parameters: ["encoding_format"] }, two: { supported_parameters: ["dimensions"] } }
    const { post, hosts } = await scene("embeddings", { one: giving([[1]]), two: giving([[2]]) }, facts)
    expect((await answered(post({ input: "a", dimensions: 1 }))).body.data[0].embedding).toEqual([2])
    expect(hosts["one"]?.calls).toEqual([])
    const none = await answered(post({ input: "a", dimensions: 1, provider: { only: ["one"] } }))
    expect(none.status).toBe(404)
    expect(none.body.error.message).toContain("excluded by only, dimensions")
  })
})

describe("routing", () => {
  test("falls back to the next host, and only the one that answers is paid", async () => {
    const { gateway, post, hosts } = await scene("embeddings", { one: failing(503), two: giving([[1]]) })
    const account = await openAccount(gateway)
    const init = { headers: { authorization: `Bearer ${account.secret}` } }
    const { headers } = await answered(post({ input: "a", provider: { order: ["one"] } }, init))
    expect(headers.get("x-gw-host")).toBe("two")
    expect(hosts["one"]?.calls).toHaveLength(1)
    expect(await account.rows()).toMatchObject([{ host: "two", cost: 7_000_000n }])
  })

  test.each([
    ["a vector too few", giving([[1]])],
    ["a vector too many", giving([[1], [2], [3]])],
    ["an empty vector", giving([[1], []])],
    ["a vector of nulls", giving([[1], [null]])],
    ["an error with status 200", () => Response.json({ error: { message: "no" } })],
    ["no JSON", () => new Response("<html>")],
  ] satisfies ReadonlyArray<readonly [string, Answer]>)(
    "%s is a failure of the host: nothing is paid",
    async (_what, answer) => {
      const { gateway, post } = await scene("embeddings", { one: answer })
      const account = await openAccount(gateway)
      const { status } = await answered(
        post({ input: ["a", "b"] }, { headers: { authorization: `Bearer ${account.secret}` } }),
      )
      expect(status).toBeGreaterThanOrEqual(500)
      expect([await account.rows(), await account.reserved()]).toEqual([[], 0n])
    },
  )

  test("a batch may be longer than the context, one of its texts may not", async () => {
    const { post, hosts } = await scene("embeddings", { one: giving([[1], [1], [1]]) })
    const text = "x".repeat(512 * 4)
    expect((await post({ input: [text, text, text] })).status).toBe(200)
    const { status, body } = await answered(post({ input: ["a", "b", "x".repeat(512 * 17)] }))
    expect(status).toBe(400)
    expect(body.error.metadata).toMatchObject({ error_type: "context_length_exceeded", path: "input" })
    expect(hosts["one"]?.calls).toHaveLength(1)
  })

  test("without budget no host is called", async () => {
    const { gateway, post, hosts } = await scene("embeddings", { one: giving([[1]]) })
    const poor = await gateway.newKey({ limit: 1_000_000n })
    const { status } = await answered(
      post({ input: "a longer text" }, { headers: { authorization: `Bearer ${poor}` } }),
    )
    expect(status).toBe(402)
    expect(hosts["one"]?.calls).toEqual([])
  })

  test("a model of another operation is named", async () => {
    const { gateway } = await scene("embeddings", { one: giving([[1]]) })
    const asked = (path: string, body: object) =>
      answered(gateway.call(path, { method: "POST", body: JSON.stringify(body) }))
    const wrong = [
      await asked("/embeddings", { model: "headgate/echo", input: "a" }),
      await asked("/chat/completions", { model: "acme/unary", messages: [{ role: "user", content: "a" }] }),
      await asked("/rerank", { model: "acme/unary", query: "a", documents: ["b"] }),
    ]
    expect(wrong.map(({ status, body }) => [status, body.error.message])).toEqual([
      [400, 'model: "headgate/echo" gives text, so it makes no embeddings.'],
      [400, 'model: "acme/unary" gives embeddings, so it cannot chat.'],
      [400, 'model: "acme/unary" gives embeddings, so it ranks no documents.'],
    ])
  })

  test.each(["acme/unary:thinking", "acme/unary:online"])("%s is refused", async (model) => {
    const { post } = await scene("embeddings", { one: giving([[1]]) })
    expect((await post({ model, input: "a" })).status).toBe(400)
  })

  test("the routing is shown to who asks for it", async () => {
    const { post } = await scene("embeddings", { one: giving([[1]]) })
    const { body } = await answered(
      post({ input: "a", session_id: "s" }, { headers: { "x-openrouter-metadata": "enabled" } }),
    )
    expect(body.openrouter_metadata).toMatchObject({ attempts: [{ provider: "one", status: 200 }] })
  })
})

test.each([
  [{}, "input", "is required"],
  [{ input: 7 }, "input", "must be a string or an array"],
  [{ input: [] }, "input", "must have at least 1 entry"],
  [{ input: ["a", 7] }, "input[1]", "must be a string"],
  [{ input: [1, "a"] }, "input[1]", "must be an integer from 0 to 2147483647"],
  [{ input: [[]] }, "input[0]", "must have at least 1 entry"],
  [
    { input: [{ content: [{ type: "song" }] }] },
    "input[0].content[0].type",
    "must be one of text, image_url, input_audio, input_video, input_file",
  ],
  [{ input: Array(2049).fill("a") }, "input", "must have at most 2048 entries, not 2049"],
  [{ input: "a", dimensions: 0 }, "dimensions", "must be an integer from 1 to 2147483647"],
  [{ input: "a", encoding_format: "int8" }, "encoding_format", "must be one of float, base64"],
  [{ input: "a", stream: true }, "stream", "must be false: this operation has no streams"],
  [{ input: "a", plugins: [{ id: "web" }] }, "plugins[0].id", expect.stringContaining("does not run")],
])("%j is refused", async (body, path, message) => {
  const { post } = await scene("embeddings", { one: giving([[1]]) })
  const answer = await answered(post(body))
  expect(answer.status).toBe(400)
  expect(answer.body.error.metadata.issues).toEqual([{ path, message }])
})

test("the models that make embeddings have a list of their own", async () => {
  const { gateway } = await scene("embeddings", { one: giving([[1]]) })
  const models = await answered(gateway.call("/embeddings/models"))
  expect(models.body.data.map(({ id }: { readonly id: string }) => id)).toEqual([
    "acme/unary",
    "headgate/echo-embeddings",
  ])
  expect(models.body).toMatchObject({ total_count: 2, links: { next: null } })
  const listed = await answered(gateway.call("/models"))
  expect(listed.body.data.map(({ id }: { readonly id: string }) => id)).toEqual(["headgate/echo"])
  const page = await answered(gateway.call("/embeddings/models?limit=1"))
  expect(page.body.links.next).toBe("/api/v1/embeddings/models?offset=1&limit=1")
})

describe("a provider", () => {
  const model = (provider: string) => ({
    id: "acme/vectors",
    context_length: 100,
    architecture: { output_modalities: ["embeddings"] },
    hosts: [{ provider, pricing: { prompt: "0", completion: "0" } }],
  })
  const ask = { method: "POST", body: JSON.stringify({ model: "acme/vectors", input: "a" }) }

  test("that makes none is not called, and the reason is told", async () => {
    const gateway = await startGateway({
      config: { providers: { anthropic: { api_key: "k" } }, models: [model("anthropic")] },
    })
    stops.push(gateway.stop)
    const { status, body } = await answered(gateway.call("/embeddings", ask))
    expect(status).toBe(404)
    expect(JSON.stringify(body)).toContain("its provider does not serve this kind of model")
  })

  test("may make nothing else", async () => {
    const vectors = defineProvider({
      id: "vectors",
      name: "Vectors",
      always: true,
      config: Schema.Struct({}),
      load: () => ({
        protocols: {},
        embeddings: embeddingsProtocol(),
        error: httpError,
        transport: async () => Response.json({ data: [{ embedding: [1] }] }),
      }),
    })
    const gateway = await startGateway({ plugins: [vectors], config: { models: [model("vectors")] } })
    stops.push(gateway.stop)
    const { status, body } = await answered(gateway.call("/embeddings", ask))
    expect([status, body.data[0].embedding]).toEqual([200, [1]])
  })
})

test("a caller who takes a long answer slowly is cut where answers of many keys fill the memory", async () => {
  const vector = Buffer.alloc(4 * 3072).toString("base64")
  const { gateway } = await scene("embeddings", { one: giving(Array(1500).fill(vector)) })
  const body = JSON.stringify({ model: "acme/unary", input: Array(1500).fill("hi"), encoding_format: "base64" })
  const slow = await gateway.call("/embeddings", { method: "POST", body })
  expect(answerBytes.bytes).toBeGreaterThan(20_000_000)
  const others = answerBytes.begin(KeyId.make("of others"), { holdBack: () => {}, goOn: () => {} })
  try {
    others.add(550_000_000)
    await expect(slow.text()).rejects.toThrow()
    await until(() => answerBytes.bytes === 550_000_000)
  } finally {
    others.release()
  }
  expect(answerBytes.bytes).toBe(0)
})

test.each<[string, unknown]>([
  ["a list alone", [{ embedding: [0.5, -2] }, { embedding: [1, 2] }]],
  [
    "a list alone, each vector in a list of its own (llama.cpp)",
    [
      { index: 0, embedding: [[0.5, -2]] },
      { index: 1, embedding: [[1, 2]] },
    ],
  ],
  ["vectors in lists of their own", { data: [{ embedding: [[0.5, -2]] }, { embedding: [[1, 2]] }] }],
])("H17: %s is an answer", async (_, body) => {
  const { post } = await scene("embeddings", { one: () => Response.json(body) })
  const answer = await answered(post({ input: ["a", "b"] }))
  expect(answer.status).toBe(200)
  expect(answer.body.data).toEqual([
    { object: "embedding", index: 0, embedding: [0.5, -2] },
    { object: "embedding", index: 1, embedding: [1, 2] },
  ])
})
