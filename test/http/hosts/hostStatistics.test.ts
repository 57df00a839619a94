/** What is measured of hosts, as callers see it in listings and plugins in `HostSnapshot`. docs/statistics.md */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Histogram } from "../../../src/domain/structures/Histogram.ts"
import { defineStrategy, type HostSnapshot } from "../../../src/plugin.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import * as SqliteStorage from "../../../src/sql/sqlite/SqliteStorage.ts"
import { openInProcess } from "../../sql/sqlite/openInProcess.ts"
import type { Json } from "../../support/clients/badInputs.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { ownPlugins } from "../../support/gateways/gateway.ts"
import { type Answer, ask, good, status } from "../../support/gateways/routed.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  sse,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeAfterEach()

const folder = mkdtempSync(join(tmpdir(), "headgate-statistics-"))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `${files++}.db`)

const word = chunkOf({ delta: { content: "word" }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 10, completion_tokens: 5 } })

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** What is shown for a measured value: that of its bucket, which test/domain/structures/histogram.test.ts has at most 5 % off. */
const shown = (measured: number): number => {
  const histogram = new Histogram()
  histogram.add(measured)
  return histogram.percentile(50) ?? Number.NaN
}

/** The same in a listing. */
const listed = (measured: number): number => Number(shown(measured).toPrecision(3))

interface Options {
  readonly storage?: Layer.Layer<Storage, unknown>
  readonly clock?: ManualClock
}

/** A gateway with one host. */
const startWith = async (answer: Answer, { storage = lastingStorage, clock = new ManualClock() }: Options = {}) => {
  const host = opened(scriptedHost(answer))
  const gateway = await startWatched({ config: configFor({ acme: host }), storage, setting: Layer.setClock(clock) })
  const listing = async (): Promise<Json> => {
    const [only] = await gateway.listed()
    if (only === undefined) throw new Error("no host is listed")
    return only
  }
  return { ...gateway, host, clock, listing }
}

describe("latency and throughput", () => {
  test("of a stream: time to the first token, and tokens over the whole time", async () => {
    const held = Promise.withResolvers<HeldStream>()
    const gateway = await startWith((_body, request) => {
      const stream = heldStream(request)
      held.resolve(stream)
      return stream.response
    })
    const asked = gateway.chat(ask({ stream: true }))
    const stream = await held.promise
    gateway.clock.advance(200)
    stream.send(word)
    const response = await asked
    gateway.clock.advance(300)
    stream.send(finish)
    stream.send("[DONE]")
    await response.text()
    const latency = { p50: listed(200), p75: listed(200), p90: listed(200), p99: listed(200) }
    const throughput = { p50: listed(10), p75: listed(10), p90: listed(10), p99: listed(10) }
    expect(await gateway.listing()).toMatchObject({
      latency_last_30m: latency,
      throughput_last_30m: throughput,
      perf_last_30m_by_workload: { text_generation: { latency, throughput, request_count: 1 } },
    })
    gateway.clock.advance(31 * 60_000)
    expect(await gateway.listing()).toMatchObject({
      latency_last_30m: null,
      throughput_last_30m: null,
      perf_last_30m_by_workload: {},
      uptime_last_30m: null,
      uptime_last_1d: 100,
    })
  })

  test("of a whole answer: it has a throughput, and no first token", async () => {
    const called = Promise.withResolvers<(response: Response) => void>()
    const gateway = await startWith(() => new Promise<Response>((resolve) => called.resolve(resolve)))
    const asked = gateway.chat(ask())
    const answer = await called.promise
    gateway.clock.advance(1000)
    answer(wholeAnswer("fine"))
    expect((await asked).status).toBe(200)
    const throughput = { p50: listed(5), p75: listed(5), p90: listed(5), p99: listed(5) }
    expect(await gateway.listing()).toMatchObject({
      latency_last_30m: null,
      throughput_last_30m: throughput,
      perf_last_30m_by_workload: { text_generation: { latency: null, throughput, request_count: 1 } },
    })
  })

  test("of a caller who left after the first token: its time, and no outcome", async () => {
    const held = Promise.withResolvers<HeldStream>()
    const gateway = await startWith((_body, request) => {
      const stream = heldStream(request)
      held.resolve(stream)
      return stream.response
    })
    const leaving = new AbortController()
    const asked = gateway.chat(ask({ stream: true }), { signal: leaving.signal })
    const stream = await held.promise
    gateway.clock.advance(200)
    stream.send(word)
    await asked
    leaving.abort()
    let hasLeft = false
    void stream.left.then(() => {
      hasLeft = true
    })
    // Its host is read on for a second, from when the gateway has noticed.
    await until(() => {
      if (!hasLeft) gateway.clock.advance(100)
      return hasLeft
    }, "the end of the call")
    await turns()
    const { latency_last_30m, throughput_last_30m, uptime_last_5m } = await gateway.listing()
    expect(latency_last_30m).toMatchObject({ p50: listed(200) })
    expect([throughput_last_30m, uptime_last_5m]).toEqual([null, null])
  })
})

