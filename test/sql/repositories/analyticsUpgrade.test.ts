/** Sums by hour of a database from before there were any, and what is removed: what is told is right at each step. */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { hourMs, hourOf } from "../../../src/domain/money/activity.ts"
import { type AnalyticsQuestion, keptHoursMs } from "../../../src/domain/money/analytics.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import type { RequestRecord } from "../../../src/services/storage/requests.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { advance, advanced } from "../../../src/sql/repositories/dailySums.ts"
import { ledger } from "../../../src/sql/repositories/ledgerRepository.ts"
import type { Stored } from "../../../src/sql/tables/table.ts"
import { execute, hasPostgres, makeDatabase, postgresAt, redactedUrlOf } from "../../support/storage/postgres.ts"
import { alice, sampleRow } from "../samples.ts"
import { oldDatabase, oldPostgres } from "../sqlite/oldDatabase.ts"
import { openInProcess } from "../sqlite/openInProcess.ts"

type Service = Context.Tag.Service<typeof Storage>

const folder = mkdtempSync(join(tmpdir(), "headgate-upgrade-"))
afterAll(() => rmSync(folder, { recursive: true }))

/**
 * Nearly 70 days of rows, three in an hour. The last one, and those where parts of them begin, were settled while the clock was in 1970.
 */
const now = Date.UTC(2026, 10, 26) + 17
const count = 5000
const rows: ReadonlyArray<LedgerRow> = Array.from({ length: count }, (_, at) => {
  const admittedAt = now - (count - at) * 20 * 60_000
  const settledAt = (count - 1 - at) % 2048 === 0 ? 1000 : admittedAt + 1000
  return sampleRow(`r${at}`, { cost: BigInt(at), upstreamCost: 0n, admittedAt, settledAt })
})

const costIn = (from: number, to: number): bigint =>
  rows.filter((row) => row.admittedAt >= from && row.admittedAt < to).reduce((all, { cost }) => all + cost, 0n)

const end = hourOf(now) + hourMs
const from = (since: number): AnalyticsQuestion => ({
  ...{ from: since, to: end, interval: "hour", by: null, filter: {}, limit: 10 },
})
const costOf = (storage: Service, since: number) =>
  Effect.map(storage.analytics.usage(from(since)), ({ points }) => points.reduce((all, { cost }) => all + cost, 0n))

const record = {
  ...{
    requestId: "r4999",
    generationId: null,
    callerRequestId: "",
    createdAt: now,
    key: alice,
    appTitle: "",
    appUrl: "",
  },
  ...{ userHash: "", route: "POST /api/v1/chat/completions", form: "chat", model: "acme/small", host: "acme/eu" },
  ...{ status: 502, outcome: "host_unavailable", why: "", streamed: false, attempts: [], times: {}, durationMs: 1 },
  ...{ bytesIn: 1, bytesOut: 1, address: null, requests: 1, strategy: "", seed: 0, routed: "" },
} as const satisfies RequestRecord

/** The columns of the ledger of that time. */
const names = ledger.names.filter((name) => name !== "routed")
const valuesOf = (row: LedgerRow): Array<Stored> => {
  const values = ledger.valuesOf(row)
  return ledger.names.flatMap((name, at) => (name === "routed" ? [] : [values[at] ?? null]))
}

const oldSqlite = async (name: string) => {
  const path = join(folder, `${name}.db`)
  await oldDatabase(path, "sums_by_hour", [])
  const db = new Database(path)
  const add = db.query<never, Array<Stored>>(`INSERT INTO ledger (${names}) VALUES (${names.map(() => "?")})`)
  db.transaction(() => {
    for (const row of rows) add.run(...valuesOf(row))
  })()
  db.run(advance)
  db.run(advanced)
  db.run(`INSERT INTO requests SELECT NULL, 'refused', NULL, '', ${now}, '${alice}', '', '', '', 'POST /', NULL, 'acme/small', NULL, 429,
    'policy_rate_limited', '', 0, '[]', '{}', 1, 1, 1, NULL, 7`)
  db.run(`INSERT INTO unknown_requests VALUES (${hourOf(now)}, '', 401, 3)`)
  db.close()
  return openInProcess({ path, durability: "process" })
}

