/** Sums of the ledger's rows in a span of time: those of its rows, whatever the span, and each row once. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import type { AnswerOutcome } from "../../../src/domain/failures/AnswerOutcome.ts"
import { inBase62, requestIdAt } from "../../../src/domain/ids.ts"
import { intervalMs, type SpanQuery, type SpanSum, SpanSums } from "../../../src/domain/money/activity.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { type DataAtRest, type SpanPart, Storage, spanPartRows } from "../../../src/services/storage/Storage.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "../samples.ts"

const postgresStorage = Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database)))

const kinds: ReadonlyArray<readonly [string, Layer.Layer<Storage, unknown>]> = [
  ["memory", memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", postgresStorage] as const] : []),
]
if (!hasPostgres) test.skip("in PostgreSQL, sums of a span", () => {})

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** New Year of a leap year. */
const began = Date.UTC(2028, 0, 1)

/** The sums of a span, part by part, and how many parts there were. */
const sumsOf = ({ activity }: DataAtRest, query: SpanQuery) =>
  Effect.gen(function* () {
    const sums = new SpanSums()
    let parts = 0
    for (let next: string | null = ""; next !== null; parts += 1) {
      const part: SpanPart = yield* activity.spanSums(query, next)
      for (const sum of part.sums) sums.add(sum)
      next = part.next
    }
    return { sums: sums.all, parts }
  })

