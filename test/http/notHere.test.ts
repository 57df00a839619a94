/** What other routers have and this gateway has not: 404 with the error body, whoever asks. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { errorOf } from "../support/clients/answers.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"

const paths: ReadonlyArray<readonly [method: string, path: string]> = [
  ...["GET", "POST"].map((method) => [method, "/guardrails"] as const),
  ...["GET", "PATCH", "DELETE"].map((method) => [method, "/guardrails/6f1a"] as const),
  ["GET", "/guardrails/assignments/keys"],
  ["GET", "/guardrails/assignments/members"],
  ["GET", "/guardrails/6f1a/assignments/keys"],
  ["POST", "/guardrails/6f1a/assignments/keys"],
  ["POST", "/guardrails/6f1a/assignments/keys/remove"],
  ["POST", "/guardrails/6f1a/assignments/members"],
  ["POST", "/guardrails/6f1a/assignments/members/remove"],
  ...["GET", "POST"].map((method) => [method, "/workspaces"] as const),
  ...["GET", "PATCH", "DELETE"].map((method) => [method, "/workspaces/main"] as const),
  ["GET", "/workspaces/main/budgets"],
  ...["GET", "PUT", "DELETE"].map((method) => [method, "/workspaces/main/budgets/daily"] as const),
  ["GET", "/workspaces/main/members"],
  ["POST", "/workspaces/main/members/add"],
  ["POST", "/workspaces/main/members/remove"],
  ["GET", "/organization/members"],
  ["GET", "/presets"],
  ["GET", "/presets/brief"],
  ["GET", "/presets/brief/versions"],
  ["GET", "/presets/brief/versions/1"],
  ["POST", "/presets/brief/chat/completions"],
  ["POST", "/presets/brief/messages"],
  ["POST", "/presets/brief/responses"],
  ["POST", "/auth/keys"],
  ["POST", "/auth/keys/code"],
  ...["GET", "POST"].map((method) => [method, "/byok"] as const),
  ...["GET", "PATCH", "DELETE"].map((method) => [method, "/byok/6f1a"] as const),
  ["POST", "/credits/coinbase"],
  ["POST", "/audio/speech"],
  ["POST", "/images/generations"],
  ["POST", "/videos"],
  ["POST", "/files"],
  ["POST", "/containers"],
  ["POST", "/batches"],
  ["GET", "/benchmarks"],
  ["GET", "/analytics/summary"],
]

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test.each(paths)("%s %s", async (method, path) => {
  for (const key of [gateway.key, gateway.managementKey]) {
    const response = await gateway.call(path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: "{}" }),
    })
    expect(await errorOf(response)).toMatchObject({ code: 404, metadata: { error_type: "not_found" } })
  }
})

test("a response cache is not kept: its header changes nothing, and no answer says that it came from one", async () => {
  const ask = () =>
    gateway.chat(
      { model: "headgate/echo", messages: [{ role: "user", content: "hi" }] },
      { headers: { "x-openrouter-cache": "true" } },
    )
  const answers = [await ask(), await ask()]
  const ids = answers.map(({ headers }) => headers.get("x-generation-id"))
  expect(new Set(ids).size).toBe(2)
  for (const { headers } of answers) {
    expect([...headers.keys()].filter((name) => name.startsWith("x-openrouter-cache"))).toEqual([])
  }
})
