/** What is spooled is durable here, and in the database once it is back: docs/decisions/0025-the-local-spool.md */
import { afterEach, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { Storage } from "../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../src/services/storage/StorageUnavailable.ts"
import { SpoolFile } from "../../src/sql/spool/SpoolFile.ts"
import { withSpool } from "../../src/sql/spool/withSpool.ts"
import { layer as memoryStorage } from "../../src/sql/sqlite/MemoryStorage.ts"
import { until } from "../support/clocks/until.ts"
import { unaskedLive, unusedRates } from "../support/storage/rates.ts"
import { alice, sampleRow } from "./samples.ts"

type Service = Context.Tag.Service<typeof Storage>

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-spool-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const at = 1_760_000_000_000

const away = Effect.fail(new StorageUnavailable({ reason: "it is away" }))

/** A database that the test can take away, and that outlives the gateways before it. */
const makeServer = async () => {
  const scope = Effect.runSync(Scope.make())
  closing.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const storage = Context.get(await Effect.runPromise(Layer.buildWithScope(memoryStorage, scope)), Storage)
  /** `silence`: statements wait for it. */
  const server: {
    isAway: boolean
    silence: Promise<void> | undefined
    readonly batches: Array<ReadonlyArray<string>>
  } = {
    isAway: false,
    silence: undefined,
    batches: [],
  }
  const whenThere = <A>(effect: Effect.Effect<A, StorageUnavailable>) =>
    Effect.flatMap(
      Effect.promise(async () => server.silence),
      () => (server.isAway ? away : effect),
    )
  const reached: Service = {
    ...storage,
    ledger: {
      ...storage.ledger,
      append: (rows) =>
        whenThere(
          Effect.tap(storage.ledger.append(rows), () => {
            server.batches.push(rows.map(({ requestId }) => requestId))
          }),
        ),
      spend: (key, now) => whenThere(storage.ledger.spend(key, now)),
      providerSpend: (key, now) => whenThere(storage.ledger.providerSpend(key, now)),
    },
    prices: { ...storage.prices, put: (versions) => whenThere(storage.prices.put(versions)) },
    journal: { ...storage.journal, orphans: (now, limit) => whenThere(storage.journal.orphans(now, limit)) },
  }
  return Object.assign(server, { reached, storage })
}

/** A gateway's storage with its spool. `patienceMs` is long, so that only a failure makes it spool. */
const open = async (parts: Service, { folder = newFolder(), patienceMs = 60_000 } = {}) => {
  const scope = Effect.runSync(Scope.make())
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  closing.push(close)
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(Array.isArray(message) ? message[0] : message)))
  const storage = await Effect.runPromise(
    withSpool(parts, { folder, installation: "one", durability: "process", patienceMs }).pipe(
      Scope.extend(scope),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
    ),
  )
  return { storage, folder, close, lines }
}

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, Logger.remove(Logger.defaultLogger)))

/** Rows in the spool of a process that was killed. */
const leave = (folder: string, installation: string, ...ids: ReadonlyArray<string>): string => {
  const file = SpoolFile.create({ folder, installation, durability: "process" })
  const content = (id: string) => {
    const { rareUsage: _, ...row } = sampleRow(id)
    return JSON.stringify({ row: JSON.stringify({ ...row, cost: "1", upstreamCost: "2", rareUsage: null }) })
  }
  file.put(ids.map((id) => ({ id, kind: "row", content: content(id) })))
  file.close()
  return file.path
}

const idsOf = async ({ storage }: { readonly storage: Service }): Promise<ReadonlyArray<string>> =>
  (await run(storage.ledger.page(0, 100))).map(({ requestId }) => requestId)

test("rows go to the database, and nothing to the spool, while it is there", async () => {
  const server = await makeServer()
  const { storage, folder, close } = await open(server.reached)
  expect(await run(storage.ledger.append([sampleRow("a")]))).toBeUndefined()
  expect(await run(storage.ledger.takesRequests())).toBe(true)
  await close()
  expect([await idsOf(server), readdirSync(folder)]).toEqual([["a"], []])
})

test("a spooled row keeps the slice of a budget that it was reserved in", async () => {
  const server = await makeServer()
  const written: Array<unknown> = []
  const append: Service["ledger"]["append"] = (rows) =>
    Effect.tap(server.reached.ledger.append(rows), () => void written.push(...rows.map(({ reservedIn }) => reservedIn)))
  const { storage } = await open({ ...server.reached, ledger: { ...server.reached.ledger, append } })
  const reservedIn = { process: "one", window: "daily", amount: 12_345_678_901_234_567_890n } as const
  server.isAway = true
  await run(storage.ledger.append([{ ...sampleRow("a"), reservedIn }, sampleRow("b")]))
  server.isAway = false
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect(written).toEqual([reservedIn, undefined])
})

