/** Paths that clients with another base URL call: 404, with where the API is and what to set. docs/errors.md */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Gateway } from "headgate"
import echo from "headgate/providers/echo"
import { type ControlPlane, startControlPlane } from "../support/gateways/control.ts"
import { startGateway } from "../support/gateways/gateway.ts"

let gateway: ControlPlane
beforeAll(async () => {
  gateway = await startControlPlane()
})
afterAll(() => gateway.close())

const hint = "This route does not exist. The API is at /api/v1, its description at /docs."

test.each([
  ["GET", "/", hint],
  ["GET", "/?x=1", hint],
  ["GET", "/v1/models?limit=1", hint],
  ["GET", "/v1/", hint],
  ["GET", "/openai/deployments", hint],
  ["GET", "/api/v1", hint],
  ["GET", "/api/v1/", hint],
  ["GET", "/api/v1/nothing", "This route does not exist."],
  ["GET", "/docs/", "This route does not exist."],
  ["GET", "/favicon.ico", "This route does not exist."],
])("%s %s: %s", async (method, path, message) => {
  const response = await gateway.send(path, { method })
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { code: 404, message, metadata: { error_type: "not_found" } } },
  ])
  expect(response.headers.get("x-content-type-options")).toBe("nosniff")
})

const set = (right: string) => `${hint} Set the base URL of the client to one that ends with ${right}.`
const openai = set("/api/v1")
const anthropic = set("/api, or with /api/v1 if the client adds only /messages to it")

const misplaced = [
  // Of a base URL without the right path, of other vendors', of one that has the operation already, with a doubled slash.
  ["/v1/chat/completions", openai],
  ["/chat/completions", openai],
  ["/api/chat/completions", openai],
  ["/openai/v1/chat/completions", openai],
  ["/openai/deployments/gpt/chat/completions?api-version=1", openai],
  ["/v1/responses", openai],
  ["/responses", openai],
  ["/v1/responses/compact", openai],
  ["/v1/completions", openai],
  ["/v1/embeddings", openai],
  ["/v2/rerank", openai],
  ["/api/v1/v1/chat/completions", openai],
  ["/api/v1/api/v1/responses", openai],
  ["/api/v1/openai/v1/embeddings", openai],
  ["/api/v1/chat/completions/chat/completions", openai],
  ["/api/v1//chat/completions", openai],
  ["/api/v1/chat/completions/", openai],
  ["/v1/threads/thread_1/messages", openai],
] as const
const misplacedMessages = [
  ["/v1/messages", anthropic],
  ["/v1/messages?beta=true", anthropic],
  ["/v1/messages/count_tokens", anthropic],
  ["/anthropic/v1/messages", anthropic],
  ["/api/v1/v1/messages", anthropic],
  ["/api/v1/messages/v1/messages", anthropic],
  ["/messages", openai],
  ["/api/messages", openai],
  ["/api/v1/messages/messages", openai],
] as const

test.each(misplaced)("an agent with a wrong base URL asked for %s and was told too little", async (path, message) => {
  const response = await gateway.send(path, { method: "POST", body: JSON.stringify({ model: "headgate/echo" }) })
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { code: 404, message, metadata: { error_type: "not_found" } } },
  ])
})

test.each(misplacedMessages)(
  "a client of the Messages form asked for %s and could not read the error",
  async (path, message) => {
    const response = await gateway.send(path, { method: "POST", body: "{}" })
    expect([response.status, await response.json()]).toEqual([
      404,
      {
        type: "error",
        error: { type: "not_found_error", message, error_type: "not_found" },
        request_id: response.headers.get("x-gw-request-id"),
      },
    ])
    expect(response.headers.get("x-content-type-options")).toBe("nosniff")
  },
)

test.each(["/api/v1/presets/brief/chat/completions", "/api/v1/audio/speech", "/api/v1/Messages"])(
  "%s has the right base URL, so nothing is said of it",
  async (path) => {
    const response = await gateway.send(path, { method: "POST", body: "{}" })
    expect(await response.json()).toMatchObject({ error: { message: "This route does not exist." } })
  },
)

test("nothing that the caller wrote is repeated", async () => {
  for (const path of ["/%3Cb%3Emarker/v1/messages", "/v1/messages?q=marker", "/v1/marker/chat/completions"]) {
    const response = await gateway.send(path, {
      method: "POST",
      body: "marker",
      headers: { "x-forwarded-host": "marker" },
    })
    expect([path, response.status, /marker/i.test(await response.text())]).toEqual([path, 404, false])
  }
})

test("in an app the message has the prefix, also where the caller left that out", async () => {
  const app = await Gateway.handler({
    plugins: [echo],
    config: { storage: "memory:" },
    prefix: "/llm",
    authenticate: () => null,
  })
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch })
  const errorAt = async (path: string) =>
    JSON.parse(await (await fetch(new URL(path, server.url), { method: "POST", body: "{}" })).text()).error
  try {
    const where = "This route does not exist. The API is at /llm/api/v1, its description at /llm/docs."
    for (const path of ["/llm/v1/chat/completions", "/v1/chat/completions", "/llm/api/v1/v1/chat/completions"]) {
      expect((await errorAt(path)).message).toBe(
        `${where} Set the base URL of the client to one that ends with /llm/api/v1.`,
      )
    }
    for (const path of ["/llm/v1/messages", "/v1/messages"]) {
      const { type, message } = await errorAt(path)
      expect(type).toBe("not_found_error")
      expect(message).toStartWith(
        `${where} Set the base URL of the client to one that ends with /llm/api, or with /llm/api/v1 `,
      )
    }
    expect((await errorAt("/llm/nothing")).message).toBe("This route does not exist.")
  } finally {
    await server.stop(true)
    await app.close()
  }
})

test("an error of the data plane is no page either", async () => {
  const running = await startGateway()
  try {
    const response = await fetch(`${running.url}/chat/completions`, { method: "POST", body: "<script>" })
    expect([response.status, response.headers.get("x-content-type-options")]).toEqual([401, "nosniff"])
  } finally {
    await running.stop()
  }
})