const oldServer = async () => {
  const database = await makeDatabase()
  await oldPostgres(redactedUrlOf(database), "sums_by_hour", [])
  await execute(
    database,
    `INSERT INTO headgate.ledger (${names}) SELECT ${names}
      FROM jsonb_populate_recordset(NULL::headgate.ledger, '${JSON.stringify(rows.map(ledger.columnsOf))}')`,
    `SET search_path TO headgate; ${advance}; ${advanced}`,
    `SET search_path TO headgate; INSERT INTO requests (request_id, caller_request_id, created_at, key_id, app_title, app_url, user_hash,
      route, model, status, outcome, why, streamed, attempts, times, duration_ms, bytes_in, bytes_out, requests)
      VALUES ('refused', '', ${now}, '${alice}', '', '', '', 'POST /', 'acme/small', 429, 'policy_rate_limited', '', FALSE, '[]', '{}', 1, 1, 1, 7)`,
    `SET search_path TO headgate; INSERT INTO unknown_requests VALUES (${hourOf(now)}, '', 401, 3)`,
  )
  return postgresAt(database)
}

const makers: ReadonlyArray<readonly [string, (name: string) => Promise<Layer.Layer<Storage, unknown>>]> = [
  ["SQLite", oldSqlite],
  ...(hasPostgres ? [["PostgreSQL", oldServer] as const] : []),
]
if (!hasPostgres) test.skip("in PostgreSQL", () => {})

/** Rows of nothing, by a clock that shows this time. */
const settledAround = (at: number): ReadonlyArray<LedgerRow> =>
  Array.from({ length: 300 }, (_, n) =>
    sampleRow(`at${at}.${n}`, { cost: 0n, upstreamCost: 0n, streamed: false, admittedAt: at - 1, settledAt: at }),
  )

const inside = async <A, E>(
  layer: Promise<Layer.Layer<Storage, unknown>>,
  use: (storage: Service) => Effect.Effect<A, E>,
) => Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), await layer))

