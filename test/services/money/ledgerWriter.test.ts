/** Money while the database refuses rows or is slow. */
import { afterEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { Written } from "../../../src/services/money/GroupCommit.ts"
import { type LedgerWriter, makeLedgerWriter } from "../../../src/services/money/LedgerWriter.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import type { Hindrance } from "../../../src/services/storage/Outage.ts"
import { type LedgerRepository, Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { layer as sqliteStorage } from "../../../src/sql/sqlite/SqliteStorage.ts"
import { alice, sampleRow } from "../../sql/samples.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { configFor, heldStream, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

const ask = { model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }
/** The cost of 10 tokens at 1 USD per million and 5 at 2. */
const cost = 20_000_000n

const locked = new StorageUnavailable({ reason: "database is locked" })
const refusing = new StorageUnavailable({ reason: "cannot store REAL value", refused: true })

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A gateway whose ledger fails as long as `state.why` says how, one key with a limit, and one host. */
const scene = async (answer: Parameters<typeof scriptedHost>[0] = () => wholeAnswer("hello")) => {
  const state: { why: StorageUnavailable | undefined; defect: boolean } = { why: undefined, defect: false }
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, ({ ledger, ...others }) => ({
      ...others,
      ledger: {
        ...ledger,
        append: (rows: ReadonlyArray<LedgerRow>) => {
          if (state.defect) return Effect.die(new Error("a bug of the storage"))
          return state.why === undefined ? ledger.append(rows) : Effect.fail(state.why)
        },
      },
    })),
  ).pipe(Layer.provide(memoryStorage))
  const host = scriptedHost(answer)
  closing.push(host.stop)
  const gateway = await startGateway({ config: configFor({ acme: host }), storage })
  closing.push(gateway.stop)
  const account = await openAccount(gateway)
  const headers = { authorization: `Bearer ${account.secret}` }
  return {
    state,
    host,
    account,
    chat: (more: object = {}, init: RequestInit = {}) => gateway.chat({ ...ask, ...more }, { ...init, headers }),
    ready: async () => (await fetch(gateway.url.replace("/api/v1", "/readyz"))).status,
    costs: async () => (await account.rows()).map((row) => [row.cost, row.upstreamCost]),
  }
}

describe("a row that the database cannot take now", () => {
  test("is booked when the database works again; until then no host is called", async () => {
    const { state, host, account, chat, ready, costs } = await scene()
    state.why = locked
    expect((await chat()).status).toBe(503)
    expect(host.calls.length).toBe(1)
    expect(await account.reserved()).toBeGreaterThan(0n)

    const refused = await chat()
    expect([refused.status, JSON.parse(await refused.text()).error.metadata.error_type]).toEqual([
      503,
      "metering_unavailable",
    ])
    expect(host.calls.length).toBe(1)
    expect(await ready()).toBe(503)

    state.why = undefined
    await until(async () => (await account.reserved()) === 0n)
    expect(await costs()).toHaveLength(1)
    expect(await ready()).toBe(200)
    expect((await chat()).status).toBe(200)
  })

  test("is booked at no cost when its caller was answered 503; the upstream cost is kept", async () => {
    const { state, account, chat, costs } = await scene()
    state.why = locked
    expect((await chat()).status).toBe(503)
    state.why = undefined
    await until(async () => (await account.reserved()) === 0n)
    expect(await account.total()).toBe(0n)
    expect(await costs()).toEqual([[0n, cost]])
  })

  test("is booked at no cost when its stream ended with an error in place of its cost", async () => {
    const { state, account, chat, costs } = await scene(() => streamAnswer(["hello"]))
    state.why = locked
    const text = await (await chat({ stream: true })).text()
    expect(text).toContain("metering_unavailable")
    state.why = undefined
    await until(async () => (await account.reserved()) === 0n)
    expect(await account.total()).toBe(0n)
    expect(await costs()).toEqual([[0n, cost]])
  })

  test("keeps its cost when its caller had left, who was not answered 503", async () => {
    const { state, host, account, chat, ready } = await scene((_, request) => heldStream(request).response)
    state.why = locked
    const leave = new AbortController()
    const response = chat({ stream: true }, { signal: leave.signal }).catch(() => undefined)
    await until(() => host.calls.length === 1)
    leave.abort()
    await response
    await until(async () => (await ready()) === 503)
    state.why = undefined
    await until(async () => (await account.reserved()) === 0n)
    const [row] = await account.rows()
    expect(row?.outcome).toBe("caller-gone")
    expect(row?.cost).toBeGreaterThan(0n)
    expect(await account.total()).toBe(row?.cost ?? -1n)
  })

  test("and later refuses for ever keeps no money reserved", async () => {
    const { state, account, chat } = await scene()
    state.why = locked
    expect((await chat()).status).toBe(503)
    expect(await account.reserved()).toBeGreaterThan(0n)
    state.why = refusing
    await until(async () => (await account.reserved()) === 0n)
    state.why = undefined
    expect((await chat()).status).toBe(200)
    expect(await account.total()).toBe(cost)
  })
})

