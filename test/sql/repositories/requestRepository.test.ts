/** Records of requests at rest, beside rows of the ledger: one list of both, by time. */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { inBase62 } from "../../../src/domain/ids.ts"
import type { ListedRequest, RequestFilter, RequestRecord } from "../../../src/services/storage/requests.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { lookedAt } from "../../../src/sql/repositories/requestRepository.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"
import { execute, hasPostgres, makeDatabase, postgresAt, redactedUrlOf } from "../../support/storage/postgres.ts"
import { alice, bob, sampleRow } from "../samples.ts"
import { oldPostgres } from "../sqlite/oldDatabase.ts"
import { openInProcess } from "../sqlite/openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-requests-"))
afterAll(() => rmSync(folder, { recursive: true }))

const began = 1_760_000_000_000

/** The id of a request that began so many milliseconds after `began`. */
const idAt = (ms: number): string => `req_${inBase62(began + ms, 8)}00${"x".repeat(14)}`

const record = (ms: number, members: Partial<RequestRecord> = {}): RequestRecord => ({
  requestId: idAt(ms),
  generationId: null,
  callerRequestId: "trace-1",
  createdAt: began + ms,
  key: alice,
  appTitle: "An app",
  appUrl: "https://app.example",
  userHash: "",
  strategy: "",
  seed: 0,
  routed: "",
  route: "POST /api/v1/chat/completions",
  form: "chat",
  model: "acme/small",
  host: null,
  status: 429,
  outcome: "policy_rate_limited",
  why: "Rate limit exceeded: requests of this key.",
  streamed: false,
  attempts: [],
  times: {},
  durationMs: 1.5,
  bytesIn: 10,
  bytesOut: 20,
  address: null,
  requests: 1,
  ...members,
})

const rowAt = (ms: number, members: Parameters<typeof sampleRow>[1] = {}) =>
  sampleRow(idAt(ms), { admittedAt: began + ms, ...members })

const postgresStorage = Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database)))

