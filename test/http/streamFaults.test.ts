/**
 * Faults of hosts in the middle of a stream, on real sockets. Each has one outcome for the caller and in the ledger.
 * Afterwards no money is reserved and no connection is left. docs/guarantees.md#g10
 */
import { afterEach, describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { isJsonObject } from "../../src/domain/json/json.ts"
import type { LedgerRow } from "../../src/services/storage/ledger.ts"
import { contentOf, finishesOf, readStrictly } from "../support/clients/strictSse.ts"
import { ManualClock, pass } from "../support/clocks/manualClock.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount, type TestAccount } from "../support/gateways/account.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { chunkOf, configFor, scriptedHost, streamAnswer } from "../support/hosts/host.ts"
import {
  deadUrl,
  event,
  lastPart,
  openHead,
  type Peer,
  part,
  type RawHost,
  rawHost,
  streamHead,
} from "../support/hosts/rawHost.ts"

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], stream: true, max_tokens: 50 }
const delta = (content: string) => event(chunkOf({ delta: { content }, finish_reason: null }))
const role = event(chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null }))
const finish = event(chunkOf({ delta: {}, finish_reason: "stop" }))
const usage = event(JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }))
const done = event("[DONE]")
/** 10 prompt tokens at a millionth of a dollar, 5 output tokens at two. */
const costOfUsage = 20_000_000n

/** A pause. Most of the time one write arrives in one read; what is sent after this arrives later. */
const say = (peer: Peer, ...parts: ReadonlyArray<string | Uint8Array>) => {
  peer.write(Buffer.concat(parts.map((each) => (typeof each === "string" ? Buffer.from(each) : each))))
}

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly gateway: TestGateway
  readonly account: TestAccount
  readonly second: ReturnType<typeof scriptedHost>
  readonly request: (init?: RequestInit) => Promise<Response>
}

/** A gateway whose host `a` is at `url`. If wanted, one before it that cannot be reached, and one after it that is good. */
const scene = async (
  url: string,
  options: { dead?: boolean; second?: boolean; limits?: Record<string, unknown>; clock?: ManualClock } = {},
): Promise<Scene> => {
  const second = scriptedHost(() => streamAnswer(["from ", "the second"]))
  closing.push(second.stop)
  const hosts = {
    ...(options.dead === true ? { dead: { url: deadUrl() } } : {}),
    a: { url },
    ...(options.second === true ? { b: { url: second.url } } : {}),
  }
  const gateway = await startGateway({
    config: configFor(hosts, { routing: { strategy: "price" }, limits: options.limits ?? {} }),
    ...(options.clock === undefined ? {} : { setting: Layer.setClock(options.clock) }),
  })
  closing.push(gateway.stop)
  const account = await openAccount(gateway)
  const authorization = `Bearer ${account.secret}`
  return { gateway, account, second, request: (init) => gateway.chat(ask, { ...init, headers: { authorization } }) }
}

const raw = (script: (peer: Peer, call: number) => void): RawHost => {
  const host = rawHost(script)
  closing.push(host.stop)
  return host
}

/** Checks that nothing is left of the request but its row: no reservation, no connection, no place in flight. */
const expectClean = async ({ account }: Scene, host: RawHost | undefined, rows: number) => {
  await until(async () => (await account.rows()).length >= rows, "the row")
  await until(async () => (await account.reserved()) === 0n, "the release of what was reserved")
  if (host !== undefined) await until(() => host.open() === 0, "the end of the host's connection")
  expect((await account.rows()).length).toBe(rows)
}

/** Checks for the error chunk with its cost, followed by [DONE]. */
const errorTypes: Readonly<Record<number, string>> = {
  408: "timeout",
  429: "rate_limit_exceeded",
  502: "provider_unavailable",
}

const expectBroken = (
  text: string,
  code: number,
  content: string,
  who: string | null = "a",
  type = errorTypes[code],
) => {
  const { events, done: isDone } = readStrictly(text)
  expect(isDone).toBe(true)
  expect(contentOf(events)).toBe(content)
  const last = events.at(-1)
  expect(last).toMatchObject({
    object: "chat.completion.chunk",
    model: "acme/small",
    error: {
      code,
      metadata: { error_type: type },
    },
    choices: [{ index: 0, delta: { content: "" }, finish_reason: "error", native_finish_reason: null }],
  })
  expect(last?.["provider"] ?? null).toBe(who)
  expect(last?.["id"]).toBe(events[0]?.["id"])
  expect(isJsonObject(last?.["error"]) ? last["error"]["message"] : undefined).toMatch(/\.$/)
  expect(finishesOf(events).length).toBe(1)
  return { cost: isJsonObject(last?.["usage"]) ? last["usage"]["cost"] : undefined }
}

