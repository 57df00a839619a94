/** Sums by day: always those of the ledger's rows, whatever the rows, their days and their batches. */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import type { AnswerOutcome } from "../../../src/domain/failures/AnswerOutcome.ts"
import { windowStart } from "../../../src/domain/keys/limitWindows.ts"
import { type DaySum, dayOf, type SumQuery } from "../../../src/domain/money/activity.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "../samples.ts"
import { oldDatabase } from "../sqlite/oldDatabase.ts"
import { openInProcess } from "../sqlite/openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-sums-"))
afterAll(() => rmSync(folder, { recursive: true }))

type Service = Context.Tag.Service<typeof Storage>

const inside = <A, E>(
  use: (storage: Service) => Effect.Effect<A, E>,
  layer: Layer.Layer<Storage, unknown> = memoryStorage,
): Promise<A> => Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), layer))

const dayOfDate = (date: string): number => dayOf(date) ?? Number.NaN

/** Around New Year (week 53), a leap day, a Monday that begins a month. */
const days = ["2026-12-31", "2027-01-01", "2028-02-28", "2028-02-29", "2028-03-01", "2026-06-01"].map(dayOfDate)

const outcomes: ReadonlyArray<AnswerOutcome> = ["finished", "host-failed", "cut", "caller-gone", "lost"]
const tokens = FastCheck.oneof(FastCheck.integer({ min: 0, max: 5 }), FastCheck.integer({ min: 0, max: 2 ** 31 }))
const money = FastCheck.bigInt({ min: 0n, max: 10n ** 16n })
const members = FastCheck.record({
  requestId: FastCheck.integer({ min: 0, max: 40 }).map((n) => `r${n}`),
  key: FastCheck.constantFrom(alice, bob),
  model: FastCheck.constantFrom("acme/small", "acme/large"),
  host: FastCheck.constantFrom("acme", "acme/eu"),
  appUrl: FastCheck.constantFrom("", "https://app.example"),
  appTitle: FastCheck.constantFrom("", 'An "app", with 鍵'),
  cost: money,
  upstreamCost: money,
  promptTokens: tokens,
  completionTokens: tokens,
  cachedTokens: tokens,
  cacheWriteTokens: tokens,
  reasoningTokens: tokens,
  outcome: FastCheck.constantFrom(...outcomes),
  admittedAt: FastCheck.tuple(
    FastCheck.constantFrom(...days),
    FastCheck.constantFrom(0, 1, 43_200_000, 86_399_999),
  ).map(([day, after]) => day + after),
})
const batches = FastCheck.array(FastCheck.array(members, { maxLength: 8 }), { maxLength: 6 })

