/**
 * Streams as their callers see them: what the first event decides, what happens to the host when its caller leaves,
 * texts that look like framing, and how the gateway closes with open streams. Faults of hosts: `streamFaults.test.ts`.
 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { keyId } from "../../src/domain/keys/keySecret.ts"
import { Meter } from "../../src/services/money/Meter.ts"
import type { LedgerRow } from "../../src/services/storage/ledger.ts"
import { Storage } from "../../src/services/storage/Storage.ts"
import { errorOf, picodollars, readStream, streamOf, wholeBodyOf } from "../support/clients/answers.ts"
import {
  type Answer,
  ask,
  closeAfterEach,
  good,
  type Routed,
  routed,
  says,
  silent,
  status,
} from "../support/gateways/routed.ts"
import { inTimedGateway } from "../support/gateways/timedGateway.ts"
import { chunkOf, type HeldStream, heldStream } from "../support/hosts/host.ts"

closeAfterEach()

const word = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const stop = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const streamed = ask({ stream: true })

/** A host whose streams the test controls, and the next stream that is requested. */
const conducted = () => {
  const streams: Array<HeldStream> = []
  const waiting: Array<(stream: HeldStream) => void> = []
  const answer: Answer = (_, request) => {
    const stream = heldStream(request)
    const wants = waiting.shift()
    if (wants === undefined) streams.push(stream)
    else wants(stream)
    return stream.response
  }
  const next = (): Promise<HeldStream> => {
    const stream = streams.shift()
    return stream === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(stream)
  }
  return { answer, next }
}

/** A stream that has sent `words`. `rest` reads what is left of it. */
const begun = async (
  gateway: Routed,
  host: ReturnType<typeof conducted>,
  words: ReadonlyArray<string>,
  init: RequestInit = {},
) => {
  const asked = gateway.chat(streamed, init)
  const held = await host.next()
  for (const each of words) held.send(word(each))
  const response = await asked
  if (response.body === null) throw new Error("no body")
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  const readUntil = async (wanted: string): Promise<void> => {
    while (!text.includes(wanted)) {
      const { done, value } = await reader.read()
      if (done) throw new Error(`the stream ended without ${wanted}: ${text}`)
      text += decoder.decode(value, { stream: true })
    }
  }
  const rest = async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return readStream(text)
      text += decoder.decode(value, { stream: true })
    }
  }
  const last = words.at(-1)
  if (last !== undefined) await readUntil(last)
  return { response, held, reader, readUntil, rest }
}

/** Waits for so many rows of the ordinary key. They are booked when the answer ends, which the caller may not see. */
const rowsOf = async (gateway: Routed, count: number): Promise<ReadonlyArray<LedgerRow>> => {
  for (;;) {
    const rows = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(gateway.key), 100)))
    if (rows.length >= count) return rows
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const spent = (gateway: Routed) => gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(keyId(gateway.key))))

describe("the first event decides", () => {
  test("a role does not count: a host that sends nothing else is passed over", async () => {
    const role = chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null })
    const error = JSON.stringify({ error: { message: "no", code: 500 } })
    const gateway = await routed({ bad: says(role, role, error), next: good("from the next") })
    const { text } = await streamOf(await gateway.chat(streamed))
    expect(text).toBe("from the next")
  })

  test.each([
    ["text", { content: "x" }],
    ["reasoning", { reasoning: "x" }],
    ["a refusal", { refusal: "x" }],
    ["a tool call", { tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }] }],
  ])("%s counts: no other host takes over afterwards", async (_name, delta) => {
    const host = conducted()
    const gateway = await routed({ first: host.answer, next: good("from the next") })
    const asked = gateway.chat(streamed)
    const held = await host.next()
    held.send(chunkOf({ delta, finish_reason: null }))
    const response = await asked
    held.close()
    const { chunks, last } = await streamOf(response)
    expect(chunks[0]?.choices[0]?.delta).toMatchObject(delta)
    expect(last.error?.code).toBe(502)
    expect(gateway.called()).toEqual(["first"])
  })

  test("the head waits for it, so that a failure before it has its status", async () => {
    const gateway = await routed({ bad: status(500) })
    const response = await gateway.chat(streamed)
    expect(response.status).toBe(502)
    await errorOf(response)
  })
})