/** Faults that are limits of ours: a model can be asked to exceed them after its text. */
const beyondLimits: ReadonlySet<string> = new Set(["a line above its bound", "an event 100,000 deep"])

describe("a fault after text was sent", () => {
  /** `fault` runs once the caller has seen the text, so that the two cannot come in one read. */
  const faults: ReadonlyArray<
    readonly [name: string, code: number, fault: (peer: Peer, clock: ManualClock) => void | Promise<void>]
  > = [
    ["an end within the framing", 502, (peer) => peer.end()],
    ["a well framed end without a finish", 502, (peer) => say(peer, lastPart)],
    ["a reset", 502, (peer) => peer.reset()],
    ["bad chunked framing", 502, (peer) => say(peer, "zz\r\nhello\r\n")],
    [
      "three lines that are no JSON",
      502,
      (peer) => say(peer, event("oops"), event("oops"), event("oops"), finish, done),
    ],
    ["an error event", 502, (peer) => say(peer, event('{"error":{"code":503,"message":"x"}}'))],
    ["an error event of a rate limit", 429, (peer) => say(peer, event('{"error":{"code":429,"message":"x"}}'))],
    ["the host's account used up", 502, (peer) => say(peer, event('{"error":{"code":402,"message":"pay"}}'))],
    ["an event of the name error", 502, (peer) => say(peer, part('event: error\ndata: {"message":"x"}\n\n'))],
    ["a finish reason of error", 502, (peer) => say(peer, event(chunkOf({ delta: {}, finish_reason: "error" })), done)],
    ["a line above its bound", 502, (peer) => say(peer, part(`data: ${"x".repeat(100_000)}`))],
    [
      "an event 100,000 deep",
      502,
      (peer) => say(peer, event(`{"choices":[],"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)),
    ],
    ["silence", 408, (_, clock) => pass(clock, 400)],
    [
      "nothing but comments",
      408,
      async (peer, clock) => {
        for (let at = 0; at < 10; at++) {
          if (peer.isOpen()) say(peer, part(": still here\n\n"))
          await Bun.sleep(5)
          await pass(clock, 50)
        }
      },
    ],
  ]

  const places = [
    ["the only host", {}],
    ["the first of two", { second: true }],
    ["the second of two", { dead: true }],
  ] as const
  for (const [place, others] of places) {
    test.each(faults.filter(([name]) => !beyondLimits.has(name)))(
      `%s: an error in the stream, free of charge, and no other host (${place})`,
      async (name, code, fault) => {
        const host = raw((peer) => say(peer, streamHead, role, delta("Hel"), delta("lo")))
        const clock = new ManualClock()
        const stage = await scene(host.url, { limits: { idle_ms: 200, body_bytes: 50_000 }, clock, ...others })
        const response = await stage.request()
        expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "a"])
        const text = await readAround(response, "lo", () => fault(host.peer(), clock))
        expect(expectBroken(text, code, "Hello").cost).toBe(0)
        // A connection whose answer ended normally may be kept for the next request. Otherwise we close it, even if the
        // host does not.
        await expectClean(stage, name.startsWith("a well framed") ? undefined : host, 1)
        const [row] = await stage.account.rows()
        expect(row).toMatchObject({ host: "a", outcome: "host-failed", cost: 0n, estimated: true })
        expect(row?.upstreamCost).toBeGreaterThan(0n)
        expect(await stage.account.total()).toBe(0n)
        expect(stage.second.calls.length).toBe(0)
      },
    )
  }

  for (const [place, others] of places) {
    test.each(faults.filter(([name]) => beyondLimits.has(name)))(
      `%s: an error in the stream, charged for what came, since the limit is ours, and no other host (${place})`,
      async (_, code, fault) => {
        const host = raw((peer) => say(peer, streamHead, role, delta("Hel"), delta("lo")))
        const clock = new ManualClock()
        const stage = await scene(host.url, { limits: { idle_ms: 200, body_bytes: 50_000 }, clock, ...others })
        const response = await stage.request()
        expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "a"])
        const text = await readAround(response, "lo", () => fault(host.peer(), clock))
        expect(expectBroken(text, code, "Hello", "a", "answer_beyond_limit").cost).toBeGreaterThan(0)
        await expectClean(stage, host, 1)
        const [row] = await stage.account.rows()
        expect(row).toMatchObject({ host: "a", outcome: "cut", waived: null, estimated: true })
        expect(row?.cost).toBe(row?.upstreamCost)
        expect(await stage.account.total()).toBeGreaterThan(0n)
        expect(stage.second.calls.length).toBe(0)
      },
    )
  }

  test("a body that ends with its connection, without a finish, is broken too", async () => {
    const host = raw((peer) => say(peer, openHead, `data: ${chunkOf({ delta: { content: "Hello" } })}\n\n`))
    const stage = await scene(host.url)
    const text = await readAround(await stage.request(), "Hello", () => host.peer().end())
    expectBroken(text, 502, "Hello")
    await expectClean(stage, host, 1)
  })
})

/** Reads the text of an answer, and runs `then` once `seen` has come. */
const readAround = async (response: Response, seen: string, then: () => void | Promise<void>): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ""
  let seenOnce = false
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (seenOnce || !text.includes(seen)) continue
    seenOnce = true
    await then()
  }
  return text
}

describe("an unusual but valid end", () => {
  const ends: ReadonlyArray<
    readonly [
      name: string,
      parts: ReadonlyArray<string | Uint8Array>,
      after?: ((peer: Peer) => void) | undefined,
      row?: Partial<LedgerRow>,
    ]
  > = [
    ["a finish, but no [DONE]", [finish, usage, lastPart]],
    [
      "usage on the finish",
      [
        event(chunkOf({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 10, completion_tokens: 5 } })),
        done,
        lastPart,
      ],
    ],
    ["usage before the finish", [usage, finish, done, lastPart]],
    ["events after [DONE]", [finish, usage, done, delta("more"), finish, done, lastPart]],
    ["a connection left open after [DONE]", [finish, usage, done]],
    ["an error after the finish", [finish, usage, event('{"error":{"code":500,"message":"x"}}'), lastPart]],
    ["no JSON after the finish", [finish, usage, event("oops"), event("oops"), event("oops"), lastPart]],
    ["one line that is no JSON", [event("oops"), finish, usage, done, lastPart]],
    ["a finish that comes twice", [finish, finish, usage, done, lastPart]],
    ["[DONE], but no finish", [usage, done, lastPart]],
    ["no usage", [finish, done, lastPart], undefined, { estimated: true }],
    [
      "a usage below zero",
      [finish, event('{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":-1}}'), done, lastPart],
      undefined,
      { estimated: true },
    ],
    [
      "a usage in words",
      [finish, event('{"choices":[],"usage":{"prompt_tokens":"10","completion_tokens":"5"}}'), done, lastPart],
      undefined,
      { estimated: true },
    ],
    [
      "a usage of nothing at all",
      [finish, event('{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}'), done, lastPart],
      undefined,
      { cost: 0n },
    ],
    [
      "a cost of the host's own",
      [
        finish,
        event('{"choices":[],"cost":9,"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":99}}'),
        done,
        lastPart,
      ],
    ],
  ]

  // Complete rows: for a missing argument, Bun would pass a `done` callback.
  const rows = ends.map(([name, parts, after = () => {}, row = {}]) => [name, parts, after, row] as const)

  test.each(rows)("%s", async (_, parts, after, row) => {
    const host = raw((peer) => {
      say(peer, streamHead, delta("Hel"), delta("lo"), ...parts)
      after(peer)
    })
    const stage = await scene(host.url, { second: true })
    const response = await stage.request()
    const { events, done: isDone } = readStrictly(await response.text())
    expect(isDone).toBe(true)
    expect(contentOf(events)).toBe("Hello")
    expect(finishesOf(events)).toEqual(events.slice(-1))
    const last = events.at(-1)
    expect(last).toMatchObject({ choices: [{ finish_reason: "stop", native_finish_reason: "stop" }] })
    await expectClean(stage, undefined, 1)
    const [booked] = await stage.account.rows()
    expect(booked).toMatchObject({ host: "a", outcome: "finished", finishReason: "stop" })
    if (row.estimated === true) expect(booked).toMatchObject({ estimated: true, completionTokens: 2 })
    else expect(booked).toMatchObject({ estimated: false, cost: row.cost ?? costOfUsage })
    expect(isJsonObject(last?.["usage"]) ? last["usage"]["cost"] : undefined).toBe(Number(booked?.cost) / 1e12)
    expect(await stage.account.total()).toBe(booked?.cost ?? -1n)
    if (!parts.includes(lastPart)) await until(() => host.open() === 0, "the end of the host's connection")
  })

  test("bytes in every form: a BOM, CRLF, comments, invalid UTF-8, one byte per packet", async () => {
    const text = Buffer.concat([
      Buffer.from(
        `\ufeff: hi\r\n\r\nretry: 1\r\ndata:${chunkOf({ delta: { content: "a " }, finish_reason: null })}\r\n\r\n`,
      ),
      Buffer.from(`data: ${chunkOf({ delta: { content: "😀|" }, finish_reason: null })}`),
      Buffer.from(`\n\ndata: ${chunkOf({ delta: { content: "~" }, finish_reason: null })}\r\r`),
      Buffer.from(`id: 7\ndata: ${chunkOf({ delta: {}, finish_reason: "stop" })}\n\ndata: [DONE]\n\n`),
    ]).map((byte) => (byte === 126 ? 0xff : byte))
    const host = raw((peer) => {
      say(peer, streamHead)
      for (const byte of text) say(peer, part(Uint8Array.of(byte)))
      say(peer, lastPart)
    })
    const stage = await scene(host.url)
    const { events, done: isDone } = readStrictly(new Uint8Array(await (await stage.request()).arrayBuffer()))
    expect([isDone, contentOf(events)]).toEqual([true, "a 😀|\ufffd"])
    await expectClean(stage, undefined, 1)
  })
})

describe("a stream that the gateway cuts is charged", () => {
  test("at the size limit: finish reason length, and the native reason", async () => {
    const host = raw((peer) => {
      say(peer, streamHead)
      for (let at = 0; at < 1000; at++) say(peer, delta(`word${at} `))
    })
    const stage = await scene(host.url, { limits: { stream_bytes: 20_000 } })
    const { events, done: isDone } = readStrictly(await (await stage.request()).text())
    expect(isDone).toBe(true)
    expect(finishesOf(events)).toMatchObject([
      { choices: [{ finish_reason: "length", native_finish_reason: "stream_limit" }], usage: {} },
    ])
    await expectClean(stage, host, 1)
    const [row] = await stage.account.rows()
    expect(row).toMatchObject({ outcome: "cut", finishReason: "length", estimated: true })
    expect(row?.completionTokens).toBe(Math.ceil(contentOf(events).length / 4))
    expect(row?.cost).toBe(row?.upstreamCost ?? -1n)
    expect(row?.cost).toBeGreaterThan(0n)
  })

  /** Until `stream_ms` is over, which comes when the caller has read the text. */
  const cutAtDeadline = async (host: RawHost) => {
    const clock = new ManualClock()
    const stage = await scene(host.url, { limits: { stream_ms: 1500 }, clock })
    return { stage, text: await readAround(await stage.request(), "Hello", () => pass(clock, 1700)) }
  }

  /** The finish that we wrote in place of the host's: `length`, native `deadline`. Its cost. */
  const expectCut = (text: string) => {
    const { events, done: isDone } = readStrictly(text)
    expect([contentOf(events), isDone]).toEqual(["Hello", true])
    const finished = finishesOf(events)
    expect(finished).toMatchObject([{ choices: [{ finish_reason: "length", native_finish_reason: "deadline" }] }])
    const usage = finished[0]?.["usage"]
    return isJsonObject(usage) ? usage["cost"] : undefined
  }

  test("beyond `stream_ms`: a finish with the cost that is charged", async () => {
    const host = raw((peer) => say(peer, streamHead, delta("Hello")))
    const { stage, text } = await cutAtDeadline(host)
    const cost = expectCut(text)
    await expectClean(stage, host, 1)
    const [row] = await stage.account.rows()
    expect(row).toMatchObject({ outcome: "cut", estimated: true })
    expect(row?.cost).toBeGreaterThan(0n)
    expect(cost).toBe(Number(row?.cost) / 1e12)
  })

  test("beyond `stream_ms` after a running report: by the host's own count", async () => {
    const host = raw((peer) => say(peer, streamHead, delta("Hello"), usage))
    const { stage, text } = await cutAtDeadline(host)
    expectCut(text)
    await expectClean(stage, host, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "cut", estimated: false, cost: costOfUsage }])
  })

  test("at the deadline before any event: 408, free, and no other host", async () => {
    const host = raw(() => {})
    const clock = new ManualClock()
    const stage = await scene(host.url, { limits: { deadline_ms: 150 }, second: true, clock })
    const asked = stage.request()
    await until(() => host.requests() === 1, "the call")
    await pass(clock, 300)
    const response = await asked
    expect(response.status).toBe(408)
    expect(await response.json()).toMatchObject({ error: { code: 408, metadata: { phase: "upstream" } } })
    await expectClean(stage, host, 0)
    expect(stage.second.calls.length).toBe(0)
  })

  test("beyond `stream_ms` between the finish and [DONE]: the finish stands", async () => {
    const host = raw((peer) => say(peer, streamHead, delta("Hello"), finish, usage))
    const { stage, text } = await cutAtDeadline(host)
    const { events, done: isDone } = readStrictly(text)
    expect(isDone).toBe(true)
    expect(finishesOf(events)).toMatchObject([
      { choices: [{ finish_reason: "stop" }], usage: { completion_tokens: 5 } },
    ])
    await expectClean(stage, host, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
  })
})

describe("a head that goes out before any event", () => {
  const limits = { commit_after_ms: 60 }

  /** The gateway's first comment may reach the caller before the request reaches the host. */
  const asked = async (host: RawHost): Promise<Peer> => {
    await until(() => host.requests() === 1, "the request")
    return host.peer()
  }

  test("begins with a comment, and the answer follows", async () => {
    const host = raw((peer) => say(peer, streamHead, role))
    const stage = await scene(host.url, { limits })
    const response = await stage.request()
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, null])
    const text = await readAround(response, ": GW PROCESSING\n\n", async () =>
      say(await asked(host), delta("Hello"), finish, usage, done, lastPart),
    )
    expect(text).toStartWith(": GW PROCESSING\n\n")
    expect(contentOf(readStrictly(text).events)).toBe("Hello")
    await expectClean(stage, undefined, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
  })

  test("a failure after it is an error in the stream", async () => {
    const host = raw(() => {})
    const stage = await scene(host.url, { limits })
    const response = await stage.request()
    const text = await readAround(response, ": GW PROCESSING\n\n", async () => (await asked(host)).reset())
    expect(response.status).toBe(200)
    expect(expectBroken(text, 502, "", null).cost).toBe(0)
    await expectClean(stage, host, 0)
  })

  test("another host may still take over", async () => {
    const host = raw(() => {})
    const stage = await scene(host.url, { limits, second: true })
    const text = await readAround(await stage.request(), ": GW PROCESSING\n\n", async () => (await asked(host)).reset())
    expect(contentOf(readStrictly(text).events)).toBe("from the second")
    await expectClean(stage, host, 1)
    expect(await stage.account.rows()).toMatchObject([{ host: "b", outcome: "finished" }])
  })

  test("the deadline is an error in the stream, and nothing is charged", async () => {
    const host = raw(() => {})
    const clock = new ManualClock()
    const stage = await scene(host.url, { limits: { ...limits, deadline_ms: 1000 }, clock })
    const request = stage.request()
    await until(() => host.requests() === 1, "the call")
    await pass(clock, 200)
    const text = await readAround(await request, ": GW PROCESSING\n\n", () => pass(clock, 1000))
    expect(expectBroken(text, 408, "", null).cost).toBe(0)
    await expectClean(stage, host, 0)
  })
})

test("the money of a running stream is reserved", async () => {
  const host = raw((peer) => say(peer, streamHead, delta("Hello")))
  const stage = await scene(host.url)
  const response = await stage.request()
  expect(await stage.account.reserved()).toBeGreaterThan(0n)
  await readAround(response, "Hello", () => say(host.peer(), finish, usage, done, lastPart))
  await expectClean(stage, undefined, 1)
})
