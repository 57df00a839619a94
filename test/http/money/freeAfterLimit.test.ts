/** A key whose limit is used up, and models that cost nothing. docs/keys.md#limit */
import { afterEach, describe, expect, test } from "bun:test"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import type { NewKey } from "../../../src/services/keys/KeyStore.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const databases: ReadonlyArray<readonly ["memory" | "PostgreSQL"]> = hasPostgres
  ? [["memory"], ["PostgreSQL"]]
  : [["memory"]]

const vectors = () =>
  Response.json({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  })

const started = async (database: "memory" | "PostgreSQL") => {
  const host = scriptedHost((body, request) => {
    if (new URL(request.url).pathname.endsWith("/embeddings")) return vectors()
    return body["stream"] === true ? streamAnswer(["Hello"]) : wholeAnswer("Hello")
  })
  closing.push(host.stop)
  const model = (id: string, price: string, modality = "text") => ({
    ...{ id, name: id, created: 1_760_000_000, context_length: 8192 },
    architecture: { input_modalities: ["text"], output_modalities: [modality] },
    hosts: [{ provider: "local", model: id, pricing: { prompt: price, completion: price } }],
  })
  const gateway = await startGateway({
    config: {
      providers: { local: { plugin: "openai-compatible", base_url: host.url, network: "private", api_key: "k" } },
      models: [
        model("acme/paid", "0.000001"),
        model("acme/free", "0"),
        { ...model("acme/unpriced", "0"), hosts: [{ provider: "local", model: "acme/unpriced" }] },
        model("acme/vectors", "0", "embeddings"),
      ],
    },
    ...(database === "PostgreSQL" && {
      storage: postgresAt(await makeDatabase()),
    }),
  })
  closing.push(gateway.stop)
  const keyWith = async (options: Partial<NewKey>) => {
    const secret = await gateway.newKey(options)
    return async (path: string, body: Readonly<Record<string, unknown>>) => {
      const response = await gateway.call(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      })
      const text = await response.text()
      return { status: response.status, text }
    }
  }
  return { host, keyWith }
}

const messages = [{ role: "user", content: "hello" }]
const memberOf = (text: string, name: string): unknown => {
  const body: unknown = JSON.parse(text)
  return isJsonObject(body) ? body[name] : undefined
}

describe.each(databases)("a key whose limit is used up, %s", (database) => {
  test.each<[string, Partial<NewKey>]>([
    ["limit 0", { limit: 0n }],
    ["limit 0 of each month", { limit: 0n, limitReset: "monthly" }],
    ["one picodollar", { limit: 1n }],
  ])(
    "got 402 for models that cost nothing: %s",
    async (_, options) => {
      const { host, keyWith } = await started(database)
      const ask = await keyWith(options)
      const chat = (more: object) => ask("/chat/completions", { messages, ...more })
      for (const stream of [false, true]) {
        expect(await chat({ model: "acme/free", stream })).toMatchObject({ status: 200 })
        expect(await chat({ model: "acme/free", max_tokens: 50, stream })).toMatchObject({ status: 200 })
      }
      expect(await ask("/messages", { model: "acme/free", max_tokens: 50, messages })).toMatchObject({ status: 200 })
      expect(await ask("/responses", { model: "acme/free", input: "hello" })).toMatchObject({ status: 200 })
      expect(await ask("/completions", { model: "acme/free", prompt: "hello" })).toMatchObject({ status: 200 })
      expect(await ask("/embeddings", { model: "acme/vectors", input: "hello" })).toMatchObject({ status: 200 })
      // A body of more than a megabyte was refused unread.
      const long = [{ role: "user", content: `${" ".repeat(1_100_000)}hello` }]
      expect((await chat({ model: "acme/free", messages: long })).status).toBe(400)
      const called = host.calls.length

      const refused = await chat({ model: "acme/paid" })
      expect(refused.status).toBe(402)
      expect((await chat({ model: "acme/unpriced" })).status).toBe(402)
      expect(host.calls.length).toBe(called)

      const mixed = await chat({ models: ["acme/paid", "acme/free"] })
      expect([mixed.status, memberOf(mixed.text, "model")]).toEqual([200, "acme/free"])
    },
    1_800_000,
  )

  test("reaches only those that it may use", async () => {
    const { keyWith } = await started(database)
    const other = await keyWith({ limit: 0n, allowedModels: ["acme/paid"] })
    expect((await other("/chat/completions", { model: "acme/free", messages })).status).toBe(403)
    const none = await keyWith({ limit: 0n, allowedProviders: ["nobody"] })
    expect((await none("/chat/completions", { model: "acme/free", messages })).status).toBe(403)
  }, 1_800_000)
})
