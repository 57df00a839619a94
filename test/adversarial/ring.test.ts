/** What the gateway remembers of hosts, keys and requests is bounded by how many of them there are, not by how often they come. */
import { heapStats } from "bun:jsc"
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import * as Layer from "effect/Layer"
import { DataPlane } from "../../src/http/data/routes.ts"
import { ManualClock } from "../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../support/gateways/gateway.ts"
import { streamAnswer, wholeAnswer } from "../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

const size = 1000
const atOnce = 50
/** How many after the first two: 1, or `TEST_RING_ROUNDS`. */
const rounds = Number(process.env["TEST_RING_ROUNDS"] ?? 1)

const host = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: async (request) => {
    const body = await request.text()
    return body.includes('"stream":true') ? streamAnswer(["one ", "two"]) : wholeAnswer("Hello")
  },
})
afterAll(() => host.stop(true))

/** A provider with an address of its own for each place of the ring, and half as many models with two hosts each. */
const config = {
  discovery: { environment: false, local: false },
  limits: { max_in_flight: 10_000 },
  providers: Object.fromEntries(
    Array.from({ length: size }, (_, at) => [
      `host-${at}`,
      {
        plugin: "openai-compatible",
        base_url: `http://127.0.0.1:${host.port}/h${at}/v1`,
        network: "private" as const,
        api_key: `key-of-host-${at}`,
      },
    ]),
  ),
  models: Array.from({ length: size / 2 }, (_, pair) => ({
    id: `acme/model-${pair}`,
    context_length: 8192,
    hosts: [2 * pair, 2 * pair + 1].map((at) => ({
      provider: `host-${at}`,
      model: "upstream",
      pricing: { prompt: `0.000001${at}`, completion: "0.000002" },
      max_completion_tokens: 4096,
    })),
  })),
}

/** How many objects of each class live. */
const alive = (): Readonly<Record<string, number>> => {
  Bun.gc(true)
  return heapStats().objectTypeCounts
}

/** What there is more of, by more than a quarter of an object for each request of one round. */
const grownBetween = (before: ReturnType<typeof alive>, after: ReturnType<typeof alive>) =>
  Object.entries(after)
    .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
    // The compiler makes code and its tables whenever it likes.
    .filter(([name, count]) => count > size / 4 && !/Code|Executable|Structure|Table/.test(name))

test(`${2 + rounds} rounds over 1,000 hosts and 1,000 keys leave no more in memory than two`, async () => {
  const clock = new ManualClock()
  const gateway = await gatewayWithoutSocket({ config, setting: Layer.setClock(clock) })
  const keys = await Promise.all(
    Array.from({ length: size }, (_, at) =>
      gateway.newKey({
        limit: 1_000_000_000_000n,
        ...(at % 2 === 0 ? { rateLimit: { requests: 100, intervalSeconds: 60 } } : {}),
      }),
    ),
  )
  const { handlers } = await gateway.run(DataPlane)
  const handler = handlers.get("/api/v1/chat/completions")
  if (handler === undefined) throw new Error("no chat completions")
  const chat = async (body: string, headers: Record<string, string>) => {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", ...headers, "content-length": `${body.length}` },
    }
    return handler.native(new Request(`${gateway.url}/chat/completions`, { ...init, body }), () => false)
  }
  const ask = async (round: number, at: number) => {
    const headers = {
      authorization: `Bearer ${keys[at]}`,
      "http-referer": `https://app-${at}.example`,
      "x-session-id": `session-${at}`,
      ...(at % 5 === 0 ? { "idempotency-key": `${round}-${at}` } : {}),
    }
    const parameters = { type: "object", properties: { [`name_${at}`]: { type: "string" } } }
    const body = {
      model: `acme/model-${at >> 1}`,
      provider: { order: [`host-${at}`] },
      messages: [
        { role: "system", content: `You are number ${at}. ${"Say little. ".repeat(20)}` },
        { role: "user", content: "hello" },
      ],
      tools: [{ type: "function", function: { name: `tool_${at}`, parameters } }],
      max_tokens: 5,
      ...(at % 4 === 0 ? { stream: true } : {}),
    }
    const response = await chat(JSON.stringify(body), headers)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  }
  const go = async (round: number) => {
    for (let first = 0; first < size; first += atOnce)
      await Promise.all(Array.from({ length: atOnce }, (_, at) => ask(round, first + at)))
  }
  await go(0)
  await go(1)
  const before = alive()
  for (let round = 0; round < rounds; round++) await go(2 + round)
  expect(grownBetween(before, alive())).toEqual([])
  await gateway.stop()
})