describe("uptime", () => {
  test.each([
    [500, 0],
    [404, 0],
    [429, null],
    [403, null],
    [400, null],
  ])("after a %p it is %p", async (code, uptime) => {
    const gateway = await startWith(status(code))
    await gateway.chat(ask())
    expect(await gateway.listing()).toMatchObject({
      uptime_last_5m: uptime,
      uptime_last_30m: uptime,
      uptime_last_1d: uptime,
    })
  })

  test("of at least 100 requests in a day makes the status", async () => {
    const answers = [...Array.from({ length: 6 }, () => status(500)), ...Array.from({ length: 94 }, () => good())]
    const gateway = await startWith((...asked) => (answers.shift() ?? status(500))(...asked))
    for (let n = 0; n < 99; n++) {
      await gateway.chat(ask())
      gateway.clock.advance(60_000)
    }
    expect((await gateway.listing()).status).toBe(0)
    await gateway.chat(ask())
    expect(await gateway.listing()).toMatchObject({ status: -1, uptime_last_1d: 94, uptime_last_5m: 100 })
    for (let n = 0; n < 20; n++) {
      await gateway.chat(ask())
      gateway.clock.advance(60_000)
    }
    expect((await gateway.listing()).status).toBe(-2)
    gateway.clock.advance(86_400_000)
    expect((await gateway.listing()).status).toBe(0)
  })
})

describe("what a strategy reads", () => {
  /** A gateway whose strategy keeps the statistics of the first of two hosts. */
  const startRead = async (answer: Answer) => {
    const seen: Array<HostSnapshot> = []
    const reading = defineStrategy({
      id: "reading",
      config: Schema.Struct({}),
      load: () => (candidates) => {
        seen.push(...candidates.slice(0, 1).map(({ stats }) => stats))
        return candidates
      },
    })
    const host = opened(scriptedHost(answer))
    const other = opened(scriptedHost(good()))
    const clock = new ManualClock()
    const gateway = await startWatched({
      plugins: [...(await Effect.runPromise(ownPlugins)), reading],
      config: configFor({ acme: host, other }, { routing: { strategy: "reading" } }),
      setting: Layer.setClock(clock),
    })
    const stats = (): HostSnapshot => {
      const last = seen.at(-1)
      if (last === undefined) throw new Error("nothing was ranked")
      return last
    }
    return { ...gateway, clock, stats }
  }

  test("is empty before the first answer, and right after it is not", async () => {
    const gateway = await startRead((body, request, call) => (call < 4 ? good() : status(500))(body, request, call))
    await gateway.chat(ask({ stream: true }))
    const { stats } = gateway
    expect(stats()).toMatchObject({ failing: false, uptime: 100, standing: "normal", toolSuccess: null })
    await gateway.chat(ask())
    await gateway.chat(ask())
    expect(stats().failing).toBe(false)
    await gateway.chat(ask())
    expect([stats().failing, stats().uptime]).toEqual([false, 75])
    await gateway.chat(ask())
    expect([stats().failing, stats().uptime]).toEqual([true, 60])
    gateway.clock.advance(30_000)
    expect([stats().failing, stats().uptime]).toEqual([false, 60])
  })

  test("percentiles of 5 minutes: a latency that so many kept below, a speed that so many reached", async () => {
    const { promise, resolve } = Promise.withResolvers<ManualClock>()
    const gateway = await startRead(async (_body, _request, call) => {
      const clock = await promise
      clock.advance(call * 100)
      return sse([word, finish, "[DONE]"])
    })
    resolve(gateway.clock)
    for (let n = 0; n < 10; n++) await (await gateway.chat(ask({ stream: true }))).text()
    const { latencyAt, throughputAt, latencyMs, throughput } = gateway.stats()
    expect(([50, 90, 99] as const).map(latencyAt)).toEqual([shown(500), shown(900), shown(1000)])
    expect(([50, 90, 99] as const).map(throughputAt)).toEqual([shown(8.33), shown(5), shown(5)])
    expect([latencyMs, throughput]).toEqual([shown(500), shown(8.33)])
    gateway.clock.advance(5 * 60_000)
    expect([latencyAt(50), throughputAt(50)]).toEqual([null, null])
    expect(gateway.stats().latencyMs).toEqual(shown(500))
  })

  const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }]
  const call = (name: string, given: string) => ({
    id: "call_1",
    type: "function",
    function: { name, arguments: given },
  })
  const answers = [
    ["sound", "look", '{"at":1}', "tool_calls", 1],
    ["without arguments", "look", "", "tool_calls", 1],
    ["whose arguments are no JSON", "look", '{"at":', "tool_calls", 0],
    ["of an unknown tool", "touch", "{}", "tool_calls", 0],
    ["cut for want of tokens", "look", '{"at":', "length", null],
  ] as const

  test.each(answers)("a tool call %s, in a whole answer and in a stream", async (_, name, given, reason, share) => {
    const { message, fragments } = {
      message: { role: "assistant", content: null, tool_calls: [call(name, given)] },
      fragments: [
        { tool_calls: [{ index: 0, ...call(name, given.slice(0, 3)) }] },
        { tool_calls: [{ index: 0, function: { arguments: given.slice(3) } }] },
      ],
    }
    const answer: Answer = (body) =>
      body["stream"] === true
        ? sse([
            ...fragments.map((delta) => chunkOf({ delta, finish_reason: null })),
            chunkOf({ delta: {}, finish_reason: reason }),
            "[DONE]",
          ])
        : Response.json({ choices: [{ index: 0, message, finish_reason: reason }] })
    for (const stream of [false, true]) {
      const gateway = await startRead(answer)
      const response = await gateway.chat(ask({ stream, tools }))
      expect(response.status).toBe(200)
      await response.text()
      expect(gateway.stats().toolSuccess).toBe(share)
      await (await gateway.chat(ask({ stream }))).text()
      expect(gateway.stats().toolSuccess).toBe(share)
    }
  })

  test("a plain text is a sound answer to a request with tools", async () => {
    const gateway = await startRead(good())
    for (const stream of [false, true]) await (await gateway.chat(ask({ stream, tools }))).text()
    expect(gateway.stats().toolSuccess).toBe(1)
  })
})

