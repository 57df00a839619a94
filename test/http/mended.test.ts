/** What was seen when strangers tried to break the gateway; a test each, so that it is not seen again. */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parseUsd } from "../../src/domain/Money.ts"
import { defineStrategy } from "../../src/plugin/Strategy.ts"
import { chunkOf, configFor, scriptedHost, sse, wholeAnswer } from "../support/host.ts"
import { ownPlugins, startHouse } from "../support/house.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const opened = async <A extends { readonly stop: () => Promise<void> }>(made: A | Promise<A>): Promise<A> => {
  const one = await made
  closing.push(() => one.stop())
  return one
}

const jsonOf = async (response: Response) => JSON.parse(await response.text())
const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
const priced = (
  url: string,
  pricing: { readonly prompt: string; readonly completion: string; readonly [price: string]: string },
) => ({
  ...configFor({ acme: { url } }),
  models: [{ id: "acme/small", context_length: 8192, hosts: [{ provider: "acme", model: "upstream", pricing }] }],
})

test("an image has its price, in the bill and in the hold", async () => {
  const host = await opened(scriptedHost(() => wholeAnswer("a cat")))
  const house = await opened(startHouse({ config: priced(host.url, { prompt: "0", completion: "0", image: "0.005" }) }))
  const image = { type: "image_url", image_url: { url: "https://example.test/cat.png" } }
  const look = { ...hi, messages: [{ role: "user", content: [{ type: "text", text: "what?" }, image, image] }] }
  expect((await jsonOf(await house.chat(look))).usage.cost).toBe(0.01)
  const poor = { headers: { authorization: `Bearer ${await house.newKey({ limit: parseUsd("0.009") ?? 0n })}` } }
  expect((await house.chat(look, poor)).status).toBe(402)
  expect(host.calls.length).toBe(1)
})

test("searches are held before they are billed", async () => {
  const searched = { prompt_tokens: 1, completion_tokens: 1, server_tool_use_details: { web_search_requests: 3 } }
  const host = await opened(scriptedHost(() => wholeAnswer("found", searched)))
  const house = await opened(
    startHouse({ config: priced(host.url, { prompt: "0", completion: "0", web_search: "0.01" }) }),
  )
  const search = { ...hi, web_search_options: {} }
  const withLimit = async (limit: string) => ({
    headers: { authorization: `Bearer ${await house.newKey({ limit: parseUsd(limit) ?? 0n })}` },
  })
  expect((await house.chat(search, await withLimit("0.001"))).status).toBe(402)
  expect((await jsonOf(await house.chat(search, await withLimit("1")))).usage.cost).toBe(0.03)
})

test("a choice that finishes early does not end the others", async () => {
  const chunk = (choice: Record<string, unknown>) => chunkOf(choice)
  const host = await opened(
    scriptedHost(
      () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              const say = (line: string) => controller.enqueue(new TextEncoder().encode(`data: ${line}\n\n`))
              say(chunk({ index: 0, delta: { content: "one" }, finish_reason: null }))
              say(chunk({ index: 0, delta: {}, finish_reason: "stop" }))
              await Bun.sleep(6500)
              say(chunk({ index: 1, delta: { content: "two" }, finish_reason: null }))
              say(chunk({ index: 1, delta: {}, finish_reason: "stop" }))
              say("[DONE]")
              controller.close()
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
    ),
  )
  const house = await opened(startHouse({ config: configFor({ acme: host }) }))
  const text = await (await house.chat({ ...hi, n: 2, stream: true })).text()
  expect(text).toContain('"content":"two"')
  const last = JSON.parse(text.trim().split("\n\n").at(-2)?.slice(6) ?? "")
  expect(last.choices.map(({ index }: { index: number }) => index)).toEqual([0, 1])
})

test.each([
  { audio: null },
  { models: null, plugins: null, session_id: null, trace: null, transforms: null, web_search_options: null },
  { provider: { max_price: null, sort: null } },
  { provider: { max_price: { prompt: null } } },
  { reasoning: { enabled: null, exclude: null } },
  { messages: [hi.messages[0], { role: "assistant", content: [{ type: "refusal", refusal: "No." }] }, hi.messages[0]] },
])("a body that real clients send is taken: %j", async (more) => {
  const host = await opened(scriptedHost(() => wholeAnswer("hello")))
  const house = await opened(startHouse({ config: configFor({ acme: host }) }))
  expect((await house.chat({ ...hi, ...more })).status).toBe(200)
})