describe.each(makers)("in %s", (_, make) => {
  test("rows from before are added part by part, by two processes at once, and `kept` says since when they are there", async () => {
    const sinces = await inside(make("parts"), (storage) =>
      Effect.gen(function* () {
        const seen: Array<number> = []
        for (let isMore = true; isMore; ) {
          const since = (yield* storage.analytics.kept()).sums ?? 0
          seen.push(since)
          expect(yield* costOf(storage, since)).toBe(costIn(since, end))
          const parts = [storage.analytics.addUp(now), storage.analytics.addUp(now)]
          isMore = (yield* Effect.all(parts, { concurrency: 2 })).includes(true)
        }
        return seen
      }),
    )
    expect(sinces[0]).toBeGreaterThan(now)
    expect(sinces).toEqual(sinces.toSorted((a, b) => b - a))
    // A month is there; the rest of the ledger was not read.
    expect(sinces.at(-1)).toBeLessThan(now - 35 * dayMs)
    expect(sinces.at(-1)).toBeGreaterThan(rows[0]?.admittedAt ?? 0)
  }, 1_800_000)

  test("old hours are removed, at most so many at once, and late rows of them are not added", async () => {
    await inside(make("pruned"), (storage) =>
      Effect.gen(function* () {
        yield* Effect.repeat(storage.analytics.addUp(now), { while: (isMore) => isMore })
        const later = now + 20 * dayMs
        yield* storage.ledger.append(settledAround(later))
        yield* Effect.sleep("200 millis").pipe(Effect.when(() => hasPostgres))
        expect(yield* storage.analytics.prune(later, 100)).toBe(true)
        const since = hourOf(later - keptHoursMs)
        expect((yield* storage.analytics.kept()).sums).toBe(since)
        expect(yield* costOf(storage, since)).toBe(costIn(since, end))
        yield* Effect.repeat(storage.analytics.prune(later, 100), { while: (isMore) => isMore })
        expect(yield* costOf(storage, since)).toBe(costIn(since, end))
        expect(yield* costOf(storage, 0)).toBe(costIn(since, end))
        const late = Array.from({ length: 2400 }, (_, at) => sampleRow(`late${at}`, { admittedAt: since - 1 }))
        yield* storage.ledger.append(late)
        yield* Effect.sleep("200 millis").pipe(Effect.when(() => hasPostgres))
        yield* Effect.repeat(storage.analytics.addUp(later), { while: (isMore) => isMore })
        expect(yield* costOf(storage, since)).toBe(costIn(since, end))
      }),
    )
  }, 1_800_000)

  test("a clock that was a year ahead removes nothing, and where hours were removed they are added again", async () => {
    await inside(make("clock"), (storage) =>
      Effect.gen(function* () {
        const addUp = Effect.repeat(storage.analytics.addUp(now), { while: (isMore) => isMore })
        const firstTokensOfDays = Effect.map(
          storage.analytics.firstTokens({ ...from(0), from: now - 30 * dayMs, interval: "day" }, []),
          ({ all }) => all.counts.reduce((sum, count) => sum + count, 0),
        )
        yield* addUp
        const since = hourOf(now - 35 * dayMs)
        const streams = yield* firstTokensOfDays
        expect(streams).toBeGreaterThan(0)
        const ahead = now + 365 * dayMs
        yield* storage.analytics.prune(ahead, 100)
        yield* addUp
        expect(yield* costOf(storage, since)).toBe(costIn(since, end))
        // Rows of the wrong time are in the ledger for ever.
        yield* storage.ledger.append(settledAround(ahead))
        yield* Effect.repeat(storage.analytics.prune(ahead, 100), { while: (isMore) => isMore })
        expect((yield* storage.analytics.kept()).sums).toBeGreaterThan(now)
        yield* storage.ledger.append(settledAround(now - 1))
        yield* storage.analytics.prune(now, 100)
        yield* addUp
        expect((yield* storage.analytics.kept()).sums).toBe(since)
        expect(yield* costOf(storage, since)).toBe(costIn(since, end))
        expect(yield* firstTokensOfDays).toBe(streams)
      }),
    )
  }, 1_800_000)

  test("records from before count as failures, once, and those of a booked request are not counted twice", async () => {
    await inside(make("failures"), (storage) =>
      Effect.gen(function* () {
        yield* storage.requests.add([record])
        yield* storage.requests.add([record])
        const question: AnalyticsQuestion = { ...from(hourOf(now)), by: "host" }
        const { points, groups } = yield* storage.analytics.failures(question, [{ host: "acme/eu", provider: "acme" }])
        expect(points).toEqual([
          { start: hourOf(now), class: "caller", requests: 3, unbooked: 3 },
          { start: hourOf(now), class: "host", requests: 1, unbooked: 0 },
          { start: hourOf(now), class: "policy", requests: 7, unbooked: 7 },
        ])
        expect(groups).toEqual([[{ start: hourOf(now), class: "host", requests: 1, unbooked: 0 }]])
        expect(yield* storage.analytics.failedGroups({ ...question, by: "key" })).toEqual([{ key_id: alice }])
        // A row may come after the record: it waits for the database.
        const awaited = `${record.requestId.slice(0, -1)}~`
        yield* storage.requests.add([{ ...record, requestId: awaited }], [awaited])
        const again = yield* storage.analytics.failures(question, [])
        expect(again.points).toContainEqual({ start: hourOf(now), class: "host", requests: 2, unbooked: 0 })
      }),
    )
  }, 1_800_000)
})
