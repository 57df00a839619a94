/** The description of rerank against its decoder, and against answers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { decodeRerank } from "../../../src/formats/rerank/rerankRequest.ts"
import { agreement, faultsIn, values } from "../../support/clients/openApi.ts"
import { answered, type UnaryScene, unaryScene } from "../../support/hosts/unaryHosts.ts"

const expectAgreement = agreement("RerankRequest", (body) => decodeRerank(body))

const fine: JsonObject = { model: "acme/unary", query: "red fox", documents: ["a fox"] }

const documents: ReadonlyArray<unknown> = [
  ...["", "a fox", null, 5, [], {}],
  { text: "a fox" },
  { text: "" },
  { text: null },
  { text: 5 },
  { image: "https://x.test/a.png" },
  { image: 5 },
  { text: "a fox", image: null },
  { text: null, image: "x" },
  { text: null, image: null },
  { text: "a fox", image: 5 },
  { title: "a fox" },
  { text: "a fox", title: 5 },
]

const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  documents: [
    ...documents.flatMap((document) => [[document], ["a", document]]),
    Array(2048).fill("a"),
    Array(2049).fill("a"),
  ],
  plugins: [[{ id: "web", enabled: false }], [{ id: "web" }]],
  provider: [{ only: ["acme"] }, { only: "acme" }, { sort: "price" }],
}

const names = [
  ...["model", "models", "provider", "route", "preset", "stream", "stream_options", "usage", "service_tier", "user"],
  ...["cache_control", "prompt_cache_key", "prompt_cache_options", "session_id", "metadata", "trace", "plugins"],
  ...["transforms", "stop_server_tools_when", "debug", "query", "documents", "top_n", "return_documents"],
  ...["temperature", "max_tokens", "messages", "api_key", "unheard_of"],
]

test("schema and decoder agree on every member with every value", () => {
  for (const name of names) {
    for (const value of [...values, ...(near[name] ?? [])]) expectAgreement({ ...fine, [name]: value })
  }
  for (const missing of ["model", "query", "documents"]) {
    expectAgreement(Object.fromEntries(Object.entries(fine).filter(([name]) => name !== missing)))
  }
})

describe("answers fit their schema:", () => {
  let scene: UnaryScene
  beforeAll(async () => {
    scene = await unaryScene("rerank", {
      acme: ({ query }) => {
        if (query === "nothing") return new Response("no", { status: 500 })
        const units = query === "units" ? { meta: { billed_units: { search_units: 2 } } } : {}
        const results = [0, 1].map((index) => ({ index, relevance_score: index - 0.5 }))
        return Response.json({ results, usage: { total_tokens: 12 }, ...units })
      },
    })
  })
  afterAll(() => scene.stop())

  const ask = (query: string) => {
    const documents = ["a fox", { text: null, image: "https://x.test/a.png", title: "A fox" }]
    return answered(scene.post({ query, documents }, { headers: { "x-openrouter-metadata": "enabled" } }))
  }

  test.each([
    ["tokens", undefined],
    ["units", 2],
  ])("of a host that counts %s", async (query, units) => {
    const { status, body } = await ask(query)
    expect([status, body.results.length, body.usage.search_units]).toEqual([200, 2, units])
    expect(body).toHaveProperty("openrouter_metadata")
    expect(faultsIn("RerankAnswer", body)).toEqual([])
  })

  test("an error", async () => {
    const { status, body } = await ask("nothing")
    expect(status).toBe(502)
    expect(faultsIn("Error", body)).toEqual([])
  })
})