const kinds: ReadonlyArray<readonly [string, Layer.Layer<Storage, unknown>]> = [
  ["memory", memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", postgresStorage] as const] : []),
]
if (!hasPostgres) test.skip("in PostgreSQL, records of requests", () => {})

const idsOf = (found: ReadonlyArray<ListedRequest>) => found.map(({ record, row }) => (record ?? row).requestId)

/** All pages, newest first. `between`: what is done after each. */
const allPages = (
  { requests }: DataAtRest,
  filter: RequestFilter,
  limit: number,
  between: (page: number) => Effect.Effect<void, unknown> = () => Effect.void,
) =>
  Effect.gen(function* () {
    const found: Array<ListedRequest> = []
    let pages = 0
    for (let next: string | null = ""; next !== null; pages += 1) {
      const page: Effect.Effect.Success<ReturnType<typeof requests.page>> = yield* requests.page(filter, next, limit)
      found.push(...page.found)
      next = page.next
      yield* between(pages)
    }
    return found
  })

describe.each(kinds)("in %s, records of requests", (_, fresh) => {
  const inside = <A, E>(use: (storage: DataAtRest) => Effect.Effect<A, E>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), fresh))

  test("keep every member, once for each request, and have the row of what was booked", async () => {
    const full = record(5, {
      generationId: `gen-1-${idAt(5).slice(4, 24)}`,
      userHash: "0123456789abcdef",
      host: "acme/eu",
      status: 200,
      outcome: "host_broke_off",
      why: "Ünïcode 鍵 \u0000",
      streamed: true,
      attempts: [{ model: "acme/small", host: "acme/eu", outcome: "overloaded", status: 503, ms: 12.5 }],
      times: { admitted: 0.5, firstAttempt: 1, lastByte: 30 },
      address: "2001:db8::1",
      requests: 12_345,
    })
    const bare = record(6, { form: null, model: null })
    const row = rowAt(5, { outcome: "host-failed" })
    const [page, byId, byGeneration, none] = await inside(({ requests, ledger }) =>
      Effect.gen(function* () {
        yield* requests.add([])
        yield* requests.add([full, bare])
        yield* requests.add([record(5, { status: 500 })])
        yield* ledger.append([row])
        return [
          yield* requests.page({}, "", 10),
          yield* requests.find(full.requestId),
          yield* requests.find(full.generationId ?? ""),
          yield* requests.find(idAt(7)),
        ] as const
      }),
    )
    expect(page).toEqual({
      found: [
        { record: bare, row: null },
        { record: full, row },
      ],
      next: null,
    })
    expect([byId, byGeneration, none]).toEqual([full, full, undefined])
  })

  test("are listed with the ledger's rows by time, without those of calls that lost", async () => {
    const found = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.requests.add([record(1), record(4), record(9)])
        yield* storage.ledger.append([rowAt(2), rowAt(3), rowAt(8), { ...rowAt(7), outcome: "lost" }])
        return yield* allPages(storage, {}, 2)
      }),
    )
    expect(idsOf(found)).toEqual([9, 8, 4, 3, 2, 1].map(idAt))
  })

  const filters: ReadonlyArray<readonly [string, RequestFilter, ReadonlyArray<number>]> = [
    ["a key", { key: bob }, [8, 3]],
    ["an app's title", { app: "Kitchen" }, [7, 3]],
    ["an app's URL", { app: "https://kitchen.test" }, [3]],
    ["a model", { model: "acme/large" }, [6]],
    ["a host", { host: "acme/us" }, [7, 5]],
    ["a provider", { provider: "acme" }, [8, 7, 6, 5, 1]],
    ["the beginning of a provider's slug", { provider: "acm" }, []],
    ["a status", { statuses: [404, 404] }, [4]],
    ["statuses", { statuses: [400, 499] }, [8, 4, 3, 2]],
    ["a key and a status", { key: bob, statuses: [429, 429] }, [8, 3]],
    ["200", { statuses: [200, 200] }, [7, 6, 5, 1]],
    ["an outcome", { outcomes: ["ok"] }, [7, 6, 5]],
    ["outcomes", { outcomes: ["host_broke_off", "caller_not_found"] }, [4, 1]],
    ["a user", { userHash: "aa" }, [2]],
    ["times", { from: began + 3, to: began + 6 }, [5, 4, 3]],
    ["a key and times", { key: bob, from: began + 4 }, [8]],
    ["nothing that there is", { model: "acme/none" }, []],
  ]

  test("are found by what they have", async () => {
    const app = { appTitle: "Kitchen", appUrl: "https://kitchen.test" }
    const found = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.requests.add([
          record(2, { userHash: "aa" }),
          record(3, { key: bob, ...app }),
          record(4, { status: 404, outcome: "caller_not_found" }),
          record(8, { key: bob, host: "acme" }),
        ])
        yield* storage.ledger.append([
          rowAt(1, { outcome: "host-failed" }),
          rowAt(5, { host: "acme/us" }),
          rowAt(6, { model: "acme/large" }),
          rowAt(7, { appTitle: "Kitchen", host: "acme/us" }),
        ])
        return yield* Effect.forEach(filters, ([_, filter]) =>
          Effect.all([allPages(storage, filter, 1), allPages(storage, filter, 100)]),
        )
      }),
    )
    const expected = filters.map(([what, _, times]) => [what, times.map(idAt), times.map(idAt)])
    expect<unknown>(filters.map(([what], at) => [what, ...(found[at]?.map(idsOf) ?? [])])).toEqual(expected)
  })

  test("each come once while others are written", async () => {
    const found = await inside((storage) =>
      Effect.gen(function* () {
        const { requests, ledger } = storage
        yield* requests.add([1, 3, 5, 7, 9].map((ms) => record(ms)))
        yield* ledger.append([2, 4, 6, 8].map((ms) => rowAt(ms)))
        return yield* allPages(storage, {}, 2, (page) =>
          Effect.zipRight(requests.add([record(100 + page)]), ledger.append([rowAt(200 + page)])),
        )
      }),
    )
    expect(idsOf(found)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1].map(idAt))
  })

  test("are told in the order in which they were written, from a place on", async () => {
    const told = await inside(({ requests, ledger }) =>
      Effect.gen(function* () {
        yield* requests.add([record(9)])
        yield* ledger.append([rowAt(8)])
        const at = yield* requests.writtenTo()
        yield* requests.add([record(5), record(2, { key: bob })])
        yield* ledger.append([rowAt(3), rowAt(4, { outcome: "cut" })])
        const first = yield* requests.written({}, at)
        yield* ledger.append([rowAt(1)])
        return [
          first,
          yield* requests.written({}, first.to),
          yield* requests.written({ key: bob }, at),
          yield* requests.written({ statuses: [400, 499] }, at),
        ]
      }),
    )
    expect(told.map(({ found }) => idsOf(found))).toEqual([[5, 2, 3].map(idAt), [idAt(1)], [idAt(2)], [5, 2].map(idAt)])
    expect(told.map(({ isCut }) => isCut)).toEqual([false, false, false, false])
  })

  test("are removed by age and by number, the oldest first, a few at a time", async () => {
    const left = await inside(({ requests }) =>
      Effect.gen(function* () {
        yield* requests.add(Array.from({ length: 10 }, (_, ms) => record(ms)))
        const ids = Effect.map(requests.page({}, "", 100), ({ found }) => idsOf(found))
        return [
          [yield* requests.prune(began, 100, 4), yield* ids],
          [yield* requests.prune(began + 6, 100, 4), yield* ids],
          [yield* requests.prune(began + 6, 100, 4), yield* ids],
          [yield* requests.prune(began + 7, 2, 10), yield* ids],
          [yield* requests.prune(began, 2, 10), yield* ids],
          [yield* requests.prune(began + 100, 0, 10), yield* ids],
        ]
      }),
    )
    const ids = (...all: ReadonlyArray<number>) => all.map(idAt)
    expect<unknown>(left).toEqual([
      [0, ids(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)],
      [4, ids(9, 8, 7, 6, 5, 4)],
      [2, ids(9, 8, 7, 6)],
      [2, ids(9, 8)],
      [0, ids(9, 8)],
      [2, []],
    ])
  })

  test("are removed by several processes at once, each record by one", async () => {
    const [removed, left] = await inside(({ requests }) =>
      Effect.gen(function* () {
        yield* requests.add(Array.from({ length: 60 }, (_, ms) => record(ms)))
        const some = requests.prune(began, 10, 10)
        const counts = yield* Effect.all(
          Array.from({ length: 8 }, () => some),
          { concurrency: "unbounded" },
        )
        return [counts.reduce((a, b) => a + b), idsOf((yield* requests.page({}, "", 100)).found)] as const
      }),
    )
    // One that finds all of its rows taken by others removes none.
    expect(removed).toBe(60 - left.length)
    expect(left.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, at) => idAt(59 - at)))
  })

  test("of nobody known are counts, which add up, and are removed by age and number", async () => {
    const minute = 60_000
    const count = (at: number, address: string, status: number, requests: number) => ({
      ...{ minute: at * minute, address, status, requests },
    })
    const told = await inside(({ requests }) =>
      Effect.gen(function* () {
        yield* requests.countUnknown([])
        yield* requests.countUnknown([count(1, "", 401, 2), count(1, "::1", 401, 1), count(2, "::1", 404, 5)])
        yield* requests.countUnknown([count(2, "::1", 404, 1), count(1, "", 401, 40), count(3, "other", 401, 9)])
        const all = requests.unknown(0, 10 * minute, 0, 100)
        return [
          yield* all,
          yield* requests.unknown(minute, 2 * minute, 1, 1),
          [yield* requests.pruneUnknown(minute, 100, 10), yield* requests.pruneUnknown(2 * minute, 100, 1)],
          yield* all,
          [yield* requests.pruneUnknown(0, 1, 10)],
          yield* all,
        ]
      }),
    )
    expect<unknown>(told).toEqual([
      [count(3, "other", 401, 9), count(2, "::1", 404, 6), count(1, "", 401, 42), count(1, "::1", 401, 1)],
      [count(1, "::1", 401, 1)],
      [0, 1],
      [count(3, "other", 401, 9), count(2, "::1", 404, 6), count(1, "::1", 401, 1)],
      [2],
      [count(3, "other", 401, 9)],
    ])
  })
})

