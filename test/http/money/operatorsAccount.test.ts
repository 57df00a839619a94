/** No form reaches what the operator owns at a host, or buys what no price list names. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { messagesConfig, nativeAnswer } from "../../support/hosts/messages.ts"

let claude: ScriptedHost
let gateway: TestGateway

beforeAll(async () => {
  claude = scriptedHost(() => nativeAnswer([{ type: "text", text: "Hi" }]))
  gateway = await startGateway({ config: messagesConfig({ claude }) })
})

afterAll(async () => {
  await gateway.stop()
  await claude.stop()
})

const turns = [{ role: "user", content: "Hi" }]
const forms: ReadonlyArray<readonly [path: string, body: JsonObject]> = [
  ["/chat/completions", { messages: turns }],
  ["/completions", { prompt: "Hi" }],
  ["/messages", { messages: turns, max_tokens: 10 }],
  ["/responses", { input: "Hi" }],
]
const members: JsonObject = {
  speed: "fast",
  inference_geo: "us",
  container: "container_1",
  mcp_servers: [{ type: "url", url: "https://m.test", name: "m" }],
  previous_response_id: "resp_1",
  conversation: "conv_1",
  vector_store_ids: ["vs_1"],
  cached_content: "cachedContents/1",
  fallback_credit_token: "t",
}

const refusal = async (path: string, body: JsonObject) => {
  const before = claude.calls.length
  const answer = await gateway.call(path, { method: "POST", body: JSON.stringify({ model: "acme/small", ...body }) })
  return { status: answer.status, text: await answer.text(), calls: claude.calls.length - before }
}

test.each(forms.flatMap(([path, body]) => Object.keys(members).map((name) => [path, name, body] as const)))(
  "%s refuses %s, which it passed on to the host",
  async (path, name, body) => {
    const { status, text, calls } = await refusal(path, { ...body, [name]: members[name] })
    expect([status, calls]).toEqual([400, 0])
    expect(text).toContain(name)
  },
)

test.each([
  ["mcp", "tools[0].type", { type: "mcp", server_url: "https://m.test" }],
  ["file_search", "tools[0].type", { type: "file_search", vector_store_ids: ["vs_1"] }],
  ["container", "tools[0].container", { type: "code_interpreter", container: "c_1" }],
])("a chat cannot use the operator's %s", async (_, path, tool) => {
  const { status, text, calls } = await refusal("/chat/completions", { messages: turns, tools: [tool] })
  expect([status, calls]).toEqual([400, 0])
  expect(text).toContain(path)
})

test("a chat cannot read a file that was stored at the host", async () => {
  const content = [{ type: "file", file: { file_id: "file_1" } }]
  const { status, text, calls } = await refusal("/chat/completions", { messages: [{ role: "user", content }] })
  expect([status, calls]).toEqual([400, 0])
  expect(text).toContain("messages[0].content[0].file.file_id")
})
