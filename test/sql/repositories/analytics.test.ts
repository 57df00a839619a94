/** Sums by hour and day, failures and times to the first token: always those of the rows, whatever is added up already. */
import { describe, expect, test } from "bun:test"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import type { AnswerOutcome } from "../../../src/domain/failures/AnswerOutcome.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { hourMs, intervalMs } from "../../../src/domain/money/activity.ts"
import {
  type AnalyticsQuestion,
  columnsOf,
  type GroupColumn,
  groupings,
  hasFirstTokens,
  noUsage,
  sumsFor,
  type UsageFigures,
  type UsagePoint,
  usageOfBoth,
} from "../../../src/domain/money/analytics.ts"
import { FirstTokenCounts, firstTokenFigures } from "../../../src/domain/money/firstTokens.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"
import { alice, bob, sampleRow } from "../samples.ts"

type Service = Context.Tag.Service<typeof Storage>

const inside = <A, E>(
  use: (storage: Service) => Effect.Effect<A, E>,
  layer: Layer.Layer<Storage, unknown>,
): Promise<A> => Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), layer))

const monday = Date.UTC(2026, 10, 23)

const outcomes: ReadonlyArray<AnswerOutcome> = ["finished", "host-failed", "cut", "caller-gone", "lost"]
const tokens = FastCheck.oneof(FastCheck.integer({ min: 0, max: 5 }), FastCheck.integer({ min: 0, max: 2 ** 31 }))
const money = FastCheck.bigInt({ min: 0n, max: 10n ** 14n })
const apps = [
  { appUrl: "", appTitle: "" },
  { appUrl: "https://app.example", appTitle: 'An "app", with 鍵' },
  { appUrl: "https://app.example", appTitle: "Another\0" },
]
const members = FastCheck.record({
  key: FastCheck.constantFrom(alice, bob),
  model: FastCheck.constantFrom("acme/small", "acme/large"),
  host: FastCheck.constantFrom("acme", "acme/eu"),
  app: FastCheck.constantFrom(...apps),
  userHash: FastCheck.constantFrom("", "0123456789abcdef", "fedcba9876543210"),
  cost: money,
  upstreamCost: money,
  promptTokens: tokens,
  completionTokens: tokens,
  cachedTokens: tokens,
  reasoningTokens: tokens,
  streamed: FastCheck.boolean(),
  latencyMs: FastCheck.integer({ min: 0, max: 100_000 }),
  outcome: FastCheck.constantFrom(...outcomes),
  admittedAt: FastCheck.tuple(FastCheck.integer({ min: 0, max: 79 }), FastCheck.constantFrom(0, 1, hourMs - 1)).map(
    ([hours, after]) => monday + hours * hourMs + after,
  ),
}).map(({ app, ...row }) => ({ ...row, ...app }))