test("a row that the database will never take keeps no money reserved, and does not block other requests", async () => {
  const { state, account, chat } = await scene()
  state.why = refusing
  expect((await chat()).status).toBe(503)
  state.why = undefined
  expect(await account.reserved()).toBe(0n)
  expect((await chat()).status).toBe(200)
})

test("a defect of the storage is reported, and no caller waits for ever", async () => {
  const { state, chat } = await scene()
  state.defect = true
  expect((await chat()).status).toBe(503)
  state.defect = false
  await until(async () => (await chat()).status === 200)
})

/** A writer, and what it reported for each entry. */
const writing = async (
  ledger: LedgerRepository,
  clock = new ManualClock(),
  logger = Logger.remove(Logger.defaultLogger),
) => {
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.runPromise(effect.pipe(Effect.withClock(clock), Effect.provide(logger)))
  const writer: LedgerWriter = await run(Scope.extend(makeLedgerWriter({ ledger }), scope))
  const results: Array<readonly [string, Written]> = []
  const resolved: Array<readonly [string, boolean]> = []
  return {
    writer,
    clock,
    results,
    resolved,
    add: (row: LedgerRow) =>
      writer.add({
        row,
        lateCost: row.cost,
        onWritten: (written) => results.push([row.requestId, written]),
        onResolved: (booked) => resolved.push([row.requestId, booked !== undefined]),
      }),
    close: () => run(Scope.close(scope, Exit.void)),
  }
}

/** A ledger whose appends wait until the test decides how they end. */
const slowLedger = () => {
  const pending: Array<{ readonly ids: ReadonlyArray<string>; readonly end: (failure?: StorageUnavailable) => void }> =
    []
  const written: Array<string> = []
  const unused = () => Effect.die(new Error("unused"))
  const ledger: LedgerRepository = {
    spend: unused,
    spendOf: unused,
    providerSpend: unused,
    providerSpends: unused,
    providerSums: unused,
    rows: unused,
    find: (id) => Effect.succeed(written.includes(id) ? sampleRow(id) : undefined),
    takesRequests: () => Effect.succeed(true),
    generation: unused,
    page: unused,
    keySums: unused,
    append: (rows) =>
      Effect.async((resume) => {
        const ids = rows.map(({ requestId }) => requestId)
        pending.push({
          ids,
          end: (failure) => {
            if (failure === undefined) written.push(...ids)
            resume(failure === undefined ? Effect.void : Effect.fail(failure))
          },
        })
      }),
  }
  /** Ends the oldest waiting append. */
  const next = async (failure?: StorageUnavailable) => {
    await until(() => pending.length > 0)
    const append = pending.shift()
    append?.end(failure)
    return append?.ids ?? []
  }
  return { ledger, pending, written, next }
}

test("a ledger into which nothing is written is looked at within a minute, and as soon as it refuses no request starts", async () => {
  const { ledger } = slowLedger()
  let takes: true | Hindrance = true
  let asked = 0
  const { writer, clock, close } = await writing({
    ...ledger,
    takesRequests: () => {
      asked += 1
      return Effect.succeed(takes)
    },
  })
  takes = { kind: "gone", cause: "headgate.db is gone" }
  await pass(clock, 60_000)
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThan(61)
  expect(writer.hindrance()).toEqual(takes)
  takes = true
  await pass(clock, 1000)
  expect(writer.hindrance()).toBeUndefined()
  await close()
})

test("a row that has waited for more than five seconds keeps new requests from starting, until it is written", async () => {
  const { ledger, next } = slowLedger()
  const { writer, clock, add, close } = await writing(ledger)
  add(sampleRow("r1"))
  await turn()
  await pass(clock, 5000)
  expect(writer.hindrance()).toBeUndefined()
  await pass(clock, 1)
  expect(writer.hindrance()?.kind).toBe("away")
  await next()
  expect(writer.hindrance()).toBeUndefined()
  await close()
})

