/** Models that call tools in whole answers only, such as Llama at Bedrock: a stream is written out of one. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type JsonObject, objectIn, objectsIn } from "../../src/domain/json/json.ts"
import { streamOf } from "../support/clients/answers.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../support/hosts/host.ts"

let gateway: TestGateway
let host: ScriptedHost
let paths: Array<string> = []

beforeAll(async () => {
  host = scriptedHost((_, request) => {
    paths.push(new URL(request.url).pathname)
    if (request.url.endsWith("/converse-stream"))
      return Response.json({ message: "This model doesn't support tool use in streaming mode." }, { status: 400 })
    const content = [{ toolUse: { toolUseId: "t1", name: "weather", input: { city: "Rome" } } }]
    const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 }
    return Response.json({ output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage })
  })
  const model = "meta.llama3-3-70b-instruct-v1:0"
  const hosts = [{ provider: "bedrock", model, pricing: { prompt: "0", completion: "0" } }]
  gateway = await startGateway({
    config: {
      providers: { bedrock: { base_url: host.url, network: "private", api_key: "k", region: "us-east-1" } },
      models: [{ id: "ours/llama", context_length: 8192, hosts }],
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

test("a client that streams gets the call and the usage", async () => {
  paths = []
  const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }]
  const messages = [{ role: "user", content: "Where?" }]
  const response = await gateway.chat({ model: "ours/llama", stream: true, messages, tools })
  const { chunks } = await streamOf(response)
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }): JsonObject => objectIn(delta)))
  const [call] = deltas.flatMap((delta) => objectsIn(delta["tool_calls"]))
  expect(call?.["function"]).toEqual({ name: "weather", arguments: '{"city":"Rome"}' })
  const last = chunks.at(-1)
  expect([last?.choices[0]?.finish_reason, objectIn(last?.usage)["prompt_tokens"]]).toEqual(["tool_calls", 20])
  expect(paths.every((path) => path.endsWith("/converse"))).toBe(true)
})
