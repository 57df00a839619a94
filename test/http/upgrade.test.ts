/** What a client gets that asks for a WebSocket at the Responses form, as Codex does before its first request. docs/responses.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Gateway, parseUsd } from "headgate"
import echo from "headgate/providers/echo"
import { answersIn, rawCaller, requestOf } from "../support/clients/rawCaller.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"

let gateway: TestGateway
let app: Gateway.Handler
let server: Bun.Server<undefined>
beforeAll(async () => {
  gateway = await startGateway()
  app = await Gateway.handler({
    plugins: [echo],
    config: { storage: "memory:" },
    prefix: "/llm",
    authenticate: (secret) => (secret === "staff" ? { id: "staff", limit: parseUsd("1") ?? 0n } : null),
  })
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: app.fetch })
})
afterAll(async () => {
  await server.stop(true)
  await app.close()
  await gateway.stop()
})

const upgrade = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version": "13",
}

/** The answers to requests that are sent one after the other over one connection. */
const answersTo = async (url: string, ...requests: ReadonlyArray<string>): Promise<ReadonlyArray<Response>> => {
  const caller = rawCaller(url)
  let received = ""
  for (const [at, request] of requests.entries()) {
    caller.send(request)
    received = await caller.until((bytes) => answersIn(bytes).length > at)
  }
  caller.hangUp()
  return answersIn(received)
}

const ask = async (url: string, path: string, headers: Readonly<Record<string, string>>): Promise<Response> => {
  const [answer] = await answersTo(url, requestOf(`GET ${path}`, headers))
  if (answer === undefined) throw new Error("no answer")
  return answer
}

const seen = async (answer: Response) => ({
  status: answer.status,
  upgrade: answer.headers.get("upgrade"),
  connection: answer.headers.get("connection"),
  body: await answer.json(),
})

const refused = {
  status: 426,
  upgrade: "HTTP/1.1",
  connection: "upgrade",
  body: {
    error: {
      code: 426,
      message: "This gateway speaks no WebSocket: send the request with POST, over HTTP.",
      metadata: { error_type: "upgrade_required" },
      type: "upgrade_required",
    },
  },
}
const notThere = { status: 404, body: { error: { code: 404, metadata: { error_type: "not_found" } } } }

const places = [
  ["served by itself", () => ({ url: gateway.url, path: "/api/v1/responses", key: gateway.key })],
  ["in an app", () => ({ url: server.url.href, path: "/llm/api/v1/responses", key: "staff" })],
] as const

describe.each(places)("a gateway %s", (_name, place) => {
  test("Codex asked for a WebSocket seven times, since each time it got 404: it gets 426 with what is spoken here", async () => {
    const { url, path, key } = place()
    const answer = await ask(url, path, { ...upgrade, Authorization: `Bearer ${key}` })
    expect(answer.headers.get("x-gw-request-id")).toStartWith("req_")
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
    expect(await seen(answer)).toEqual(refused)
  })

  test("the name of the protocol in any case, and among others", async () => {
    const { url, path, key } = place()
    for (const name of ["WebSocket", "h2c, websocket", "HTTP/2.0 , WEBSOCKET"]) {
      const answer = await ask(url, path, { ...upgrade, Upgrade: name, "X-Api-Key": key })
      expect([name, await seen(answer)]).toEqual([name, refused])
    }
  })

  test("without a key, or with a wrong one, 401", async () => {
    const { url, path } = place()
    for (const headers of [upgrade, { ...upgrade, Authorization: "Bearer sk-gw-nobody" }]) {
      const answer = await ask(url, path, headers)
      expect([answer.status, answer.headers.get("upgrade")]).toEqual([401, null])
    }
  })

  test("any other GET is 404 as on every path, whoever asks", async () => {
    const { url, path, key } = place()
    for (const headers of [{}, { Connection: "Upgrade", Upgrade: "h2c" }, { "Sec-WebSocket-Version": "13" }]) {
      for (const authorization of ["", `Bearer ${key}`]) {
        const answer = await ask(url, path, { ...headers, Authorization: authorization })
        expect(await seen(answer)).toMatchObject(notThere)
        expect(answer.headers.get("upgrade")).toBeNull()
      }
    }
  })

  test("other paths speak no WebSocket either, and are 404", async () => {
    const { url, path, key } = place()
    const headers = { ...upgrade, Authorization: `Bearer ${key}` }
    for (const other of ["/", "/api/v1/chat/completions", "/api/v1/responses/", "/api/v1/realtime"]) {
      const answer = await ask(url, path.replace("/api/v1/responses", other), headers)
      expect([other, answer.status]).toEqual([other, 404])
    }
  })
})

test("the request that follows over the same connection is served", async () => {
  const authorization = { Authorization: `Bearer ${gateway.key}` }
  const answers = await answersTo(
    gateway.url,
    requestOf("GET /api/v1/responses", { ...upgrade, ...authorization }),
    requestOf(
      "POST /api/v1/responses",
      { ...authorization, "Content-Type": "application/json" },
      JSON.stringify({ model: "headgate/echo", input: "hi" }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([426, 200])
})

test("a management key is told that it cannot call models", async () => {
  const answer = await ask(gateway.url, "/api/v1/responses", {
    ...upgrade,
    Authorization: `Bearer ${gateway.managementKey}`,
  })
  expect(answer.status).toBe(403)
})

test("the attempt does not count against the key's rate limit, which the request over HTTP is for", async () => {
  const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } })
  const headers = { Authorization: `Bearer ${key}` }
  const statuses: Array<number> = []
  for (let times = 0; times < 3; times++) {
    statuses.push((await ask(gateway.url, "/api/v1/responses", { ...upgrade, ...headers })).status)
  }
  const body = JSON.stringify({ model: "headgate/echo", input: "hi" })
  for (let times = 0; times < 2; times++) {
    const response = await fetch(`${gateway.url}/responses`, { method: "POST", headers, body })
    statuses.push(response.status)
  }
  expect(statuses).toEqual([426, 426, 426, 200, 429])
})

test("a WebSocket client of the runtime is not let in", async () => {
  const url = `${gateway.url.replace("http:", "ws:")}/responses`
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${gateway.key}` } })
  const ended = Promise.withResolvers<string>()
  socket.onopen = () => ended.resolve("open")
  socket.onclose = () => ended.resolve("closed")
  expect(await ended.promise).toBe("closed")
})