/** What `query` has to answer: the ledger's rows, grouped and added up. */
const expected = (rows: ReadonlyArray<LedgerRow>, { days: wanted, by, key }: SumQuery): ReadonlyArray<DaySum> => {
  const groups = new Map<string, DaySum>()
  for (const row of rows) {
    const day = windowStart("daily", row.admittedAt)
    if (!wanted.includes(day) || (key !== undefined && row.key !== key)) continue
    const of = {
      day,
      key: by === "key" ? row.key : "",
      appUrl: by === "app" ? row.appUrl : "",
      appTitle: by === "app" ? row.appTitle : "",
      model: row.model,
      host: row.host,
      provider: row.provider,
    }
    const before = groups.get(JSON.stringify(of))
    const counts = row.outcome === "lost" ? 0 : 1
    groups.set(JSON.stringify(of), {
      ...of,
      requests: (before?.requests ?? 0) + counts,
      promptTokens: (before?.promptTokens ?? 0) + counts * row.promptTokens,
      completionTokens: (before?.completionTokens ?? 0) + counts * row.completionTokens,
      cachedTokens: (before?.cachedTokens ?? 0) + counts * row.cachedTokens,
      cacheWriteTokens: (before?.cacheWriteTokens ?? 0) + counts * row.cacheWriteTokens,
      reasoningTokens: (before?.reasoningTokens ?? 0) + counts * row.reasoningTokens,
      cost: (before?.cost ?? 0n) + row.cost,
      upstreamCost: (before?.upstreamCost ?? 0n) + row.upstreamCost,
    })
  }
  const orderOf = ({ day, model, host, key: by_, appUrl, appTitle }: DaySum) =>
    [String(1e15 - day), model, host, by_, appUrl, appTitle].join("\u0000")
  return [...groups.values()].toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

const queries: ReadonlyArray<SumQuery> = [
  { days, by: "host" },
  { days, by: "key" },
  { days, by: "app" },
  { days, by: "host", key: alice },
  { days, by: "key", key: bob },
  ...days.map((day) => ({ days: [day], by: "host" }) as const),
]

const answers = (storage: Service) =>
  Effect.all([Effect.forEach(queries, (query) => storage.activity.sums(query)), storage.activity.total()])

const expectSums = (
  [sums, total]: readonly [ReadonlyArray<ReadonlyArray<DaySum>>, bigint],
  rows: ReadonlyArray<LedgerRow>,
) => {
  expect(sums).toEqual(queries.map((query) => expected(rows, query)))
  expect(total).toBe(rows.reduce((sum, row) => sum + row.cost, 0n))
}

test("any batches: the sums of a day are those of its rows", async () => {
  await FastCheck.assert(
    FastCheck.asyncProperty(batches, FastCheck.constantFrom(0, 240, 600), async (written, many) => {
      const [seen, rows] = await inside((storage) =>
        Effect.gen(function* () {
          // So many that some are in the kept sums, and some are not.
          const first = written.flat()[0]
          const copies =
            first === undefined
              ? []
              : Array.from({ length: many }, (_, n) => sampleRow(`copy${n}`, { ...first, requestId: `copy${n}` }))
          for (let at = 0; at < copies.length; at += 64) yield* storage.ledger.append(copies.slice(at, at + 64))
          for (const batch of written) {
            yield* storage.ledger.append(batch.map((each) => sampleRow(each.requestId, each)))
          }
          const rows = yield* Effect.forEach([alice, bob], (key) => storage.ledger.rows(key, 1000))
          return [yield* answers(storage), rows.flat()] as const
        }),
      )
      expectSums(seen, rows)
    }),
    { numRuns: 15 },
  )
})

test("rows from before there were sums are in them, and later ones too", async () => {
  let files = 0
  await FastCheck.assert(
    FastCheck.asyncProperty(batches, async (written) => {
      const path = join(folder, `${files++}.db`)
      const old = [...new Map(written.flat().map((each) => [each.requestId, each])).values()].map((each) =>
        sampleRow(each.requestId, { ...each, strategy: "", seed: 0 }),
      )
      await oldDatabase(path, "daily_sums", old)
      const more = old.map((row) => ({ ...row, requestId: `${row.requestId}-more` }))
      const layer = () => openInProcess({ path, durability: "process" })
      expectSums(await inside(answers, layer()), old)
      expectSums(await inside((storage) => Effect.zipRight(storage.ledger.append(more), answers(storage)), layer()), [
        ...old,
        ...more,
      ])
    }),
    { numRuns: 6 },
  )
})

test("rows from before there were sums, whose sums do not fit, kept the gateway from starting", async () => {
  const path = join(folder, "overflow.db")
  const most = 2n ** 63n - 1n
  const day = dayOfDate("2027-01-01")
  const old = ["a", "b"].map((id) => sampleRow(id, { upstreamCost: most, admittedAt: day, strategy: "", seed: 0 }))
  await oldDatabase(path, "daily_sums", old)
  const [error, rows] = await inside(
    (storage) =>
      Effect.all([
        Effect.flip(storage.activity.sums({ days: [day], by: "host" })),
        Effect.zipRight(storage.ledger.append([sampleRow("c")]), storage.ledger.rows(alice, 9)),
      ]),
    openInProcess({ path, durability: "process" }),
  )
  expect([error.reason, rows.length]).toEqual(["integer overflow", 3])
})

describe("a row", () => {
  test("belongs to the day of its admission, whenever it is settled", async () => {
    const day = dayOfDate("2028-02-29")
    const row = sampleRow("late", { admittedAt: day + 86_399_999, settledAt: day + 3 * 86_400_000 })
    const sums = await inside((storage) =>
      Effect.zipRight(
        storage.ledger.append([row]),
        storage.activity.sums({ days: [day, day + 86_400_000, day + 3 * 86_400_000], by: "host" }),
      ),
    )
    expect(sums.map((sum) => sum.day)).toEqual([day])
  })

  test("of a refused batch is in no sum", async () => {
    const seen = await inside((storage) =>
      Effect.gen(function* () {
        yield* Effect.flip(storage.ledger.append([sampleRow("good"), sampleRow("bad", { cost: -1n })]))
        return yield* Effect.all([
          storage.activity.sums({ days: [1_759_968_000_000], by: "host" }),
          storage.activity.total(),
        ])
      }),
    )
    expect(seen).toEqual([[], 0n])
  })

  test("whose sum does not fit is in the ledger all the same", async () => {
    const most = 2n ** 63n - 1n
    const day = dayOfDate("2027-01-01")
    const [error, count, before] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append([sampleRow("a", { upstreamCost: most, admittedAt: day })])
        yield* storage.ledger.append([sampleRow("b", { upstreamCost: most, admittedAt: day })])
        for (let n = 0; n < 600; n += 60) {
          yield* storage.ledger.append(Array.from({ length: 60 }, (_, at) => sampleRow(`r${n + at}`)))
        }
        return [
          yield* Effect.flip(storage.activity.sums({ days: [day], by: "host" })),
          (yield* storage.ledger.rows(alice, 1000)).length,
          yield* storage.ledger.spend(alice, day),
        ] as const
      }),
    )
    expect(error).toBeInstanceOf(StorageUnavailable)
    expect(count).toBe(602)
    expect(before.total).toBe(602n)
  })

  test("counts for the user who created its key, or the installation", async () => {
    const [own, others, all] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey(alice, { creatorUserId: "user_a" }), someone)
        yield* storage.keys.insert(sampleKey(bob), someone)
        yield* storage.ledger.append([
          sampleRow("a", { cost: 1n }),
          sampleRow("b", { cost: 2n, key: bob }),
          sampleRow("c", { cost: 4n, key: bob, host: "other" }),
        ])
        const of = (creator: string) => storage.activity.sums({ days: [1_759_968_000_000], by: "host", creator })
        return [
          yield* of("user_a"),
          yield* of(storage.installation),
          yield* storage.activity.sums({ days: [1_759_968_000_000], by: "host" }),
        ]
      }),
    )
    const costs = (sums: ReadonlyArray<DaySum>) => sums.map((sum) => [sum.key, sum.host, sum.cost])
    expect(costs(own)).toEqual([["", "acme/eu", 1n]])
    expect(costs(others)).toEqual([
      ["", "acme/eu", 2n],
      ["", "other", 4n],
    ])
    expect(costs(all)).toEqual([
      ["", "acme/eu", 3n],
      ["", "other", 4n],
    ])
  })
})