/** Rows of a batch, each for many rows of the ledger: sums by day are advanced every 256 rows, those by hour by 1,024 and more. */
const batches = FastCheck.array(FastCheck.array(members, { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 4,
})

const rowsOf = (
  made: ReadonlyArray<ReadonlyArray<Partial<LedgerRow>>>,
  copies: number,
): ReadonlyArray<ReadonlyArray<LedgerRow>> =>
  made.map((batch, at) =>
    Array.from({ length: copies }, (_, copy) =>
      batch.map((row, place) => sampleRow(`r${at}.${copy}.${place}`, { ...row, settledAt: (row.admittedAt ?? 0) + 1 })),
    ).flat(),
  )

const valueOf: Readonly<Record<GroupColumn, (row: LedgerRow) => string>> = {
  model: (row) => row.model,
  host: (row) => row.host,
  provider: (row) => row.provider,
  key_id: (row) => row.key,
  app_url: (row) => row.appUrl,
  app_title: (row) => row.appTitle,
  user_hash: (row) => row.userHash,
}

const usageOf = (row: LedgerRow): UsageFigures =>
  row.outcome === "lost"
    ? { ...noUsage, cost: row.cost, upstreamCost: row.upstreamCost }
    : {
        ...{ requests: 1, promptTokens: row.promptTokens, completionTokens: row.completionTokens },
        ...{ cachedTokens: row.cachedTokens, reasoningTokens: row.reasoningTokens },
        ...{ cost: row.cost, upstreamCost: row.upstreamCost },
      }

const isAskedFor =
  ({ from, to, filter }: AnalyticsQuestion) =>
  (row: LedgerRow): boolean =>
    row.admittedAt >= from &&
    row.admittedAt < to &&
    (filter.model ?? row.model) === row.model &&
    (filter.host ?? row.host) === row.host &&
    (filter.key ?? row.key) === row.key &&
    (filter.userHash ?? row.userHash) === row.userHash &&
    [row.appTitle, row.appUrl].includes(filter.app ?? row.appUrl)

const pointsOf = (rows: ReadonlyArray<LedgerRow>, interval: "hour" | "day"): ReadonlyArray<UsagePoint> => {
  const points = new Map<number, UsageFigures>()
  for (const row of rows) {
    const start = row.admittedAt - (row.admittedAt % intervalMs[interval])
    points.set(start, usageOfBoth(points.get(start) ?? noUsage, usageOf(row)))
  }
  return [...points].toSorted(([a], [b]) => a - b).map(([start, usage]) => ({ start, ...usage }))
}

const costOf = (points: ReadonlyArray<UsageFigures>): bigint => points.reduce((all, { cost }) => all + cost, 0n)

const layers: ReadonlyArray<readonly [string, () => Promise<Layer.Layer<Storage, unknown>>, runs: number]> = [
  ["SQLite", async () => memoryStorage, 12],
  ...(hasPostgres ? ([["PostgreSQL", async () => postgresAt(await makeDatabase()), 2]] as const) : []),
]
if (!hasPostgres) test.skip("in PostgreSQL", () => {})

const filters: ReadonlyArray<AnalyticsQuestion["filter"]> = [
  {},
  { key: alice },
  { model: "acme/small" },
  { host: "acme/eu" },
  { app: "https://app.example" },
  { app: "Another\0" },
  { userHash: "0123456789abcdef" },
]

const spans = [
  [monday + 5 * hourMs, monday + 77 * hourMs, "hour"],
  [monday + 30 * hourMs, monday + 33 * hourMs, "hour"],
  [monday, monday + 4 * dayMs, "day"],
] as const

const questions: ReadonlyArray<AnalyticsQuestion> = spans.flatMap(([from, to, interval]) =>
  filters.flatMap((filter) =>
    [null, ...groupings]
      .filter((by) => sumsFor(filter, by) !== undefined)
      .map((by) => ({ from, to, interval, by, filter, limit: 2 })),
  ),
)

describe.each(layers)("in %s", (_, make, numRuns) => {
  test("usage, and times to the first token, are those of the rows, before and after each step of adding up", async () => {
    await FastCheck.assert(
      FastCheck.asyncProperty(batches, FastCheck.constantFrom(1, 200), async (made, copies) => {
        const appended = rowsOf(made, copies)
        const check = (storage: Service) =>
          Effect.gen(function* () {
            const rows = appended.flat()
            for (const question of questions) {
              const wanted = rows.filter(isAskedFor(question))
              const { points, groups } = yield* storage.analytics.usage(question)
              expect([question, points]).toEqual([question, pointsOf(wanted, question.interval)])
              const { by } = question
              const names = groups.map((group) => group.names)
              for (const group of groups) {
                const own = wanted.filter((row) =>
                  columnsOf[by ?? "model"].every((column) => valueOf[column](row) === group.names[column]),
                )
                expect([question, group.points]).toEqual([question, pointsOf(own, question.interval)])
              }
              const costs = groups.map((group) => costOf(group.points))
              expect(costs).toEqual(costs.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)))
              if (!hasFirstTokens(question)) continue
              const first = yield* storage.analytics.firstTokens(question, names)
              const expected = new FirstTokenCounts()
              const streams = wanted.filter((row) => row.streamed && row.outcome === "finished")
              for (const row of streams) expected.count(row.latencyMs)
              expect(firstTokenFigures(first.all.counts)).toEqual(firstTokenFigures(expected.all))
              expect(first.all.points.reduce((sum, { figures }) => sum + (figures?.count ?? 0), 0)).toBe(streams.length)
            }
          })
        await inside(
          (storage) =>
            Effect.gen(function* () {
              for (const batch of appended) {
                yield* storage.ledger.append(batch)
                yield* storage.analytics.addUp(monday + 4 * dayMs)
              }
              yield* check(storage)
              yield* Effect.repeat(storage.analytics.addUp(monday + 4 * dayMs), { while: (more) => more })
              yield* check(storage)
            }),
          await make(),
        )
      }),
      { numRuns },
    )
  }, 1_800_000)

  test("groups whose costs are above 2^63 picodollars in all are told, the costliest first", async () => {
    const much = 6n * 10n ** 18n
    const rows = [
      sampleRow("r1", { key: alice, cost: much, admittedAt: monday }),
      sampleRow("r2", { key: bob, cost: much, admittedAt: monday + hourMs }),
      sampleRow("r3", { model: "acme/large", cost: 1n, admittedAt: monday }),
    ]
    const question = { from: monday, to: monday + dayMs, interval: "hour", by: "model", filter: {}, limit: 2 } as const
    const { groups } = await inside(
      (storage) => Effect.zipRight(storage.ledger.append(rows), storage.analytics.usage(question)),
      await make(),
    )
    expect(groups.map(({ names, points }) => [names.model, costOf(points)])).toEqual([
      ["acme/small", 2n * much],
      ["acme/large", 1n],
    ])
  })
})