test("rows of an outage are spooled, and written in their order, once, when it is over", async () => {
  const server = await makeServer()
  const { storage, folder, close } = await open(server.reached)
  server.isAway = true
  expect(await run(storage.ledger.append([sampleRow("c"), sampleRow("a")]))).toBe("spooled")
  expect(await run(storage.ledger.append([sampleRow("b")]))).toBe("spooled")
  // As the backlog does, and as one whose confirmation was lost.
  expect(await run(storage.ledger.append([sampleRow("c")]))).toBe("spooled")
  await run(server.storage.ledger.append([sampleRow("b")]))
  expect(await run(storage.ledger.takesRequests())).toMatchObject({ kind: "away" })
  server.isAway = false
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect([await idsOf(server), server.batches]).toEqual([["b", "c", "a"], [["c", "a", "b"]]])
  expect((await run(storage.ledger.spend(alice, at))).total).toBe(3n)
  await close()
  expect(readdirSync(folder)).toEqual([])
})

test("a row that a silent database has had for too long is spooled", async () => {
  const server = await makeServer()
  const { storage } = await open(server.reached, { patienceMs: 10 })
  server.silence = new Promise(() => {})
  expect(await run(storage.ledger.append([sampleRow("a")]))).toBe("spooled")
})

test("while something is spooled, what comes after it does not wait for the database", async () => {
  const server = await makeServer()
  const { storage } = await open(server.reached)
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a")]))
  const { promise, resolve } = Promise.withResolvers<void>()
  server.silence = promise
  expect(await run(storage.ledger.append([sampleRow("b")]))).toBe("spooled")
  server.isAway = false
  resolve()
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect(await idsOf(server)).toEqual(["a", "b"])
})

test("what a key has spent is not read before its spooled rows are in the database", async () => {
  const server = await makeServer()
  const { storage } = await open(server.reached)
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a")]))
  expect((await run(Effect.flip(storage.ledger.spend(alice, at)))).reason).toBe("it is away")
  server.isAway = false
  expect((await run(storage.ledger.spend(alice, at))).total).toBe(1n)
})

test("what a provider's key has spent is not read before its spooled rows are in the database", async () => {
  const server = await makeServer()
  const { storage } = await open(server.reached)
  const key = "several/1"
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a", { providerKey: key, upstreamCost: 7n })]))
  expect((await run(Effect.flip(storage.ledger.providerSpend(key, at)))).reason).toBe("it is away")
  server.isAway = false
  expect((await run(storage.ledger.providerSpend(key, at))).total).toBe(7n)
})

test("what the database has as a slice of a budget is not read before the costs are there that leave it", async () => {
  const server = await makeServer()
  let isBooked = false
  const ends: Array<boolean> = []
  const shared: NonNullable<Service["shared"]> = {
    leases: {
      take: () => away,
      renew: () => away,
      end: () => Effect.sync(() => void ends.push(isBooked)),
      clear: away,
    },
    slices: {
      take: () => away,
      giveBack: () => away,
      kept: () => Effect.sync(() => (isBooked ? 90n : 100n)),
      want: () => away,
    },
    rates: unusedRates,
    live: unaskedLive,
    on: () => Effect.void,
  }
  const append: Service["ledger"]["append"] = (rows) =>
    Effect.tap(server.reached.ledger.append(rows), () => {
      isBooked = true
    })
  const { storage } = await open({ ...server.reached, shared, ledger: { ...server.reached.ledger, append } })
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a")]))
  // The lease, whose end gives back slices, does not end before either.
  const end = storage.shared?.leases.end("one") ?? Effect.die("there are leases")
  expect((await run(Effect.flip(end))).reason).toBe("it is away")
  server.isAway = false
  await run(end)
  expect(ends).toEqual([true])
  server.isAway = true
  isBooked = false
  await run(storage.ledger.append([sampleRow("b")]))
  server.isAway = false
  const kept = storage.shared?.slices.kept("one", { key: alice, window: "total", start: 0 })
  expect(await run(kept ?? Effect.die("there are slices"))).toBe(90n)
})