test("a page looks at so many rows at most, and says where the next one goes on", async () => {
  const storage = memoryStorage
  const found = await Effect.runPromise(
    Effect.provide(
      Effect.gen(function* () {
        const { requests, ledger } = yield* Storage
        for (let at = 0; at < lookedAt + 10; at += 100) {
          yield* ledger.append(Array.from({ length: 100 }, (_, n) => rowAt(at + n)))
        }
        yield* ledger.append([rowAt(-5, { key: bob })])
        yield* requests.add([record(-3, { key: bob }), record(lookedAt + 9, { key: bob })])
        const first = yield* requests.page({ key: bob }, "", 10)
        return [first, yield* requests.page({ key: bob }, first.next ?? "", 10)] as const
      }),
      storage,
    ),
  )
  expect([idsOf(found[0].found), found[0].next]).toEqual([[idAt(lookedAt + 9)], expect.stringMatching(/^req_/)])
  expect([idsOf(found[1].found), found[1].next]).toEqual([[-3, -5].map(idAt), null])
})

test("any pages of any filter are what one page without bounds has", async () => {
  const kept = FastCheck.record({
    ms: FastCheck.nat(30),
    isBob: FastCheck.boolean(),
    status: FastCheck.constantFrom(400, 404, 503),
  })
  const filter: FastCheck.Arbitrary<RequestFilter> = FastCheck.record(
    {
      key: FastCheck.constantFrom(alice, bob),
      statuses: FastCheck.constantFrom<readonly [number, number]>([404, 404], [400, 499], [200, 200]),
      from: FastCheck.nat(30).map((ms) => began + ms),
      to: FastCheck.nat(30).map((ms) => began + ms),
    },
    { requiredKeys: [] },
  )
  const unique = (all: ReadonlyArray<{ readonly ms: number }>) => all.length === new Set(all.map(({ ms }) => ms)).size
  const lists = FastCheck.tuple(
    FastCheck.array(kept, { maxLength: 12 }).filter(unique),
    FastCheck.array(kept, { maxLength: 12 }).filter(unique),
  )
  await FastCheck.assert(
    FastCheck.asyncProperty(lists, filter, FastCheck.integer({ min: 1, max: 5 }), async ([some, others], by, limit) => {
      const found = await Effect.runPromise(
        Effect.provide(
          Effect.gen(function* () {
            const storage = yield* Storage
            yield* storage.requests.add(
              some.map(({ ms, isBob, status }) => record(ms, { key: isBob ? bob : alice, status })),
            )
            yield* storage.ledger.append(others.map(({ ms, isBob }) => rowAt(ms, { key: isBob ? bob : alice })))
            return yield* allPages(storage, by, limit)
          }),
          memoryStorage,
        ),
      )
      const recorded = new Set(some.map(({ ms }) => ms))
      const all = [...some, ...others.filter(({ ms }) => !recorded.has(ms)).map((one) => ({ ...one, status: 200 }))]
      const expected = all
        .filter(({ isBob }) => by.key === undefined || (isBob ? bob : alice) === by.key)
        .filter(({ status }) => by.statuses === undefined || (status >= by.statuses[0] && status <= by.statuses[1]))
        .filter(({ ms }) => began + ms >= (by.from ?? 0) && began + ms < (by.to ?? Number.MAX_SAFE_INTEGER))
      expect(idsOf(found)).toEqual(
        expected
          .map(({ ms }) => idAt(ms))
          .toSorted()
          .toReversed(),
      )
    }),
    { numRuns: 25 },
  )
})

