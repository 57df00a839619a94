/** `Gateway.handler` in frameworks without Effect: mounted in Hono under a prefix, and as it is. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import { Gateway, parseUsd } from "headgate"
import { defineStrategy } from "headgate/plugin"
import echo from "headgate/providers/echo"
import openaiCompatible from "headgate/providers/openai-compatible"
import { Hono } from "hono"
import { rawCaller, requestOf } from "../support/clients/rawCaller.ts"
import { until } from "../support/clocks/until.ts"
import { configFor } from "../support/hosts/host.ts"
import { delta } from "../support/hosts/rawAnswers.ts"
import { type RawHost, rawHost, streamHead } from "../support/hosts/rawHost.ts"

const managementKey = "sk-of-the-operator-0123456789abcdef"

let host: RawHost
let gateway: Gateway.Handler
let server: Bun.Server<undefined>
let headers: Record<string, string>

beforeAll(async () => {
  // Says one word of an answer, and then nothing more.
  host = rawHost((peer) => {
    peer.write(streamHead)
    peer.write(delta("one"))
  })
  gateway = await Gateway.handler({
    plugins: [echo, openaiCompatible],
    config: { ...configFor({ a: host }), storage: "memory:", server: { drain_s: 0 } },
    prefix: "/llm",
    managementKey,
  })
  const app = new Hono()
  app.get("/", (c) => c.text("our own page"))
  app.all("/llm/*", (c) => gateway.fetch(c.req.raw))
  app.notFound((c) => c.text("our own 404", 404))
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: app.fetch })
  const made = await fetch(new URL("/llm/api/v1/keys", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "app" }),
  })
  headers = { Authorization: `Bearer ${(await json(made)).key}`, "Content-Type": "application/json" }
})
afterAll(async () => {
  await server.stop(true)
  await gateway.close()
  await host.stop()
})

const json = async (response: Response) => JSON.parse(await response.text())
const get = (path: string) => fetch(new URL(path, server.url), { headers })
const body = (members: object = {}) =>
  JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "one two three" }], ...members })
const chat = (members?: object) =>
  fetch(new URL("/llm/api/v1/chat/completions", server.url), { method: "POST", headers, body: body(members) })

describe("in Hono, under a prefix", () => {
  test("the app's own pages and its own 404 stay", async () => {
    expect(await (await get("/")).text()).toBe("our own page")
    for (const path of ["/nothing", "/api/v1/models", "/llmapi"])
      expect(await (await get(path)).text()).toBe("our own 404")
  })

  test("a whole answer", async () => {
    const answer = await chat()
    expect(answer.status).toBe(200)
    expect((await json(answer)).choices[0].message.content).toBe("one two three")
    expect(answer.headers.get("x-gw-cost-usd")).toBe("0.000009")
  })

  test("a streamed answer", async () => {
    const text = await (await chat({ stream: true })).text()
    const said = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, event = ""]) => JSON.parse(event))
    expect(said.map(({ choices }) => choices[0].delta.content).join("")).toBe("one two three")
    expect(text.trimEnd()).toEndWith("data: [DONE]")
  })

  test.each([
    ["before the host has said anything that a caller sees", false],
    ["amid a stream", true],
  ])("a caller who leaves %s ends the call to the host", async (_name, stream) => {
    const before = host.requests()
    const caller = rawCaller(new URL("/llm", server.url).href)
    caller.send(requestOf("POST /llm/api/v1/chat/completions", headers, body({ model: "acme/small", stream })))
    if (stream) await caller.until((got) => got.includes("one"))
    else await until(() => host.requests() > before, "the call")
    caller.hangUp()
    await until(() => host.open() === 0, "the host's connection")
  })

  test("the API's description and its links have the prefix", async () => {
    const { paths } = await json(await get("/llm/api/v1/openapi.json"))
    expect(Object.keys(paths).filter((path) => !path.startsWith("/llm/"))).toEqual([])
    expect(paths["/llm/api/v1/chat/completions"].post).toBeDefined()
    expect(paths["/llm/api/v1/keys"].get).toBeDefined()
    expect(await (await get("/llm/docs")).text()).toContain("/llm/api/v1/chat/completions")
    const { data } = await json(await get("/llm/api/v1/models"))
    expect(data[0].links.details).toStartWith("/llm/api/v1/models/")
    expect((await get(data[0].links.details)).status).toBe(200)
  })

  test("what is unknown below the prefix is a documented 404, and so is another spelling", async () => {
    for (const path of ["/llm/nothing", "/llm/api/v1/nothing", "/llm/api/v1//models", "/llm/llm/api/v1/models"]) {
      const answer = await get(path)
      expect([path, answer.status, (await json(answer)).error?.code]).toEqual([path, 404, 404])
    }
  })
})

describe("as it is", () => {
  test("the app says who may call, and what they may spend", async () => {
    const own = await Gateway.handler({
      plugins: [echo],
      config: { storage: "memory:" },
      authenticate: async (secret) =>
        secret === "session" ? { id: "staff", limit: parseUsd("0.000004") ?? null } : null,
    })
    const ask = (secret: string) =>
      own.fetch(
        new Request("http://app.test/api/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          body: body(),
        }),
      )
    expect((await ask("somebody")).status).toBe(401)
    expect((await ask("session")).status).toBe(402)
    await own.close()
    await own.close()
    // Whatever is asked for then is refused alike, also what reads the storage, which is closed.
    for (const path of ["chat/completions", "models", "key", "nothing"]) {
      const method = path === "chat/completions" ? "POST" : "GET"
      const refused = await own.fetch(new Request(`http://localhost/api/v1/${path}`, { method }))
      expect([path, refused.status, (await json(refused)).error.metadata.error_type]).toEqual([path, 503, "draining"])
    }
    expect((await ask("session")).status).toBe(503)
  })

  test("what is wrong is said before it answers anything", async () => {
    const plugins = [echo]
    const tried = (options: Partial<Gateway.HandlerOptions>) =>
      Gateway.handler({ plugins, config: { storage: "memory:" }, ...options }).then(
        () => "no failure",
        (cause: Error) => cause.message,
      )
    expect(await tried({})).toContain("managementKey: is required")
    expect(await tried({ config: { aliases: { ours: "headgate/ecko" } } })).toContain("headgate/echo")
    expect(await tried({ managementKey, prefix: "/llm/" })).toContain('such as "/llm"')
    expect(await tried({ managementKey: "short" })).toContain("at least 32")
    expect(await tried({ managementKey, config: { storage: "sqlite:/proc/nowhere/keys.db" } })).toContain(
      "/proc/nowhere",
    )
  })
})

describe("an app's own callers", () => {
  const answered = async (caller: Gateway.Caller | Error) => {
    const gateway = await Gateway.handler({
      plugins: [echo],
      config: { storage: "memory:" },
      authenticate: () => {
        if (caller instanceof Error) throw caller
        return caller
      },
    })
    const response = await gateway.fetch(
      new Request("http://app/api/v1/chat/completions", {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json" },
        body: body(),
      }),
    )
    await gateway.close()
    return response.status
  }

  test("who is disabled or has expired was let in", async () => {
    expect(await answered({ id: "a", disabled: true })).toBe(401)
    expect(await answered({ id: "a", expiresAt: 1 })).toBe(401)
    expect(await answered({ id: "a", disabled: false, expiresAt: Date.now() + 60_000 })).toBe(200)
  })

  test("an amount that could not be read was a 500 for some members, and must not be without a limit", async () => {
    expect(await answered({ id: "a", limit: parseUsd("2,50") })).toBe(500)
    expect(await answered({ id: "a", limit: parseUsd("2.50") })).toBe(200)
    expect(await answered({ id: "a", limit: null })).toBe(200)
  })

  test("members that are undefined are left out", async () => {
    const nothing = { allowedModels: undefined, expiresAt: undefined, kind: undefined, label: undefined }
    expect(await answered({ id: "a", ...nothing })).toBe(200)
  })

  test("a database of the app that is away is a 503", async () => {
    expect(await answered(new Error("connection refused"))).toBe(503)
  })
})

describe("an app that cannot say who is calling", () => {
  const asking = async (
    authenticate: NonNullable<Gateway.HandlerOptions["authenticate"]>,
    config: NonNullable<Gateway.HandlerOptions["config"]>,
    path = "chat/completions",
  ) => {
    const gateway = await Gateway.handler({ plugins: [echo], config: { storage: "memory:", ...config }, authenticate })
    const answer = gateway.fetch(
      new Request(`http://app/api/v1/${path}`, {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json" },
        body: body(),
      }),
    )
    return { gateway, answer }
  }

  test("was told of a database that is well, and its log had no reason: both say what is true", async () => {
    const { gateway, answer } = await asking(() => Promise.reject(new Error("the sessions are away")), {})
    const response = await answer
    expect([response.status, (await json(response)).error]).toMatchObject([
      503,
      {
        message: "It could not be checked who is calling; the gateway's log says why.",
        metadata: { error_type: "authentication_unavailable" },
      },
    ])
    await gateway.close()
    const app = `
      import { Gateway } from "headgate"
      import echo from "./plugins/providers/echo/index.ts"
      const authenticate = () => Promise.reject(new Error("the sessions are away"))
      const gateway = await Gateway.handler({ plugins: [echo], config: { storage: "memory:" }, authenticate })
      const headers = { authorization: "Bearer x", "content-type": "application/json" }
      await gateway.fetch(new Request("http://app/api/v1/embeddings", { method: "POST", headers, body: "{}" }))
      await gateway.close()`
    const env = { PATH: process.env["PATH"] ?? "", HEADGATE_LOG_FORMAT: "logfmt" }
    const child = Bun.spawn([process.execPath, "-e", app], { cwd: `${import.meta.dir}/../..`, env, stderr: "pipe" })
    const lines = await child.stderr.text()
    expect(lines).toContain('event=authenticate_failed message="authenticate failed"')
    expect(lines).toContain("the sessions are away")
  })

  test.each(["chat/completions", "route/explain", "messages/count_tokens"])(
    "held its request for ever: the deadline ends it, %s",
    async (path) => {
      const { gateway, answer } = await asking(() => new Promise(() => {}), { limits: { deadline_ms: 300 } }, path)
      expect((await answer).status).toBe(408)
      await gateway.close()
    },
  )

  test("held the gateway's end: the drain ends its request", async () => {
    const { gateway, answer } = await asking(() => new Promise(() => {}), { server: { drain_s: 0 } })
    await gateway.close()
    expect((await answer).status).toBe(503)
  })
})

/** The hosts in the opposite order of the configuration. */
const reversed = defineStrategy({
  id: "reversed",
  config: Schema.Struct({}),
  load: () => (candidates) => candidates.toReversed(),
})

