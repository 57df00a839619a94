/** A model calls tools that nobody offered, and the conversation goes on. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { scriptedHost } from "../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

closeAfterEach()

const invented = ["$READFILE", "functions.read", "read<|channel|>commentary", "x".repeat(140), "", "read"]
const fitting = /^[a-zA-Z0-9_-]{1,128}$/

/** A host of a plugin that refuses everything, and a gateway before it. What it was sent is what counts. */
const sceneOf = async (plugin: string, api?: string) => {
  const host = opened(scriptedHost(() => Response.json({ error: { message: "no" } }, { status: 400 })))
  const gateway = await startWatched({
    config: {
      providers: { host: { plugin, base_url: host.url, network: "private", api_key: "key-of-host" } },
      models: [
        {
          ...{ id: "acme/small", context_length: 8192 },
          hosts: [{ provider: "host", model: "upstream", ...(api === undefined ? {} : { api }) }],
        },
      ],
    },
  })
  return { host, gateway }
}

const post = (path: string, key: string, body: object) => ({
  path,
  init: {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", ...body }),
  },
})

const id = (at: number) => `call_${at}`

test("a Messages client of Anthropic sent names that Anthropic refuses", async () => {
  const { host, gateway } = await sceneOf("anthropic")
  const { path, init } = post("/messages", gateway.key, {
    max_tokens: 20,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: invented.map((name, at) => ({ type: "tool_use", id: id(at), name, input: {} })) },
      { role: "user", content: invented.map((_, at) => ({ type: "tool_result", tool_use_id: id(at), content: "no" })) },
    ],
  })
  await (await gateway.call(path, init)).text()
  const [call] = host.calls
  expect(JSON.parse(JSON.stringify(call?.body["messages"]))).toMatchObject([
    {},
    {
      content: [
        { name: "_READFILE" },
        { name: "functions_read" },
        { name: "read_channel_commentary" },
        { name: "x".repeat(128) },
        { name: "unnamed" },
        { name: "read" },
      ],
    },
    {},
  ])
})

test("a Responses client of OpenAI sent names that OpenAI refuses, or was refused by the gateway", async () => {
  const { host, gateway } = await sceneOf("openai", "responses")
  const { path, init } = post("/responses", gateway.key, {
    input: invented.flatMap((name, at) => [
      { type: "function_call", call_id: id(at), name, arguments: "{}" },
      { type: "function_call_output", call_id: id(at), output: "no" },
    ]),
  })
  const response = await gateway.call(path, init)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("rejected the request: no")])
  const names = JSON.stringify(host.calls[0]?.body["input"]).match(/"name":"[^"]*"/g)
  expect(names).toHaveLength(invented.length)
  for (const name of names ?? []) expect(name.slice(8, -1)).toMatch(fitting)
})

test.each<[string, string, object]>([
  [
    "chat completions",
    "/chat/completions",
    {
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "no" },
      ],
    },
  ],
  [
    "functions",
    "/chat/completions",
    {
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", function_call: { name: "", arguments: "{}" } },
        { role: "function", name: "", content: "no" },
      ],
    },
  ],
  [
    "Responses",
    "/responses",
    {
      input: [
        { role: "user", content: "hi" },
        { type: "function_call", call_id: "call_1", name: "", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "no" },
      ],
    },
  ],
])("a call without a name, as a host wrote it, was refused when it came back: %s", async (_, route, body) => {
  const { host, gateway } = await sceneOf("openai-compatible")
  const { path, init } = post(route, gateway.key, body)
  const response = await gateway.call(path, init)
  expect(await response.text()).toContain("rejected the request: no")
  expect(host.calls).toHaveLength(1)
})
