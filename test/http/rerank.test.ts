/** `POST /rerank` over real sockets, with scripted hosts. */
import { afterEach, describe, expect, test } from "bun:test"
import { openAccount } from "../support/gateways/account.ts"
import { type Answer, answered, type UnaryScene, unaryScene } from "../support/hosts/unaryHosts.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const scene = async (
  ...of: Parameters<typeof unaryScene> extends [unknown, ...infer Rest] ? Rest : never
): Promise<UnaryScene> => {
  const made = await unaryScene("rerank", ...of)
  stops.push(made.stop)
  return made
}

/** Gives these scores, by place. */
const giving =
  (
    scores: ReadonlyArray<readonly [index: number, score: unknown]>,
    more: object = { usage: { total_tokens: 12 } },
  ): Answer =>
  () =>
    Response.json({ results: scores.map(([index, score]) => ({ index, relevance_score: score })), ...more })

const ask = { query: "red fox", documents: ["a fox", { text: "a red fox" }, "none"] }

test("an answer is sorted, has the documents, and is charged by tokens", async () => {
  const { gateway, post, hosts } = await scene({
    one: giving([
      [0, 0.5],
      [1, 0.9],
      [2, -3],
    ]),
  })
  const account = await openAccount(gateway)
  const { status, headers, body } = await answered(
    post({ ...ask, top_n: 2, own_member: 1 }, { headers: { authorization: `Bearer ${account.secret}` } }),
  )
  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.stringMatching(/^gen-/),
    model: "acme/unary",
    provider: "one",
    results: [
      { index: 1, relevance_score: 0.9, document: { text: "a red fox" } },
      { index: 0, relevance_score: 0.5, document: { text: "a fox" } },
    ],
    usage: { total_tokens: 12, cost: 0.000012 },
  })
  expect(headers.get("x-gw-cost-usd")).toBe("0.000012")
  expect(hosts["one"]?.calls.map(({ request, body }) => [new URL(request.url).pathname, body])).toEqual([
    [
      "/v1/rerank",
      { query: "red fox", documents: ["a fox", "a red fox", "none"], top_n: 2, own_member: 1, model: "upstream" },
    ],
  ])
  expect(await account.rows()).toMatchObject([
    { form: "rerank", operation: "rerank", promptTokens: 12, cost: 12_000_000n },
  ])
  expect(await account.reserved()).toBe(0n)
})

test("search units are charged by the price of a request, and kept in the ledger", async () => {
  const facts = { one: { pricing: { prompt: "0", completion: "0", request: "0.002" } } }
  const units = { meta: { billed_units: { search_units: 3 } } }
  const { gateway, post } = await scene({ one: giving([[0, 1]], units) }, facts)
  const account = await openAccount(gateway)
  const { body } = await answered(post(ask, { headers: { authorization: `Bearer ${account.secret}` } }))
  expect(body.usage).toMatchObject({ search_units: 3, cost: 0.006 })
  expect(await account.rows()).toMatchObject([{ cost: 6_000_000_000n, rareUsage: { searchUnits: 3 } }])
  expect(await account.total()).toBe(6_000_000_000n)
})

test("a host that counts no units takes the price of a request once", async () => {
  const facts = { one: { pricing: { prompt: "0", completion: "0", request: "0.002" } } }
  const { post } = await scene({ one: giving([[0, 1]]) }, facts)
  expect((await answered(post(ask))).body.usage).toEqual({ total_tokens: 12, cost: 0.002 })
})

test("the reservation covers the query with every document, and every search unit", async () => {
  const units = { one: { pricing: { prompt: "0", completion: "0", request: "0.002" } } }
  const { gateway, post, hosts } = await scene({ one: giving([[0, 1]]) }, units)
  // 250 documents are three search units at least: six thousandths.
  const key = await gateway.newKey({ limit: 5_999_000_000n })
  const many = { query: "q", documents: Array(250).fill("d") }
  const { status } = await answered(post(many, { headers: { authorization: `Bearer ${key}` } }))
  expect(status).toBe(402)
  expect(hosts["one"]?.calls).toEqual([])
  const tokens = await scene({ one: giving([[0, 1]]) })
  const poor = await tokens.gateway.newKey({ limit: 20_000_000_000n })
  // 200 bytes of query with each of 100 documents are 20,000 tokens at most, beside the documents.
  const repeated = { query: "q".repeat(200), documents: Array(100).fill("d") }
  expect((await tokens.post(repeated, { headers: { authorization: `Bearer ${poor}` } })).status).toBe(402)
})