test("a price that is used for the first time in an outage is there before its rows", async () => {
  const server = await makeServer()
  const { storage } = await open(server.reached)
  server.isAway = true
  const version = { id: 7, hash: "of it", pricing: "{}" }
  await run(storage.prices.put([version]))
  await run(storage.ledger.append([sampleRow("a", { priceVersion: 7 })]))
  server.isAway = false
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect([await run(server.storage.prices.list(0, 10)), await idsOf(server)]).toEqual([[version], ["a"]])
})

test("a row that the database will never take is logged, and does not keep the others waiting", async () => {
  const server = await makeServer()
  const { storage, lines } = await open(server.reached)
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a"), sampleRow("bad", { cost: 2n ** 63n }), sampleRow("b")]))
  server.isAway = false
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect(await idsOf(server)).toEqual(["a", "b"])
  expect(lines).toContain("a spooled entry will never be in the database")
})

test.each([
  ["a row without its contents", "row", "{}"],
  ["no JSON", "price", "{"],
  ["an amount that is no number", "row", undefined],
])("an entry that cannot be read, %s, is logged, and does not keep the others waiting", async (_, kind, content) => {
  const server = await makeServer()
  const folder = newFolder()
  leave(folder, "one", "a")
  const [path = ""] = SpoolFile.paths({ folder, installation: "one", durability: "process" })
  const file = SpoolFile.take(path, "process")
  const row = JSON.parse(file?.first(1)[0]?.content ?? "{}").row
  file?.put([{ id: "odd", kind, content: content ?? JSON.stringify({ row, heldIn: { amount: "much" } }) }])
  file?.close()
  leave(folder, "one", "b")
  const { storage, lines } = await open(server.reached, { folder })
  await until(async () => (await run(storage.ledger.takesRequests())) === true, "the replay")
  expect((await idsOf(server)).toSorted()).toEqual(["a", "b"])
  expect(lines).toContain("a spooled entry will never be in the database")
})

test("what killed processes have left is written by the next one, before it reads what else they left", async () => {
  const server = await makeServer()
  const folder = newFolder()
  leave(folder, "one", "a", "b")
  leave(folder, "one", "c")
  const others = leave(folder, "two", "d")
  const { storage, close } = await open(server.reached, { folder })
  await run(storage.journal.orphans(at, 10))
  expect((await idsOf(server)).toSorted()).toEqual(["a", "b", "c"])
  await close()
  expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([others])
})

test("what a process leaves while another one runs is written by that one", async () => {
  const server = await makeServer()
  const first = await open(server.reached)
  const second = await open(server.reached, { folder: first.folder })
  server.isAway = true
  await run(first.storage.ledger.append([sampleRow("a")]))
  server.isAway = false
  // It is the first one's, which runs: the second leaves it alone.
  server.batches.length = 0
  await run(second.storage.journal.orphans(at, 10))
  await until(async () => (await run(first.storage.ledger.takesRequests())) === true, "the replay")
  expect(server.batches).toEqual([["a"]])
  leave(first.folder, "one", "b")
  await run(second.storage.journal.orphans(at, 10))
  expect(await idsOf(server)).toEqual(["a", "b"])
})

test("at the end of a process in an outage its file stays", async () => {
  const server = await makeServer()
  const { storage, folder, close } = await open(server.reached)
  server.isAway = true
  await run(storage.ledger.append([sampleRow("a")]))
  await close()
  server.isAway = false
  const next = await open(server.reached, { folder })
  await run(next.storage.journal.orphans(at, 10))
  expect(await idsOf(server)).toEqual(["a"])
})

test("a file that cannot be read is named once, stays, and keeps nothing waiting", async () => {
  const server = await makeServer()
  const folder = newFolder()
  const path = join(folder, "spool-one-broken.db")
  writeFileSync(path, "this is not a database, but long enough to be one ".repeat(100))
  const { storage, lines } = await open(server.reached, { folder })
  await run(storage.journal.orphans(at, 10))
  await run(storage.journal.orphans(at, 10))
  expect(lines).toEqual(["a spool of an earlier process cannot be read"])
  expect(await run(storage.ledger.takesRequests())).toBe(true)
  expect(await Bun.file(path).text()).toStartWith("this is not a database")
})

test("where the folder cannot be written the start says so, and a row is refused as without a spool", async () => {
  const server = await makeServer()
  const folder = join(newFolder(), "file")
  writeFileSync(folder, "")
  const { storage, lines } = await open(server.reached, { folder })
  expect(lines).toEqual(["rows cannot be kept on this machine while the database is away"])
  server.isAway = true
  expect((await run(Effect.flip(storage.ledger.append([sampleRow("a")])))).reason).toBe("it is away")
})