/** The rows of one turn of the event loop are committed together. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

// Its caller was told 503, so a retry would book it at no cost. The row that is there has the cost.
test("a row that was written although the database said otherwise is booked as the ledger has it", async () => {
  const { ledger, pending, next } = slowLedger()
  const there = sampleRow("r1", { cost: 20n })
  const clock = new ManualClock()
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.runPromise(effect.pipe(Effect.withClock(clock), Effect.provide(Logger.remove(Logger.defaultLogger))))
  const find: LedgerRepository["find"] = () => Effect.succeed(there)
  const writer = await run(Scope.extend(makeLedgerWriter({ ledger: { ...ledger, find } }), scope))
  const booked: Array<bigint | undefined> = []
  writer.add({ row: there, lateCost: 0n, onWritten: () => {}, onResolved: (row) => booked.push(row?.cost) })
  await next(locked)
  await until(() => {
    clock.advance(1000)
    pending.shift()?.end()
    return booked.length > 0
  })
  expect(booked).toEqual([20n])
  await run(Scope.close(scope, Exit.void))
})

test("who is told of a row throws: the others of its commit are told, and later rows are written", async () => {
  const { ledger, next, written } = slowLedger()
  const { writer, add, results, close } = await writing(ledger)
  add(sampleRow("r1"))
  const throws = () => {
    throw new Error("a bug")
  }
  writer.add({ row: sampleRow("r2"), lateCost: 0n, onWritten: throws, onResolved: () => {} })
  add(sampleRow("r3"))
  await next()
  await next()
  add(sampleRow("r4"))
  await next()
  await until(() => results.length === 3)
  expect(results.map(([id]) => id)).toEqual(["r1", "r3", "r4"])
  expect(written).toEqual(["r1", "r2", "r3", "r4"])
  await close()
})

describe("at stop", () => {
  test("rows that are left are told, although the last try to write them meets a defect", async () => {
    const { ledger, next, pending } = slowLedger()
    const lines: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void lines.push(JSON.stringify(message))),
    )
    const find: LedgerRepository["find"] = () => Effect.die(new Error("a bug of the storage"))
    const { add, close } = await writing({ ...ledger, find }, new ManualClock(), logger)
    add(sampleRow("r1"))
    await next(locked)
    const closed = close()
    await until(() => pending.length > 0)
    pending.shift()?.end()
    await closed
    expect(lines.filter((line) => line.includes("is not in the ledger"))).toHaveLength(1)
  })

  test("during a slow attempt to write the backlog: both of its rows are booked, and reported once", async () => {
    const { ledger, pending, written, next } = slowLedger()
    const { add, clock, resolved, close } = await writing(ledger)
    add(sampleRow("r1"))
    await turn()
    add(sampleRow("r2"))
    await next(locked)
    await next(locked)
    await until(() => {
      clock.advance(1000)
      return pending.length > 0
    })
    let isClosed = false
    const closed = close().then(() => {
      isClosed = true
    })
    await until(() => {
      pending.shift()?.end()
      return isClosed
    })
    await closed
    expect(resolved).toEqual([
      ["r1", true],
      ["r2", true],
    ])
    expect(new Set(written)).toEqual(new Set(["r1", "r2"]))
  })

  test("rows that came in the same turn of the event loop are written before it ends, as one commit", async () => {
    const { ledger, next } = slowLedger()
    const { add, results, close } = await writing(ledger)
    add(sampleRow("before"))
    expect(await next()).toEqual(["before"])
    await until(() => results.length === 1)
    // By the clock of this test no time has passed since, so the ledger is busy.
    for (const id of ["r1", "r2"]) add(sampleRow(id))
    const closed = close()
    expect(await next()).toEqual(["r1", "r2"])
    await closed
    expect(results.map(([, result]) => result)).toEqual(["durable", "durable", "durable"])
  })

  test("rows that wait behind a commit are written before it ends", async () => {
    const { ledger, next } = slowLedger()
    const { add, results, close } = await writing(ledger)
    add(sampleRow("r1"))
    await turn()
    for (const id of ["r2", "r3"]) add(sampleRow(id))
    const closed = close()
    expect(await next()).toEqual(["r1"])
    expect(await next()).toEqual(["r2", "r3"])
    await closed
    expect(results).toEqual([
      ["r1", "durable"],
      ["r2", "durable"],
      ["r3", "durable"],
    ])
  })
})

test("an impossible row in a SQLite file is refused, and neither blocks the others nor paid requests", async () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-writer-"))
  closing.push(() => rmSync(folder, { recursive: true }))
  const scope = Effect.runSync(Scope.make())
  closing.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const built = Layer.buildWithScope(sqliteStorage({ path: join(folder, "headgate.db"), durability: "process" }), scope)
  const { ledger } = await Effect.runPromise(Effect.flatMap(built, (context) => Effect.provide(Storage, context)))
  const { writer, add, results, resolved, close } = await writing(ledger)
  add(sampleRow("first"))
  add(sampleRow("impossible", { cost: 2n ** 63n }))
  add(sampleRow("last"))
  await until(() => resolved.length === 3)
  expect(Object.fromEntries(results)).toEqual({ first: "durable", impossible: "refused", last: "durable" })
  expect(Object.fromEntries(resolved)).toEqual({ first: true, impossible: false, last: true })
  expect(writer.hasBacklog()).toBe(false)
  const rows = await Effect.runPromise(ledger.rows(alice, 9))
  expect(rows.map(({ requestId }) => requestId).sort()).toEqual(["first", "last"])
  await close()
})