describe("a restart", () => {
  const traffic = async (gateway: Awaited<ReturnType<typeof startWith>>) => {
    for (const stream of [true, false, true]) {
      await (await gateway.chat(ask({ stream }))).text()
      // Less than the process's lease on the database lasts: without it the next request is refused until it is renewed.
      gateway.clock.advance(31_000)
    }
  }
  /** Takes 400 ms for each answer; every third fails. */
  const slow =
    (clock: ManualClock): Answer =>
    (body, request, call) => {
      clock.advance(400)
      return (call % 3 === 0 ? status(500) : good())(body, request, call)
    }

  test("keeps all figures in a SQLite file, and goes on counting", async () => {
    const clock = new ManualClock()
    const storage = SqliteStorage.layer({ path: newFile(), durability: "process" })
    const before = await startWith(slow(clock), { clock, storage })
    await traffic(before)
    const seen = await before.listing()
    expect(seen).toMatchObject({ latency_last_30m: { p50: listed(400) }, uptime_last_30m: (2 / 3) * 100 })
    await before.stop()

    const after = await startWith(good(), { clock, storage })
    expect(await after.listing()).toEqual(seen)
    await (await after.chat(ask({ stream: true }))).text()
    expect(await after.listing()).toMatchObject({
      uptime_last_30m: 75,
      perf_last_30m_by_workload: { text_generation: { request_count: 4 } },
    })
    await after.stop()

    const third = await startWith(good(), { clock, storage })
    expect(await third.listing()).toMatchObject({ uptime_last_30m: 75, uptime_last_1d: 75 })
    await third.stop()
    clock.advance(31 * 60_000)
    const later = await startWith(good(), { clock, storage })
    expect(await later.listing()).toMatchObject({ uptime_last_30m: null, uptime_last_1d: 75, latency_last_30m: null })
    expect(later.log()).not.toContain("ignored")
    await later.stop()
    clock.advance(86_400_000)
    const nextDay = await startWith(good(), { clock, storage })
    expect(await nextDay.listing()).toMatchObject({ uptime_last_1d: null })
    expect(await nextDay.run(Effect.flatMap(Storage, ({ hostStats }) => hostStats.list(0, 10)))).toEqual([])
  })

  const rowsOf = (gateway: Awaited<ReturnType<typeof startWith>>) =>
    gateway.run(Effect.flatMap(Storage, ({ hostStats }) => hostStats.list(0, 100)))

  test("by a crash loses what came since the last minute", async () => {
    const gateway = await startWith(good())
    await (await gateway.chat(ask())).text()
    expect(await rowsOf(gateway)).toEqual([])
    gateway.clock.advance(60_000)
    await turns()
    expect((await rowsOf(gateway)).map(({ endpoint, minutes }) => [endpoint, minutes])).toEqual([
      ["acme/small acme", 1],
      ["acme/small acme", 10],
    ])
    gateway.clock.advance(60_000)
    await turns()
    expect(await rowsOf(gateway)).toHaveLength(2)
  })

  test("under a clock that was set back meanwhile ignores what lies in the future", async () => {
    const clock = new ManualClock()
    const storage = openInProcess({ path: newFile(), durability: "process" })
    const before = await startWith(good(), { clock, storage })
    await (await before.chat(ask())).text()
    await before.stop()
    const after = await startWith(good(), { clock: new ManualClock(Date.UTC(2026, 0, 12)), storage })
    expect(await after.listing()).toMatchObject({ uptime_last_1d: null, status: 0 })
    expect(after.log()).toContain("kept statistics of hosts are ignored")
  })

  test("with rows that cannot be read, or of a host that is gone, ignores those with one line", async () => {
    const clock = new ManualClock()
    const path = newFile()
    const storage = openInProcess({ path, durability: "process" })
    const before = await startWith(good(), { clock, storage })
    await (await before.chat(ask())).text()
    await before.stop()
    const db = new Database(path)
    const insert = db.query(
      "INSERT INTO host_stats (endpoint, workload, minutes, start, figures) SELECT ?, ?, minutes, start, ? FROM host_stats LIMIT 1",
    )
    insert.run("acme/gone acme", "text_generation", "{}")
    insert.run("acme/small acme", "embeddings", "{}")
    db.run("UPDATE host_stats SET figures = 'half a row' WHERE minutes = 1 AND workload = 'text_generation'")
    db.close()
    const after = await startWith(good(), { clock, storage })
    expect(await after.listing()).toMatchObject({ uptime_last_30m: null, uptime_last_1d: 100 })
    expect(after.log().match(/kept statistics of hosts are ignored/g)).toHaveLength(1)
    expect(after.log()).toContain("ignored: 3")
  })

  test("of the clock alone, by days back and ahead, costs figures at most", async () => {
    const gateway = await startWith(good())
    await (await gateway.chat(ask())).text()
    gateway.clock.advance(-3 * 86_400_000)
    expect(await gateway.listing()).toMatchObject({ uptime_last_30m: 100, uptime_last_1d: 100 })
    await (await gateway.chat(ask())).text()
    expect(await gateway.listing()).toMatchObject({
      perf_last_30m_by_workload: { text_generation: { request_count: 2 } },
    })
    gateway.clock.advance(10 * 86_400_000)
    expect(await gateway.listing()).toMatchObject({ uptime_last_30m: null, uptime_last_1d: null })
    await (await gateway.chat(ask())).text()
    expect(await gateway.listing()).toMatchObject({ uptime_last_30m: 100, uptime_last_1d: 100 })
  })
})