describe("a host fails", () => {
  test.each([
    ["no results", giving([])],
    ["a place that is not there", giving([[3, 1]])],
    [
      "a place twice",
      giving([
        [0, 1],
        [0, 2],
      ]),
    ],
    ["a score that is no number", giving([[0, "high"]])],
    ["an error with status 200", () => Response.json({ error: { message: "no" } })],
    ["status 500", () => new Response("no", { status: 500 })],
  ] satisfies ReadonlyArray<readonly [string, Answer]>)(
    "with %s: the next one answers, and is paid alone",
    async (_what, answer) => {
      const { gateway, post } = await scene({ one: answer, two: giving([[0, 1]]) })
      const account = await openAccount(gateway)
      const init = { headers: { authorization: `Bearer ${account.secret}` } }
      const { headers } = await answered(post({ ...ask, provider: { order: ["one"] } }, init))
      expect(headers.get("x-gw-host")).toBe("two")
      expect(await account.rows()).toMatchObject([{ host: "two" }])
    },
  )
})

test("an image goes to hosts that take images, and comes back", async () => {
  const documents = ["a", { image: "https://example.com/a.png" }]
  const facts = { one: { input_modalities: ["text"] } }
  const { post, hosts } = await scene({ one: giving([[0, 1]]), two: giving([[1, 1]]) }, facts)
  const { headers, body } = await answered(post({ query: "q", documents }))
  expect(headers.get("x-gw-host")).toBe("two")
  expect(body.results).toEqual([{ index: 1, relevance_score: 1, document: documents[1] }])
  expect(hosts["two"]?.calls[0]?.body["documents"]).toEqual(documents)
})

test("top_n is not asked of a host that does not list it, and holds all the same", async () => {
  const facts = { one: { supported_parameters: ["return_documents"] } }
  const { post, hosts } = await scene(
    {
      one: giving([
        [0, 1],
        [1, 2],
      ]),
    },
    facts,
  )
  const { headers, body } = await answered(post({ ...ask, top_n: 1 }))
  expect(body.results.map(({ index }: { readonly index: number }) => index)).toEqual([1])
  expect(hosts["one"]?.calls[0]?.body).not.toHaveProperty("top_n")
  expect(headers.get("x-gw-dropped")).toBeNull()
})

test.each([
  [{}, "query", "is required"],
  [{ query: "" }, "query", "must be a non-empty string"],
  [{ documents: [] }, "documents", "must have at least 1 entry"],
  [{ documents: [7] }, "documents[0]", "must be a string or an object"],
  [{ documents: [{ title: "a" }] }, "documents[0]", "needs a text or an image"],
  [{ documents: [{ text: 7 }] }, "documents[0].text", "must be a string"],
  [{ top_n: 0 }, "top_n", "must be an integer from 1 to 2147483647"],
  [{ stream: true }, "stream", "must be false: this operation has no streams"],
])("%j is refused", async (wrong, path, message) => {
  const { post } = await scene({ one: giving([[0, 1]]) })
  const body = Object.keys(wrong).length === 0 ? { documents: ["a"] } : { ...ask, ...wrong }
  const answer = await answered(post(body))
  expect(answer.status).toBe(400)
  expect(answer.body.error.metadata.issues).toEqual([{ path, message }])
})

test("H17: a list alone, with scores, as text-embeddings-inference answers", async () => {
  const { post } = await scene({
    one: () =>
      Response.json([
        { index: 1, score: 0.9 },
        { index: 0, score: 0.5 },
        { index: 2, score: 0.1 },
      ]),
  })
  const { status, body } = await answered(post({ ...ask, top_n: 2 }))
  expect(status).toBe(200)
  expect(body.results).toMatchObject([
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.5 },
  ])
  expect(JSON.stringify(body)).not.toContain('"score"')
})