test("a compressed answer counts by what comes out of it", async () => {
  const bomb = Bun.gzipSync(
    new TextEncoder().encode(`{"choices":[{"message":{"content":"${"x".repeat(3_000_000)}"}}]}`),
  )
  const headers = { "content-type": "application/json", "content-encoding": "gzip" }
  const host = await opened(scriptedHost(() => new Response(bomb, { headers })))
  const config = { ...configFor({ acme: host }), limits: { body_bytes: 1_000_000 } }
  const house = await opened(startHouse({ config }))
  expect((await house.chat(hi)).status).toBe(502)
})

test("requests whose bodies are on the way take their places", async () => {
  const host = await opened(scriptedHost(() => wholeAnswer("hello")))
  const house = await opened(startHouse({ config: { ...configFor({ acme: host }), limits: { max_in_flight: 2 } } }))
  const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
  const slow = gates.map(({ promise }) => {
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"model":"acme/small",'))
        await promise
        controller.enqueue(new TextEncoder().encode('"messages":[{"role":"user","content":"hi"}]}'))
        controller.close()
      },
    })
    return house.call("/chat/completions", { method: "POST", body, headers: { "content-type": "application/json" } })
  })
  // Four are refused while two wait for their bodies; then those are answered, and their places are free again.
  const statuses: Array<number> = []
  for (const one of slow) void one.then(({ status }) => statuses.push(status))
  for (let tries = 0; statuses.length < 4 && tries < 500; tries++) await Bun.sleep(10)
  expect(statuses).toEqual([503, 503, 503, 503])
  for (const { resolve } of gates) resolve()
  await Promise.all(slow)
  expect(statuses.slice(4)).toEqual([200, 200])
  expect((await house.chat(hi)).status).toBe(200)
})

test("a strategy that throws or loses hosts costs the order, not the request", async () => {
  const broken = (id: string, lose: boolean) =>
    defineStrategy({
      id,
      config: Schema.Struct({}),
      load: () => () => {
        if (lose) return []
        throw new Error("a plugin's mistake")
      },
    })
  for (const lose of [false, true]) {
    const host = await opened(scriptedHost(() => wholeAnswer("hello")))
    const plugins = [...(await Effect.runPromise(ownPlugins)), broken("broken", lose)]
    const config = { ...configFor({ one: host, two: host }), routing: { strategy: "broken" } }
    const house = await opened(startHouse({ config, plugins }))
    expect((await house.chat(hi)).status).toBe(200)
  }
})

test("an empty X-GW-Host pins nothing", async () => {
  const host = await opened(scriptedHost(() => wholeAnswer("hello")))
  const house = await opened(startHouse({ config: configFor({ acme: host }) }))
  expect((await house.chat(hi, { headers: { "x-gw-host": "" } })).status).toBe(200)
})

test("a stream answered by HTML is malformed, not unreachable", async () => {
  const host = await opened(
    scriptedHost(() => new Response("<html></html>", { headers: { "content-type": "text/html" } })),
  )
  const house = await opened(startHouse({ config: configFor({ acme: host }) }))
  const { error } = await jsonOf(await house.chat({ ...hi, stream: true }))
  expect([error.code, error.metadata.previous_errors[0].code]).toEqual([502, "malformed"])
})

test("a rate limit inside a stream cools the host down, and is no fault of its health", async () => {
  let calls = 0
  const host = await opened(
    scriptedHost(() => {
      calls += 1
      return sse([
        chunkOf({ delta: { content: "first" }, finish_reason: null }),
        '{"error":{"code":429,"message":"slow"}}',
      ])
    }),
  )
  const house = await opened(startHouse({ config: configFor({ acme: host }) }))
  await (await house.chat({ ...hi, stream: true })).text()
  expect((await house.chat({ ...hi, stream: true })).status).toBe(503)
  expect(calls).toBe(1)
})