describe.each([
  ["on a socket", true],
  ["without one", false],
] as const)("a caller who goes, %s", (_name, socket) => {
  test("in the middle of a stream: the host's connection is closed, and the output so far is charged", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer }, { socket })
    const { held, reader } = await begun(gateway, host, ["so ", "far"])
    await reader.cancel()
    await held.left
    const [row] = await rowsOf(gateway, 1)
    expect(row).toMatchObject({ outcome: "caller-gone", completionTokens: 2, estimated: true, streamed: true })
    expect(row?.cost).toBe(row?.upstreamCost)
    expect(row?.cost).toBeGreaterThan(0n)
    expect(await spent(gateway)).toMatchObject({ total: row?.cost ?? 0n, reserved: 0n })
  })

  test.each([true, false])(
    "before the first event (stream: %p): the host's connection is closed, and the prompt is charged",
    async (stream) => {
      const called = Promise.withResolvers<Request>()
      const host: Answer = (body, request, call) => {
        called.resolve(request)
        return silent(body, request, call)
      }
      const gateway = await routed({ host, next: good() }, { socket })
      const controller = new AbortController()
      const asked = gateway.chat(ask({ stream }), { signal: controller.signal }).then(
        () => "answered",
        () => "given up",
      )
      const { signal } = await called.promise
      const hungUp = new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener("abort", () => resolve(), { once: true })
      })
      controller.abort()
      await hungUp
      const [row] = await rowsOf(gateway, 1)
      expect(row).toMatchObject({ outcome: "caller-gone", completionTokens: 0, estimated: true, streamed: stream })
      expect(row?.cost).toBeGreaterThan(0n)
      if (socket) expect(await asked).toBe("given up")
      expect(gateway.called()).toEqual(["host"])
    },
  )

  test("after its host has sent usage: that is charged, and an estimate of what came later", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer }, { socket })
    const { held, reader, readUntil } = await begun(gateway, host, ["fine"])
    held.send(usage)
    held.send(word("more"))
    await readUntil("more")
    await reader.cancel()
    await held.left
    expect((await rowsOf(gateway, 1))[0]).toMatchObject({
      outcome: "caller-gone",
      promptTokens: 10,
      completionTokens: 6,
      estimated: false,
    })
  })
})

test("a choice that finishes early does not end the others", async () => {
  const choice = (index: number, content: string) => chunkOf({ index, delta: { content }, finish_reason: null })
  const end = (index: number) => chunkOf({ index, delta: {}, finish_reason: "stop" })
  await inTimedGateway({}, async ({ listen, call, pass, settle }) => {
    const listening = listen({ n: 2 })
    const host = (await call()).head().events(choice(0, "one"), end(0))
    const reading = await listening
    // Longer than the gateway waits for a host whose choices have all finished.
    await pass(30_000)
    host.events(choice(1, "two"), end(1), "[DONE]")
    await settle()
    const { chunks, last } = readStream(reading.text)
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta["content"]))).toContain("two")
    expect(last.choices).toMatchObject([
      { index: 0, finish_reason: "stop" },
      { index: 1, finish_reason: "stop" },
    ])
  })
})

