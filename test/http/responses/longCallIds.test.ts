/** Ids of calls that are longer than OpenAI takes: 40 characters in the chat form, 64 in the Responses form. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { message, responseObject } from "../../support/hosts/responsesHost.ts"

let gateway: TestGateway
let host: ScriptedHost
const apis = ["chat", "responses"] as const

beforeAll(async () => {
  host = scriptedHost(({ input }) =>
    Response.json(
      input === undefined
        ? { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }] }
        : responseObject([message("Hi")]),
    ),
  )
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        ["openai", "azure"].map((slug) => [slug, { base_url: host.url, network: "private", api_key: "k" }]),
      ),
      models: apis.flatMap((api) =>
        ["openai", "azure"].map((provider) => ({
          id: `${provider}/${api}`,
          context_length: 8192,
          hosts: [{ provider, api, model: "m", pricing: { prompt: "0", completion: "0" } }],
        })),
      ),
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

// They differ in the middle only, so any cut would make them alike.
const long = ["a", "b"].map((letter) => `call_${"x".repeat(50)}${letter}${"y".repeat(50)}`)

const bodies: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": {
    messages: [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: null,
        tool_calls: long.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
      },
      ...long.map((id) => ({ role: "tool", tool_call_id: id, content: "1" })),
    ],
  },
  "/messages": {
    max_tokens: 100,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: long.map((id) => ({ type: "tool_use", id, name: "f", input: {} })) },
      { role: "user", content: long.map((id) => ({ type: "tool_result", tool_use_id: id, content: "1" })) },
    ],
  },
  "/responses": {
    input: [
      { role: "user", content: "hi" },
      ...long.map((id) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" })),
      ...long.map((id) => ({ type: "function_call_output", call_id: id, output: "1" })),
    ],
  },
}

/** Ids of the calls and of their results, as the host was sent them. */
const idsIn = ({ messages, input }: Record<string, unknown>) => {
  const text = JSON.stringify(messages ?? input)
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, id]) => id ?? "")
  return messages === undefined
    ? [found(/"function_call","call_id":"([^"]*)"/g), found(/"function_call_output","call_id":"([^"]*)"/g)]
    : [found(/"id":"([^"]*)"/g), found(/"tool_call_id":"([^"]*)"/g)]
}

const cases = apis.flatMap((api) =>
  ["openai", "azure"].flatMap((provider) => Object.keys(bodies).map((path) => [`${provider}/${api}`, path] as const)),
)

test.each(cases)("long ids of calls stay apart, and results keep theirs: %s by %s", async (model, path) => {
  const response = await gateway.call(path, {
    method: "POST",
    body: JSON.stringify({ model, ...bodies[path] }),
    headers: { "content-type": "application/json" },
  })
  await response.text()
  expect(response.status).toBe(200)
  const [calls = [], results = []] = idsIn(host.calls.at(-1)?.body ?? {})
  const most = model.endsWith("/chat") ? 40 : 64
  expect(new Set(calls).size).toBe(2)
  expect(results).toEqual(calls)
  for (const id of calls) expect(id.length).toBeLessThanOrEqual(most)
})
