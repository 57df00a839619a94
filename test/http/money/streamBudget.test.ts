/** Streams of keys with a limit: what is reserved while they run, and where they are cut. docs/guarantees.md#g1 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { until } from "../../support/clocks/until.ts"
import type { TestGateway } from "../../support/gateways/gateway.ts"
import { type Answer, ask, closeAfterEach, type RoutedOptions, routed } from "../../support/gateways/routed.ts"
import { chunkOf, type HeldStream, heldStream, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

/** Only output costs something: a microdollar per token. */
const outputOnly: RoutedOptions = { prices: { host: { prompt: "0", completion: "0.000001" } } }
const microdollars = (count: number): bigint => BigInt(count) * 1_000_000n

const keyWith = async (gateway: TestGateway, limit: bigint | null) => {
  const key = await gateway.newKey({ limit })
  const headers = { authorization: `Bearer ${key}` }
  return {
    chat: (more: Record<string, unknown> = {}) => gateway.chat(ask(more), { headers }),
    spent: () => gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(keyId(key)))),
    rows: () => gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(key), 1000))),
  }
}

/** A token of the gateway's estimate. */
const token = "four"
const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })

/** A host that sends one event after another, as long as it is read, whatever it was asked. `left` ends with its call. */
const endless = (event: (at: number) => string = () => delta(token)) => {
  const left = Promise.withResolvers<void>()
  let sent = 0
  const answer: Answer = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          // A turn for each event, so that the others are served in between.
          await new Promise((resolve) => setImmediate(resolve))
          controller.enqueue(new TextEncoder().encode(`data: ${event(sent++)}\n\n`))
        },
        cancel: () => left.resolve(),
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  return { answer, left: left.promise, sent: () => sent }
}

/** The last chunk: the finish, with the reason of the gateway and the cost. */
const cutOf = async (response: Response) => {
  const text = await response.text()
  const { events, done } = readStrictly(text)
  expect(done).toBe(true)
  const finishes = finishesOf(events)
  expect(finishes).toMatchObject([
    { choices: [{ finish_reason: "length", native_finish_reason: "budget" }], usage: expect.anything() },
  ])
  return streamOf(new Response(text, { headers: { "content-type": "text/event-stream" } }))
}