describe("SQLite reads by an index", () => {
  const path = join(folder, "plans.db")
  const plan = (statement: string): string => {
    const db = new Database(path, { readonly: true })
    try {
      const steps = db.query<{ readonly detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`).all()
      return steps.map(({ detail }) => detail).join("; ")
    } finally {
      db.close()
    }
  }
  const made = Effect.runPromise(Effect.provide(Storage, openInProcess({ path, durability: "process" })))
  const bounds = "request_id < 'b' AND request_id >= 'a'"

  test.each([
    [
      `SELECT * FROM requests WHERE key_id = 'k' AND ${bounds}`,
      "requests_by_key (key_id=? AND request_id>? AND request_id<?)",
    ],
    [
      `SELECT * FROM requests WHERE status = 404 AND ${bounds}`,
      "requests_by_status (status=? AND request_id>? AND request_id<?)",
    ],
    [
      `SELECT * FROM requests WHERE key_id = 'k' AND ${bounds} AND +status BETWEEN 400 AND 499`,
      "requests_by_key (key_id=?",
    ],
    [`SELECT * FROM requests WHERE ${bounds} AND +status BETWEEN 400 AND 499`, "(request_id>? AND request_id<?)"],
    [`SELECT request_id FROM ledger WHERE ${bounds}`, "USING COVERING INDEX"],
    [`SELECT * FROM ledger WHERE ${bounds} AND key_id = 'k'`, "(request_id>? AND request_id<?)"],
  ])("%s", async (statement, used) => {
    await made
    const steps = plan(`${statement} ORDER BY request_id DESC LIMIT 100`)
    expect(steps).toContain(used)
    expect(steps).not.toContain("TEMP B-TREE")
    expect(steps).not.toContain("SCAN")
  })

  test("to remove the oldest beyond a number", async () => {
    await made
    const steps = plan(
      "SELECT seq FROM requests WHERE seq <= (SELECT MAX(seq) FROM requests) - 5 ORDER BY seq LIMIT 500",
    )
    expect(steps).toContain("USING INTEGER PRIMARY KEY (rowid<?)")
    expect(steps).not.toContain("TEMP B-TREE")
  })
})

test.skipIf(!hasPostgres)("in a PostgreSQL whose language sorts otherwise, the list is by characters", async () => {
  const name = `requests_${crypto.randomUUID().slice(0, 8)}`
  await execute("postgres", `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`)
  const ids = ["req_0a", "req_0B", "req_0A", "req_0b", "req_0Z"]
  const found = await Effect.runPromise(
    Effect.provide(
      Effect.gen(function* () {
        const storage = yield* Storage
        yield* storage.requests.add(ids.slice(0, 3).map((requestId) => record(0, { requestId })))
        yield* storage.ledger.append(ids.slice(3).map((requestId) => sampleRow(requestId)))
        return yield* allPages(storage, {}, 1)
      }),
      postgresAt(name),
    ),
  )
  expect(idsOf(found)).toEqual(ids.toSorted().toReversed())
})

test.skipIf(!hasPostgres)(
  "a ledger that somebody has a view of gets an index by time in place of other ids",
  async () => {
    const database = await makeDatabase()
    await oldPostgres(redactedUrlOf(database), "records_of_requests", [sampleRow(idAt(1)), sampleRow(idAt(2))])
    await execute(database, "CREATE VIEW headgate.theirs AS SELECT request_id FROM headgate.ledger")
    const found = await Effect.runPromise(
      Effect.provide(
        Effect.flatMap(Storage, (storage) => allPages(storage, {}, 1)),
        postgresAt(database),
      ),
    )
    expect(idsOf(found)).toEqual([2, 1].map(idAt))
  },
)
