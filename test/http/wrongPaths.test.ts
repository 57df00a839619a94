/** Paths that clients of other gateways call: 404, with where the API is. docs/errors.md */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type ControlPlane, startControlPlane } from "../support/control.ts"
import { startGateway } from "../support/gateway.ts"

let gateway: ControlPlane
beforeAll(async () => {
  gateway = await startControlPlane()
})
afterAll(() => gateway.close())

const hint = "This route does not exist. The API is at /api/v1, its description at /docs."

test.each([
  ["GET", "/", hint],
  ["GET", "/?x=1", hint],
  ["POST", "/v1/chat/completions", hint],
  ["GET", "/v1/models?limit=1", hint],
  ["POST", "/chat/completions", hint],
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

test("an error of the data plane is no page either", async () => {
  const running = await startGateway()
  try {
    const response = await fetch(`${running.url}/chat/completions`, { method: "POST", body: "<script>" })
    expect([response.status, response.headers.get("x-content-type-options")]).toEqual([401, "nosniff"])
  } finally {
    await running.stop()
  }
})
