/** The API's description as a whole: it is complete, its references lead somewhere, and answers fit it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Gateway from "../../../src/app/Gateway.ts"
import { DataPlane } from "../../../src/http/data/routes.ts"
import { version } from "../../../src/process/version.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { readCompletionsStream } from "../../../src/testing.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { streamOf } from "../../support/clients/answers.ts"
import { document, faultsIn, references } from "../../support/clients/openApi.ts"
import { json } from "../../support/gateways/control.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  type ScriptedHost,
  scriptedHost,
  sse,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"

const paths: Readonly<Record<string, Readonly<Record<string, { readonly tags?: ReadonlyArray<string> }>>>> =
  document.paths

test("the document has the version of the package, and every operation a summary of one short line", () => {
  expect(document.info.version).toBe(version)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )
  expect(operations.length).toBeGreaterThan(25)
  const summaryOf = (operation: object) => ("summary" in operation ? String(operation.summary) : "")
  const without = operations.filter(([, operation]) => !/^[A-Z][^\n]{3,119}[^.\s]$/.test(summaryOf(operation)))
  expect(without.map(([name, operation]) => [name, summaryOf(operation)])).toEqual([])
})

test("every route of the data plane is described", async () => {
  const surroundings = Layer.mergeAll(Upstream.layer, KeyStore.layer({})).pipe(Layer.provideMerge(memoryStorage))
  const served = await Effect.runPromise(
    Effect.map(DataPlane, ({ handlers }) => [...handlers.keys()]).pipe(
      Effect.provide(Layer.provide(Gateway.services({ plugins: [] }), surroundings)),
      Effect.scoped,
    ),
  )
  const described = Object.entries(paths).flatMap(([path, { post }]) =>
    post?.tags?.includes("inference") === true ? [path] : [],
  )
  expect(described.toSorted()).toEqual(served.map(String).toSorted())
})

test("429 was described for operations that never answer so: it is for reads, signing in, and requests to models", () => {
  const changes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const isOfModels = operation.tags?.includes("inference") === true
      const has429 = "responses" in operation && Object.keys(Object(operation.responses)).includes("429")
      return has429 && method !== "get" && !isOfModels ? [`${method} ${path}`] : []
    }),
  )
  expect(changes).toEqual(["post /api/v1/session"])
  const has = (path: string) => Object.keys(Object(Object(paths[path]?.["get"]).responses)).includes("429")
  expect([has("/api/v1/requests"), has("/api/v1/keys"), has("/api/v1/backup")]).toEqual([true, true, false])
})

test("every reference leads to a schema", () => {
  const schemas = Object.keys(document.components.schemas)
  const wanted = references(document).map((reference) => reference.replace("#/components/schemas/", ""))
  expect(wanted.length).toBeGreaterThan(100)
  expect(wanted.filter((name) => !schemas.includes(name))).toEqual([])
})

test("no operation has the name of another", () => {
  const names = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => ("operationId" in operation ? [operation.operationId] : [])),
  )
  expect(new Set(names).size).toBe(names.length)
})

describe("answers fit their schemas:", () => {
  let host: ScriptedHost
  let gateway: TestGateway
  const toolCall = { id: "c", type: "function", function: { name: "f", arguments: "{}" } }
  const script: Readonly<Record<string, () => Response>> = {
    whole: () => wholeAnswer("hi"),
    tools: () =>
      Response.json({
        choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", tool_calls: [toolCall] } }],
        usage: { prompt_tokens: 3, completion_tokens: 2 },
      }),
    stream: () => streamAnswer(["one", "two"]),
    "tools in a stream": () =>
      sse([
        chunkOf({ delta: { reasoning: "hm" }, finish_reason: null }),
        chunkOf({ delta: { tool_calls: [{ index: 0, ...toolCall }] }, finish_reason: null }),
        chunkOf({ delta: {}, finish_reason: "tool_calls" }),
        "[DONE]",
      ]),
  }
  const held = Promise.withResolvers<HeldStream>()
  beforeAll(async () => {
    host = scriptedHost(({ messages }, request) => {
      const [turn] = Array.isArray(messages) ? messages : []
      if (turn?.content === "held") {
        const stream = heldStream(request)
        held.resolve(stream)
        return stream.response
      }
      return script[turn?.content]?.() ?? new Response("no", { status: 500 })
    })
    gateway = await gatewayWithoutSocket({ config: configFor({ acme: { url: host.url } }) })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  const ask = (content: string, stream: boolean) =>
    gateway.chat(
      { model: "acme/small", messages: [{ role: "user", content }], stream },
      { headers: { "x-openrouter-metadata": "enabled" } },
    )

  test.each(["whole", "tools"])("%s", async (content) => {
    const response = await ask(content, false)
    expect(response.status).toBe(200)
    expect(faultsIn("ChatAnswer", await response.json())).toEqual([])
  })

  test("a stream that breaks off", async () => {
    const asked = ask("held", true)
    const stream = await held.promise
    stream.send(chunkOf({ delta: { content: "one" }, finish_reason: null }))
    const response = await asked
    stream.send('{"error":{"code":500,"message":"no"}}')
    const { chunks, last } = await streamOf(response)
    expect(last).toHaveProperty("error")
    expect(chunks.flatMap((chunk) => faultsIn("ChatChunk", chunk))).toEqual([])
  })

  test.each(["stream", "tools in a stream"])("%s", async (content) => {
    const { chunks } = await streamOf(await ask(content, true))
    expect(chunks.flatMap((chunk) => faultsIn("ChatChunk", chunk))).toEqual([])
  })

  test("an error", async () => {
    const response = await ask("nothing", false)
    expect(response.status).toBe(502)
    const body = await response.json()
    expect(body).toHaveProperty("openrouter_metadata")
    expect(faultsIn("Error", body)).toEqual([])
  })

  test("the same of the Messages form", async () => {
    const post = (content: string, path = "/messages") =>
      gateway.call(path, {
        method: "POST",
        body: JSON.stringify({ model: "acme/small", max_tokens: 10, messages: [{ role: "user", content }] }),
      })
    for (const content of ["whole", "tools"]) {
      const response = await post(content)
      expect(response.status).toBe(200)
      expect(faultsIn("MessagesAnswer", await response.json())).toEqual([])
    }
    expect(faultsIn("MessagesError", await (await post("nothing")).json())).toEqual([])
    expect(await json(await post("whole", "/messages/count_tokens"))).toEqual({ input_tokens: expect.any(Number) })
  })

  test("the same of legacy completions", async () => {
    const post = (prompt: string, stream = false) =>
      gateway.call("/completions", {
        method: "POST",
        body: JSON.stringify({ model: "acme/small", max_tokens: 10, prompt, stream }),
      })
    expect(faultsIn("CompletionAnswer", await (await post("whole")).json())).toEqual([])
    const chunks = readCompletionsStream(await (await post("stream", true)).text())
    expect(chunks.flatMap((chunk) => faultsIn("CompletionChunk", chunk))).toEqual([])
    expect(faultsIn("Error", await (await post("nothing")).json())).toEqual([])
  })

  test("the same of the Responses form", async () => {
    const post = (input: string) =>
      gateway.call("/responses", { method: "POST", body: JSON.stringify({ model: "acme/small", input }) })
    for (const input of ["whole", "tools"]) {
      const response = await post(input)
      expect(response.status).toBe(200)
      expect(faultsIn("ResponsesAnswer", await response.json())).toEqual([])
    }
    expect(faultsIn("Error", await (await post("nothing")).json())).toEqual([])
  })

  test("an explanation", async () => {
    const body = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
    const response = await gateway.call("/route/explain", { method: "POST", body: JSON.stringify(body) })
    expect(response.status).toBe(200)
    expect(faultsIn("Explanation", (await json(response)).data)).toEqual([])
  })
})