describe("a stream is cut when its key has no more money", () => {
  test("a host that ignores max_tokens: at most one event more than the limit", async () => {
    const host = endless()
    const gateway = await routed({ host: host.answer }, outputOnly)
    const key = await keyWith(gateway, microdollars(1000))
    const { last } = await cutOf(await key.chat({ max_tokens: 1000, stream: true }))
    await host.left
    expect(last.usage).toMatchObject({ completion_tokens: 1001, cost: 0.001001 })
    expect(await key.spent()).toMatchObject({ total: microdollars(1001), reserved: 0n })
    expect(await key.rows()).toMatchObject([
      { outcome: "cut", finishReason: "length", estimated: true, completionTokens: 1001, cost: microdollars(1001) },
    ])
    expect((await key.chat({ max_tokens: 1 })).status).toBe(402)
  })

  test("an endless stream without max_tokens, beyond several blocks", async () => {
    const host = endless(() => delta(token.repeat(10)))
    const gateway = await routed({ host: host.answer }, { ...outputOnly, change: longer })
    const key = await keyWith(gateway, microdollars(20_000))
    const { last } = await cutOf(await key.chat({ stream: true }))
    await host.left
    expect(last.usage?.completion_tokens).toBeWithin(20_000, 20_011)
    expect(await key.spent()).toMatchObject({ total: microdollars(last.usage?.completion_tokens ?? 0), reserved: 0n })
  })

  test.each([
    ["many events in one read", delta(token)],
    ["short texts: each is a token at least", delta("x")],
    ["reasoning", chunkOf({ delta: { reasoning: token }, finish_reason: null })],
    [
      "arguments of a tool call",
      chunkOf({ delta: { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: token } }] } }),
    ],
  ])("%s", async (_name, event) => {
    const gateway = await routed({ host: () => sse(Array.from({ length: 500 }, () => event)) }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    await cutOf(await key.chat({ max_tokens: 100, stream: true }))
    const { total, reserved } = await key.spent()
    expect(total).toBeGreaterThan(0n)
    expect(total).toBeLessThanOrEqual(microdollars(101))
    expect(reserved).toBe(0n)
  })

  test("a host that reports its usage while it streams is counted by that", async () => {
    const usage = (at: number) => ({ usage: { prompt_tokens: 1, completion_tokens: 10 * (at + 1) } })
    const host = endless((at) => chunkOf({ delta: { content: "x" }, finish_reason: null }, usage(at)))
    const gateway = await routed({ host: host.answer }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const { last } = await cutOf(await key.chat({ max_tokens: 100, stream: true }))
    await host.left
    expect(last.usage).toMatchObject({ completion_tokens: 110, cost: 0.00011 })
    expect(await key.rows()).toMatchObject([{ estimated: false, cost: microdollars(110) }])
  })

  test("a host that reports its usage once, at the beginning: what came after it is estimated", async () => {
    const usage = { usage: { prompt_tokens: 1, completion_tokens: 1 } }
    const host = endless((at) => chunkOf({ delta: { content: token }, finish_reason: null }, at === 0 ? usage : {}))
    const gateway = await routed({ host: host.answer }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const { last } = await cutOf(await key.chat({ max_tokens: 100, stream: true }))
    expect(last.usage).toMatchObject({ completion_tokens: 101, cost: 0.000101 })
  })

  test("several answers to one request share its money", async () => {
    const host = endless((at) => JSON.stringify({ choices: [{ index: at % 2, delta: { content: token } }] }))
    const gateway = await routed({ host: host.answer }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const { events } = readStrictly(await (await key.chat({ max_tokens: 50, n: 2, stream: true })).text())
    expect(finishesOf(events).flatMap(({ choices }) => choices)).toMatchObject([
      { index: 0, finish_reason: "length" },
      { index: 1, finish_reason: "length" },
    ])
    expect((await key.spent()).total).toBe(microdollars(101))
  })

  test("what has ended is not cut: its usage is billed as reported", async () => {
    const host: Answer = () => streamAnswer([token], { prompt_tokens: 1, completion_tokens: 500 })
    const gateway = await routed({ host }, outputOnly)
    const key = await keyWith(gateway, microdollars(100))
    const { last } = await streamOf(await key.chat({ max_tokens: 100, stream: true }))
    expect(last).toMatchObject({ choices: [{ finish_reason: "stop" }], usage: { cost: 0.0005 } })
  })

  test("several streams at once, each endless: each passes the limit by one event at most", async () => {
    const limits = FastCheck.record({
      limit: FastCheck.integer({ min: 500, max: 15_000 }),
      streams: FastCheck.array(FastCheck.option(FastCheck.integer({ min: 16, max: 2000 }), { nil: undefined }), {
        minLength: 1,
        maxLength: 6,
      }),
      /** Tokens in an event. */
      size: FastCheck.integer({ min: 1, max: 60 }),
    })
    const events = { text: delta(token) }
    const gateway = await routed(
      { host: (...asked) => endless(() => events.text).answer(...asked) },
      {
        ...outputOnly,
        change: longer,
      },
    )
    await FastCheck.assert(
      FastCheck.asyncProperty(limits, async ({ limit, streams, size }) => {
        events.text = delta(token.repeat(size))
        const key = await keyWith(gateway, microdollars(limit))
        const answers = await Promise.all(
          streams.map(async (max_tokens) => {
            const response = await key.chat({ stream: true, ...(max_tokens === undefined ? {} : { max_tokens }) })
            return response.status === 200
              ? (await cutOf(response)).last.usage?.cost
              : expect(response.status).toBe(402)
          }),
        )
        const costs = answers.flatMap((cost) => (typeof cost === "number" ? [Math.round(cost * 1e6)] : []))
        const { total, reserved } = await key.spent()
        expect(reserved).toBe(0n)
        expect(total).toBe(microdollars(costs.reduce((sum, cost) => sum + cost, 0)))
        expect(total).toBeLessThanOrEqual(microdollars(limit + costs.length * size))
        // Where one was admitted, nothing that it could have used is left.
        if (costs.length > 0) expect(total).toBeGreaterThan(microdollars(limit - 64 * streams.length))
      }),
      { numRuns: 25 },
    )
  }, 1_800_000)
})

/** A host whose answers may be long. */
const longer = { hosts: { host: { max_completion_tokens: 200_000 } }, model: { context_length: 400_000 } }

test("a stream of twenty images: as many as the limit pays for, and one", async () => {
  const image = (at: number) => {
    const url = `data:image/png;base64,${"A".repeat(100 + at)}`
    return chunkOf({ delta: { images: [{ type: "image_url", image_url: { url } }] }, finish_reason: null })
  }
  const held = Promise.withResolvers<HeldStream>()
  const gateway = await routed(
    {
      host: (_, request) => {
        const stream = heldStream(request)
        stream.send(image(0))
        held.resolve(stream)
        return stream.response
      },
    },
    outputOnly,
  )
  // Four images at 1,290 tokens, and a bit.
  const key = await keyWith(gateway, microdollars(4 * 1290 + 500))
  const reader = (await key.chat({ stream: true })).body?.getReader()
  const host = await held.promise
  // One after another, each once the client has the one before.
  let text = ""
  for (let sent = 1, next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    const more = new TextDecoder().decode(next.value)
    text += more
    if (more.includes("image_url") && !more.includes("[DONE]") && sent < 20) host.send(image(sent++))
  }
  await cutOf(new Response(text))
  await host.left
  expect(text.match(/data:image/g)).toHaveLength(5)
  const [row] = await key.rows()
  expect(row).toMatchObject({ completionTokens: 5 * 1290, rareUsage: { completionImageTokens: 5 * 1290 } })
})

describe("money is reserved in blocks", () => {
  const reserving = async (limit: bigint | null) => {
    const streams: Array<HeldStream> = []
    const host: Answer = (_, request) => {
      const held = heldStream(request)
      streams.push(held)
      held.send(delta(token))
      return held.response
    }
    const gateway = await routed({ host }, { ...outputOnly, change: longer })
    const key = await keyWith(gateway, limit)
    /** Reads until so many bytes of text have come. */
    const stream = async (more: Record<string, unknown> = {}) => {
      const reader = (await key.chat({ stream: true, ...more })).body?.getReader()
      const held = streams.at(-1)
      await reader?.read()
      return {
        say: async (text: string) => {
          held?.send(delta(text))
          await reader?.read()
        },
        leave: () => reader?.cancel(),
      }
    }
    const reservedIs = async (tokens: number) => {
      // The host of a caller who left is read on for a second.
      await until(
        async () => (await key.spent()).reserved === microdollars(tokens),
        `a reservation of ${tokens} tokens`,
      )
    }
    return { gateway, key, stream, reservedIs }
  }

  test("without max_tokens: 4,096 tokens at first, and again when they are used up; the host may use the rest", async () => {
    const { gateway, stream, reservedIs } = await reserving(microdollars(20_000))
    const one = await stream()
    expect(gateway.hosts["host"]?.calls[0]?.body["max_tokens"]).toBe(20_000)
    await reservedIs(4096)
    await one.say(token.repeat(4095))
    await reservedIs(4096)
    await one.say(token)
    await reservedIs(8192)
    const two = await stream()
    await reservedIs(8192 + 4096)
    await one.leave()
    await two.leave()
    await reservedIs(0)
  })

  test("with max_tokens: as many again, so that a long word does not end an answer while there is money", async () => {
    const { stream, reservedIs } = await reserving(microdollars(20_000))
    const one = await stream({ max_tokens: 100 })
    await reservedIs(100)
    await one.say(token.repeat(100))
    await reservedIs(200)
    await one.leave()
    await reservedIs(0)
  })

  test("a key without a limit reserves nothing, and is never cut", async () => {
    const { gateway, stream, reservedIs, key } = await reserving(null)
    const one = await stream({ max_tokens: 10 })
    for (let more = 0; more < 20; more++) await one.say(token.repeat(1000))
    await reservedIs(0)
    expect(await key.rows()).toEqual([])
    expect(gateway.hosts["host"]?.calls[0]?.body["max_tokens"]).toBe(10)
    await one.leave()
  })

  test("a model that reasons may do so unseen: a stream reserves what its host is limited to", async () => {
    const host: Answer = () => streamAnswer([token])
    const change = { ...longer, hosts: { host: { ...longer.hosts.host, supported_parameters: ["reasoning"] } } }
    const gateway = await routed({ host }, { ...outputOnly, change })
    const key = await keyWith(gateway, microdollars(80_000))
    const limitSent = async (more: Record<string, unknown>) => {
      await (await key.chat(more)).text()
      return gateway.hosts["host"]?.calls.at(-1)?.body["max_tokens"]
    }
    expect(await limitSent({ stream: true })).toBe(10_000)
    // What is left by then is 5 tokens less for each answer.
    expect(await limitSent({ stream: true, reasoning: { enabled: false } })).toBe(79_995)
  })
})

describe("a whole answer", () => {
  test("without max_tokens: its host is limited to an eighth of what is left", async () => {
    const gateway = await routed({ host: () => wholeAnswer("x") }, { ...outputOnly, change: longer })
    const key = await keyWith(gateway, microdollars(80_000))
    await key.chat()
    expect(gateway.hosts["host"]?.calls[0]?.body["max_tokens"]).toBe(10_000)
  })

  test("of a host that ignores its limit is billed as reported, and is the last", async () => {
    const gateway = await routed(
      { host: () => wholeAnswer("x", { prompt_tokens: 1, completion_tokens: 2010 }) },
      outputOnly,
    )
    const key = await keyWith(gateway, microdollars(1000))
    expect((await wholeBodyOf(await key.chat({ max_tokens: 1000 }))).usage.cost).toBe(0.00201)
    expect((await key.chat({ max_tokens: 1 })).status).toBe(402)
  })
})