test("a database that fails costs statistics only: it is logged, and what could not be written is written later", async () => {
  let isBroken = true
  const orBroken = <A>(call: Effect.Effect<A, StorageUnavailable>) =>
    Effect.suspend(() => (isBroken ? Effect.fail(new StorageUnavailable({ reason: "no disk" })) : call))
  const failing = Layer.effect(
    Storage,
    Effect.map(Storage, ({ hostStats, ...others }) => ({
      ...others,
      hostStats: {
        list: (after: number, limit: number) => orBroken(hostStats.list(after, limit)),
        put: (slots: Parameters<typeof hostStats.put>[0]) => orBroken(hostStats.put(slots)),
        removeUpTo: (minutes: number, start: number) => orBroken(hostStats.removeUpTo(minutes, start)),
      },
    })),
  ).pipe(Layer.provide(lastingStorage))
  const gateway = await startWith(good(), { storage: failing })
  expect(gateway.log()).toContain("host statistics could not be read")
  expect((await gateway.chat(ask())).status).toBe(200)
  gateway.clock.advance(60_000)
  await turns()
  expect(gateway.log()).toContain("host statistics could not be written")
  isBroken = false
  for (let n = 0; n < 5; n++) {
    gateway.clock.advance(60_000)
    await turns()
  }
  const rows = await gateway.run(Effect.flatMap(Storage, ({ hostStats }) => hostStats.list(0, 100)))
  expect(rows.map(({ minutes }) => minutes)).toEqual([1, 10])
  expect(await gateway.listing()).toMatchObject({ uptime_last_30m: 100 })
})