describe("a text cannot break out of its event", () => {
  test.each([
    "\r\n\r\ndata: [DONE]\n\n",
    "\n\nevent: error\ndata: {}\n\n",
    "\u2028\u2029\u0000\ufeff",
    '"}]}\n\ndata: {"x":1}',
    "\\u000a\\n",
    "𝄞é汉",
  ])("%j", async (text) => {
    const gateway = await routed({ host: says(word("a"), word("b"), word(text), word(text), stop, usage, "[DONE]") })
    const answer = await streamOf(await gateway.chat(streamed))
    expect(answer.text).toBe(`ab${text}${text}`)
    expect(answer.last.choices[0]?.finish_reason).toBe("stop")
  })

  test("characters that arrive in pieces are written whole", async () => {
    const bytes = new TextEncoder().encode(
      [word("𝄞é汉"), stop, usage, "[DONE]"].map((event) => `data: ${event}\r\n\r\n`).join(""),
    )
    const host: Answer = () =>
      new Response(
        new ReadableStream({
          start: (controller) => {
            for (const byte of bytes) controller.enqueue(new Uint8Array([byte]))
            controller.close()
          },
        }),
      )
    const gateway = await routed({ host })
    expect((await streamOf(await gateway.chat(streamed))).text).toBe("𝄞é汉")
  })
})

describe("the gateway", () => {
  test("admits `max_in_flight` requests, and no more until one has ended", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer, quick: good() }, { limits: { max_in_flight: 1 } })
    const { held, rest } = await begun(gateway, host, ["first"])
    const quick = ask({ provider: { only: ["quick"] } })
    const refused = await gateway.chat(quick)
    expect(refused.status).toBe(503)
    expect((await errorOf(refused)).metadata).toEqual({ error_type: "overloaded" })
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 4)
    for (const event of [stop, usage, "[DONE]"]) held.send(event)
    await rest()
    expect((await wholeBodyOf(await gateway.chat(quick))).usage.cost).toBeGreaterThan(0)
  })

  test("lets a stream end when it closes", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer })
    const { held, rest } = await begun(gateway, host, ["first"])
    const stopped = gateway.stop()
    for (const event of [word(" last"), stop, usage, "[DONE]"]) held.send(event)
    const { text, last } = await rest()
    expect(text).toBe("first last")
    await stopped
    expect((await rowsOf(gateway, 1))[0]).toMatchObject({ outcome: "finished", cost: picodollars(last.usage?.cost) })
  })

  test("cuts a stream that does not end in time, with an error in the stream, and books it", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer }, { server: { drain_s: 0 } })
    const { held, rest } = await begun(gateway, host, ["so far"])
    const stopped = gateway.stop()
    const { text, last } = await rest()
    expect(text).toBe("so far")
    expect(last.error).toMatchObject({ code: 503, metadata: { error_type: "draining" } })
    await stopped
    await held.left
    expect((await rowsOf(gateway, 1))[0]).toMatchObject({
      outcome: "cut",
      completionTokens: 2,
      cost: picodollars(last.usage?.cost),
    })
  })

  test("cuts a caller who takes no bytes, and books the output so far", async () => {
    const host = conducted()
    const gateway = await routed({ host: host.answer }, { limits: { client_stall_ms: 100 } })
    const asked = gateway.chat(streamed)
    const held = await host.next()
    held.send(word("so far"))
    const response = await asked
    const [row] = await rowsOf(gateway, 1)
    expect(row).toMatchObject({ outcome: "cut", completionTokens: 2 })
    expect(row?.cost).toBeGreaterThan(0n)
    await held.left
    await expect(response.text()).rejects.toThrow()
  })

  test("gives the same text for the same stream, whatever else runs", async () => {
    const words = Array.from({ length: 200 }, (_, at) => `${at} `)
    const gateway = await routed({ host: says(...words.map(word), stop, usage, "[DONE]") }, { socket: true })
    const texts = await Promise.all(
      Array.from({ length: 30 }, async () => (await streamOf(await gateway.chat(streamed))).text),
    )
    expect(new Set(texts)).toEqual(new Set([words.join("")]))
    expect((await rowsOf(gateway, 30)).every(({ cost }) => cost === 20_000_000n)).toBe(true)
  })
})