describe("the strategies of an embedded gateway", () => {
  const pricing = (prompt: string) => ({ prompt, completion: prompt })
  const config = {
    storage: "memory:",
    discovery: { environment: false },
    providers: {
      dear: { plugin: "openai-compatible", base_url: "https://dear.example/v1", api_key: "x" },
      cheap: { plugin: "openai-compatible", base_url: "https://cheap.example/v1", api_key: "x" },
    },
    models: [
      {
        id: "acme/small",
        context_length: 8192,
        hosts: [
          { provider: "dear", model: "small", pricing: pricing("0.00001") },
          { provider: "cheap", model: "small", pricing: pricing("0.000001") },
        ],
      },
    ],
  } as const
  const explained = async (members: object, routing = {}) => {
    const gateway = await Gateway.handler({
      plugins: [openaiCompatible],
      config: { ...config, routing },
      authenticate: () => ({ id: "ann" }),
    })
    const response = await gateway.fetch(
      new Request("http://app/api/v1/route/explain?seed=1", {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json" },
        body: body({ model: "acme/small", ...members }),
      }),
    )
    await gateway.close()
    return (await json(response)).data
  }

  test("were missing, and hosts were tried in the order of the configuration, whatever a caller asked for", async () => {
    const { strategy, attempts } = await explained({ provider: { sort: "price" } })
    expect([strategy, attempts.map(({ host }: { host: string }) => host)]).toEqual(["price", ["cheap", "dear"]])
    expect((await explained({})).strategy).toBe("balanced")
  })

  test("do not have one that is not installed", async () => {
    await expect(explained({}, { strategy: "nope" })).rejects.toThrow(
      'routing.strategy: expected one of balanced, cheapest-warm, exacto, latency, price, throughput, got "nope"',
    )
  })

  test("are joined by plugins of the configuration, without which its providers have none", async () => {
    const started = (plugins: object) =>
      Gateway.handler({ plugins: [], config: { ...config, ...plugins }, authenticate: () => ({ id: "ann" }) })
    const gateway = await started({
      plugins: { inline: [openaiCompatible, reversed] },
      routing: { strategy: "reversed" },
    })
    const response = await gateway.fetch(
      new Request("http://app/api/v1/route/explain?seed=1", {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json" },
        body: body({ model: "acme/small" }),
      }),
    )
    await gateway.close()
    const { strategy, attempts } = (await json(response)).data
    expect([strategy, attempts.map(({ host }: { host: string }) => host)]).toEqual(["reversed", ["cheap", "dear"]])
    await expect(started({})).rejects.toThrow("openai-compatible")
  })
})

test("a management key beside `authenticate` was ignored", async () => {
  const both = Gateway.handler({ plugins: [echo], managementKey, authenticate: () => null })
  await expect(both).rejects.toThrow("managementKey: has no effect beside `authenticate`")
})