/** What `query` has to answer: the rows, grouped and added up one by one. */
const expected = (
  rows: ReadonlyArray<LedgerRow>,
  { from, to, interval, by, key, userHash }: SpanQuery,
): ReadonlyArray<SpanSum> => {
  const groups = new Map<string, SpanSum>()
  for (const row of rows) {
    if (row.admittedAt < from || row.admittedAt >= to || (key !== undefined && row.key !== key)) continue
    if (userHash !== undefined && row.userHash !== userHash) continue
    const of = {
      start: Math.floor(row.admittedAt / intervalMs[interval]) * intervalMs[interval],
      key: by === "key" ? row.key : "",
      userHash: by === "user" ? row.userHash : "",
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
  const orderOf = ({ start, model, host, key: by_, userHash: user, appUrl, appTitle }: SpanSum) =>
    [String(1e15 - start), model, host, by_, user, appUrl, appTitle].join("\u0000")
  return [...groups.values()].toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

const outcomes: ReadonlyArray<AnswerOutcome> = ["finished", "host-failed", "cut", "caller-gone", "lost", "crashed"]
const tokens = FastCheck.oneof(FastCheck.integer({ min: 0, max: 5 }), FastCheck.integer({ min: 0, max: 2 ** 31 }))
const money = FastCheck.bigInt({ min: 0n, max: 10n ** 16n })
const members = FastCheck.record({
  key: FastCheck.constantFrom(alice, bob),
  model: FastCheck.constantFrom("acme/small", "acme/large"),
  host: FastCheck.constantFrom("acme", "acme/eu"),
  appUrl: FastCheck.constantFrom("", "https://app.example"),
  appTitle: FastCheck.constantFrom("", 'An "app", with 鍵'),
  userHash: FastCheck.constantFrom("", "0123456789abcdef", "fedcba9876543210"),
  cost: money,
  upstreamCost: money,
  promptTokens: tokens,
  completionTokens: tokens,
  cachedTokens: tokens,
  cacheWriteTokens: tokens,
  reasoningTokens: tokens,
  outcome: FastCheck.constantFrom(...outcomes),
  // Around hours and midnights.
  admittedAt: FastCheck.tuple(
    FastCheck.constantFrom(0, hour, 23 * hour, day, 3 * day + 9 * hour),
    FastCheck.constantFrom(-1, 0, 1, 30 * minute),
  ).map(([at, after]) => began + at + after),
  /** How much later the id was made: a clock may have been set back meanwhile. */
  idLater: FastCheck.integer({ min: -59 * minute, max: 59 * minute }),
})

const rowsOf = FastCheck.array(members, { maxLength: 40 }).map((all) =>
  all.map(({ idLater, ...row }, n) =>
    sampleRow(`${requestIdAt(row.admittedAt + idLater)}${inBase62(n, 4)}${"x".repeat(12)}`, row),
  ),
)

const spans = FastCheck.record({
  from: FastCheck.constantFrom(began - hour, began, began + 1, began + 23 * hour, began + day),
  length: FastCheck.constantFrom(1, hour, day, 10 * day),
  interval: FastCheck.constantFrom("day" as const, "hour" as const),
  by: FastCheck.constantFrom("host" as const, "key" as const, "app" as const, "user" as const),
  key: FastCheck.option(FastCheck.constantFrom(alice, bob)),
  userHash: FastCheck.option(FastCheck.constantFrom("", "0123456789abcdef")),
}).map(
  ({ length, key, userHash, ...span }): SpanQuery => ({
    ...span,
    to: span.from + length,
    ...(key === null ? {} : { key }),
    ...(userHash === null ? {} : { userHash }),
  }),
)

describe.each(kinds)("in %s, sums of a span", (name, fresh) => {
  const inside = <A, E>(use: (storage: DataAtRest) => Effect.Effect<A, E>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), fresh))

  test("are those of its rows to the picodollar, by day and hour, of all, of a key, of a user, by host, key, app and user", async () => {
    await FastCheck.assert(
      FastCheck.asyncProperty(rowsOf, FastCheck.array(spans, { minLength: 1, maxLength: 8 }), async (rows, queries) => {
        const seen = await inside((storage) =>
          Effect.gen(function* () {
            yield* storage.ledger.append(rows)
            return yield* Effect.forEach(queries, (query) => sumsOf(storage, query))
          }),
        )
        expect(seen.map(({ sums }) => sums)).toEqual(queries.map((query) => expected(rows, query)))
      }),
      { numRuns: name === "memory" ? 60 : 4 },
    )
  })

  test("have each row once, however many parts they are read in", async () => {
    const count = 2 * spanPartRows + 10
    const rows = Array.from({ length: count }, (_, n) =>
      sampleRow(`${requestIdAt(began + n * 1000)}00${"x".repeat(14)}`, {
        admittedAt: began + n * 1000,
        cost: BigInt(n),
        key: n % 3 === 0 ? bob : alice,
      }),
    )
    const query = { from: began, to: began + count * 1000, interval: "hour", by: "key" } as const
    const { sums, parts } = await inside((storage) =>
      Effect.gen(function* () {
        for (let at = 0; at < count; at += 500) yield* storage.ledger.append(rows.slice(at, at + 500))
        return yield* sumsOf(storage, query)
      }),
    )
    expect(parts).toBe(3)
    expect(sums).toEqual(expected(rows, query))
    expect(sums.reduce((all, { cost }) => all + cost, 0n)).toBe((BigInt(count) * BigInt(count - 1)) / 2n)
  })

  test("of the keys that a user created, or the installation", async () => {
    const found = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey(alice, { creatorUserId: "user_a" }), someone)
        yield* storage.keys.insert(sampleKey(bob), someone)
        const id = (n: number) => `${requestIdAt(began + n)}00${"x".repeat(14)}`
        yield* storage.ledger.append([
          sampleRow(id(1), { admittedAt: began, cost: 1n }),
          sampleRow(id(2), { admittedAt: began, cost: 2n, key: bob }),
        ])
        const of = (creator: string) =>
          sumsOf(storage, { from: began, to: began + day, interval: "hour", by: "host", creator })
        return [yield* of("user_a"), yield* of(storage.installation), yield* of("nobody")]
      }),
    )
    expect(found.map(({ sums }) => sums.map(({ start, cost }) => [start, cost]))).toEqual([
      [[began, 1n]],
      [[began, 2n]],
      [],
    ])
  })

  test("up to a time that no id can tell", async () => {
    const far = { from: began, to: 8_640_000_000_000_000, interval: "day", by: "host" } as const
    const row = sampleRow(`${requestIdAt(began)}00${"x".repeat(14)}`, { admittedAt: began })
    const { sums } = await inside((storage) => Effect.zipRight(storage.ledger.append([row]), sumsOf(storage, far)))
    expect(sums).toEqual(expected([row], far))
  })
})
