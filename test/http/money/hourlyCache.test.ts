/**
 * Cache writes of a host that does not tell how long it keeps them: the marks of the request tell.
 * docs/guarantees.md#g5
 */
import { expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, scriptedHost, sse } from "../../support/hosts/host.ts"
import { endEvents, nativeAnswer, nativeStream, textBlock } from "../../support/hosts/messages.ts"

closeAfterEach()

const pricing = {
  ...{ prompt: "0.000005", completion: "0.000025" },
  ...{ input_cache_read: "0.0000005", input_cache_write: "0.00000625", input_cache_write_1h: "0.00001" },
}

/** Hosts of Messages and of the chat form, which report this usage. */
const hosts: Readonly<Record<string, (usage: JsonObject) => Parameters<typeof scriptedHost>[0]>> = {
  anthropic:
    (usage) =>
    ({ stream }) =>
      stream === true
        ? nativeStream([
            { type: "message_start", message: { type: "message", role: "assistant", content: [], usage } },
            ...textBlock(0, ["fine"]),
            ...endEvents("end_turn", 100),
          ])
        : nativeAnswer([{ type: "text", text: "fine" }], { usage }),
  "openai-compatible":
    (usage) =>
    ({ stream }) =>
      stream === true
        ? sse([chunkOf({ delta: { content: "fine" }, finish_reason: "stop" }, { usage }), "[DONE]"])
        : Response.json({
            choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }],
            usage,
          }),
}

const scene = async (plugin: string, usage: JsonObject) => {
  const host = opened(scriptedHost(hosts[plugin]?.(usage) ?? (() => new Response("", { status: 500 }))))
  const gateway = await startWatched({
    config: {
      providers: { acme: { plugin, base_url: host.url, network: "private", api_key: "k" } },
      models: [
        { id: "acme/small", context_length: 100_000, hosts: [{ provider: "acme", model: "upstream", pricing }] },
      ],
    },
  })
  return { gateway, account: await openAccount(gateway) }
}

const mark = (ttl?: string) => ({ cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) } })

/** The 2,000 written tokens of the answers, whole and streamed, that are charged as kept for an hour. */
const hourly = async (plugin: string, usage: JsonObject, path: string, body: JsonObject): Promise<number> => {
  const { gateway, account } = await scene(plugin, usage)
  const seen: Array<number | undefined> = []
  for (const stream of [false, true]) {
    const response = await gateway.call(path, {
      method: "POST",
      headers: { authorization: `Bearer ${account.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/small", stream, ...body }),
    })
    const costs = [...(await response.text()).matchAll(/"cost":([\d.e-]+)/g)].map(([, cost]) => Number(cost))
    const [row] = await account.rows()
    expect(costs.at(-1)).toBe(Number(row?.cost) / 1e12)
    expect(row?.cacheWriteTokens).toBe(2000)
    // 1,000 × 5 and 100 × 25, and 2,000 × 6.25 or 10, in millionths.
    seen.push((Number(row?.cost) / 1e6 - 20_000) / 3.75)
  }
  expect(new Set(seen).size).toBe(1)
  return seen[0] ?? Number.NaN
}

const written = { input_tokens: 1000, output_tokens: 100, cache_creation_input_tokens: 2000 }
const writtenAsChat = {
  ...{ prompt_tokens: 3000, completion_tokens: 100 },
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 2000 },
}
const split = (brief: number, kept: number) => ({
  cache_creation: { ephemeral_5m_input_tokens: brief, ephemeral_1h_input_tokens: kept },
})

const part = (more: JsonObject) => ({ type: "text", text: "long", ...more })
const tool = (more: JsonObject) => ({ type: "function", function: { name: "f", parameters: {} }, ...more })
const chat = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}) => ({
  messages: [{ role: "user", content: parts }],
  ...more,
})

test.each<[marks: string, body: JsonObject, hourly: number]>([
  ["one of an hour", chat([part(mark("1h"))]), 2000],
  ["two of an hour", chat([part(mark("1h")), part(mark("1h"))], { tools: [tool(mark("1h"))] }), 2000],
  ["at the top", chat([part({})], mark("1h")), 2000],
  ["one of five minutes", chat([part(mark("5m"))]), 0],
  ["one without a time", chat([part(mark())]), 0],
  ["mixed", chat([part(mark("1h")), part(mark())]), 0],
  ["mixed, in a tool", chat([part(mark("1h"))], { tools: [tool(mark("5m"))] }), 0],
  ["none", chat([part({})]), 0],
])("W9: writes without a split, marks %s", async (_, body, expected) => {
  expect(await hourly("anthropic", written, "/chat/completions", body)).toBe(expected)
  expect(await hourly("openai-compatible", writtenAsChat, "/chat/completions", body)).toBe(expected)
})

test.each<[marks: string, body: JsonObject, hourly: number]>([
  ["in the instructions", { system: [part(mark("1h"))], messages: [{ role: "user", content: "hi" }] }, 2000],
  ["in a result", { messages: toolTurns(mark("1h")) }, 2000],
  ["in a result and a text", { messages: [...toolTurns(mark("1h")), { role: "user", content: [part(mark())] }] }, 0],
])("W9: the same for callers of Messages, marks %s", async (_, body, expected) => {
  const asked = { max_tokens: 100, ...body }
  expect(await hourly("anthropic", written, "/messages", asked)).toBe(expected)
  expect(await hourly("openai-compatible", writtenAsChat, "/messages", asked)).toBe(expected)
})

function toolTurns(marked: JsonObject): ReadonlyArray<JsonObject> {
  return [
    { role: "user", content: "hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "done", ...marked }] },
  ]
}

test.each<[usage: string, raw: JsonObject, hourly: number]>([
  ["a split", { ...written, ...split(500, 1500) }, 1500],
  ["a split without hours", { ...written, ...split(2000, 0) }, 0],
  ["a split of zeros", { ...written, ...split(0, 0) }, 2000],
])("W9: %s wins over marks of an hour", async (_, raw, expected) => {
  expect(await hourly("anthropic", raw, "/chat/completions", chat([part(mark("1h"))]))).toBe(expected)
})

test.each(["anthropic", "openai-compatible"])("W9: a split beside a total of 0 is the count, at %s", async (plugin) => {
  const raw = { ...written, cache_creation_input_tokens: 0, ...split(500, 1500) }
  expect(await hourly(plugin, raw, "/chat/completions", chat([part({})]))).toBe(1500)
})

test("W9: thinking that only the host's total shows is output by the host's own count", async () => {
  const { account } = await scene("openai-compatible", {
    prompt_tokens: 1000,
    completion_tokens: 100,
    total_tokens: 1500,
  })
  const response = await account.chat({ messages: [{ role: "user", content: "hi" }] })
  expect(await response.json()).toMatchObject({
    usage: { completion_tokens: 500, total_tokens: 1500, completion_tokens_details: { reasoning_tokens: 400 } },
  })
  expect(await account.rows()).toMatchObject([{ completionTokens: 500, reasoningTokens: 400, estimated: false }])
})
