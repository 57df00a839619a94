import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { KeyId } from "../../src/domain/ids.ts"
import { type IdempotencyRecord, type IdempotencyRepository, Storage } from "../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../src/sql/sqlite/MemoryStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../support/storage/postgres.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "./samples.ts"
import { openInProcess } from "./sqlite/openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-storage-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** Each build has a database of its own. */
const postgresStorage = Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database)))

let files = 0
const kinds: ReadonlyArray<readonly [string, () => Layer.Layer<Storage, unknown>]> = [
  ["memory", () => memoryStorage],
  ["a file", () => openInProcess({ path: join(folder, `${files++}`, "headgate.db"), durability: "process" })],
  ...(hasPostgres ? [["PostgreSQL", () => postgresStorage] as const] : []),
]
if (!hasPostgres) test.skip("in PostgreSQL, storage", () => {})

const day = 86_400_000
const maxMoney = 2n ** 63n - 1n

describe.each(kinds)("in %s, storage", (_, fresh) => {
  const inside = <A, E>(use: (storage: Context.Tag.Service<typeof Storage>) => Effect.Effect<A, E>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), fresh()))

  test("has an id of its own", async () => {
    const installation = await inside((storage) => Effect.succeed(storage.installation))
    expect(installation).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test("of first keys made at once, has one", async () => {
    const kept = await inside((storage) => {
      const first = (name: string) => storage.keys.insertFirst(sampleKey(name, { kind: "management" }), someone)
      return Effect.forEach(["a", "b", "c"], first, { concurrency: "unbounded" })
    })
    expect(kept.filter(Boolean)).toHaveLength(1)
  })

  test("keeps every member of a key", async () => {
    const full = sampleKey("full", {
      kind: "management",
      role: "keys",
      name: "Ünïcode 鍵 'quoted' \"twice\"",
      disabled: true,
      limit: 2n ** 62n,
      limitReset: "weekly",
      includeByokInLimit: true,
      rateLimit: { requests: 7, intervalSeconds: 60 },
      allowedModels: ["acme/*", 'Ünïcode "quoted"'],
      allowedProviders: ["acme"],
      allowedAddresses: ["10.0.0.0/8", "2001:db8::1"],
      tags: ["team a", 'Ünïcode "quoted" \\ \0'],
      owner: "Ann \0",
      expiresAt: 1_900_000_000_000,
      updatedAt: 1_760_000_000_001,
      creatorUserId: "user",
    })
    const bare = sampleKey("bare")
    const found = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(full, someone)
        yield* storage.keys.insert(bare, someone)
        return [yield* storage.keys.find(full.id), yield* storage.keys.find(bare.id), yield* storage.keys.find(bob)]
      }),
    )
    expect(found).toEqual([full, bare, undefined])
  })

  test("an existing key stays unchanged", async () => {
    const found = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey("one", { name: "first" }), someone)
        yield* storage.keys.insert(sampleKey("one", { name: "second" }), someone)
        return yield* storage.keys.find(KeyId.make("one"))
      }),
    )
    expect(found?.name).toBe("first")
  })

  test("a patch changes its members, null clears, absent ones stay", async () => {
    const key = sampleKey("k", { limit: 5n, limitReset: "daily" })
    const steps = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(key, someone)
        return [
          yield* storage.keys.update(key.id, {}, someone),
          yield* storage.keys.update(key.id, { name: "renamed", updatedAt: 7 }, someone),
          yield* storage.keys.update(key.id, { limit: null, disabled: true }, someone),
          yield* storage.keys.update(key.id, { limit: maxMoney, limitReset: null, includeByokInLimit: true }, someone),
          yield* storage.keys.update(
            key.id,
            {
              rateLimit: { requests: 1, intervalSeconds: 2 },
              allowedModels: ["a"],
              allowedProviders: ["b"],
              allowedAddresses: ["::1"],
            },
            someone,
          ),
          yield* storage.keys.update(
            key.id,
            { rateLimit: null, allowedModels: null, allowedProviders: null, allowedAddresses: null },
            someone,
          ),
          yield* storage.keys.find(key.id),
          yield* storage.keys.update(bob, { name: "nobody" }, someone),
          yield* storage.keys.update(bob, {}, someone),
        ]
      }),
    )
    const second = { ...key, name: "renamed", updatedAt: 7 }
    const third = { ...second, limit: null, disabled: true }
    const fourth = { ...third, limit: maxMoney, limitReset: null, includeByokInLimit: true }
    const fifth = {
      ...fourth,
      rateLimit: { requests: 1, intervalSeconds: 2 },
      allowedModels: ["a"],
      allowedProviders: ["b"],
      allowedAddresses: ["::1"],
    }
    expect(steps).toEqual([key, second, third, fourth, fifth, fourth, fourth, undefined, undefined])
  })

  test("keeps slots of host statistics, the newest of each, until they are removed", async () => {
    const slot = { endpoint: "acme/small acme/eu", workload: "text_generation", minutes: 1, start: 1_760_000_040_000 }
    const older = { ...slot, start: slot.start - 60_000, figures: "{}" }
    const listed = await inside(({ hostStats }) =>
      Effect.gen(function* () {
        yield* hostStats.put([older, { ...slot, figures: '{"good":1}' }])
        yield* hostStats.put([{ ...slot, figures: '{"good":2}' }])
        const all = yield* hostStats.list(0, 10)
        yield* hostStats.removeUpTo(1, older.start)
        const [first] = all
        return [all, yield* hostStats.list(0, 10), yield* hostStats.list(first?.seq ?? 0, 10)]
      }),
    )
    const newer = { ...slot, figures: '{"good":2}' }
    expect(listed).toMatchObject([[older, newer], [newer], [newer]])
  })

  test("requests to free models are counted by key and day, of which only the last is kept", async () => {
    const counts = await inside((storage) =>
      Effect.gen(function* () {
        const { add, last } = storage.freeRequests
        const before = yield* last(alice)
        yield* add(alice, day, 1)
        yield* add(alice, day, 2)
        yield* add(bob, day, 5)
        const first = [yield* last(alice), yield* last(bob)]
        yield* add(alice, 4 * day, 4)
        // The clock has stepped back: the day before is over, and the next one stays as it is.
        yield* add(alice, 3 * day, 1)
        const second = [yield* last(alice), yield* last(bob)]
        // It was wrong for longer.
        yield* add(alice, 2 * day, 7)
        return [before, ...first, ...second, yield* last(alice)]
      }),
    )
    expect(counts).toEqual([
      undefined,
      ...[
        { day, used: 3 },
        { day, used: 5 },
      ],
      ...[
        { day: 4 * day, used: 4 },
        { day, used: 5 },
      ],
      { day: 2 * day, used: 7 },
    ])
  })

  test("a limit beyond 64 bits is refused, not truncated", async () => {
    const [inserted, updated, left] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey("k", { limit: 9n }), someone)
        return [
          yield* Effect.flip(storage.keys.insert(sampleKey("rich", { limit: maxMoney + 1n }), someone)),
          yield* Effect.flip(storage.keys.update(KeyId.make("k"), { limit: maxMoney + 1n }, someone)),
          yield* Effect.all([storage.keys.find(KeyId.make("rich")), storage.keys.find(KeyId.make("k"))]),
        ] as const
      }),
    )
    expect(inserted).toBeInstanceOf(StorageUnavailable)
    expect(updated).toBeInstanceOf(StorageUnavailable)
    expect(left[0]).toBeUndefined()
    expect(left[1]?.limit).toBe(9n)
  })

  test("a deleted key is gone and its rows stay", async () => {
    const seen = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey(alice), someone)
        yield* storage.ledger.append([sampleRow("r1", { cost: 3n })])
        return [
          yield* storage.keys.remove(alice, someone),
          yield* storage.keys.remove(alice, someone),
          yield* storage.keys.find(alice),
          (yield* storage.ledger.rows(alice, 10)).length,
          (yield* storage.ledger.spend(alice, 1_760_000_000_000)).total,
        ]
      }),
    )
    expect(seen).toEqual([true, false, undefined, 1, 3n])
  })

  test("lists ordinary keys newest first, page by page", async () => {
    const ids = (keys: ReadonlyArray<{ readonly id: string }>) => keys.map((key) => key.id)
    const seen = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.keys.insert(sampleKey("old", { createdAt: 1 }), someone)
        yield* storage.keys.insert(sampleKey("newest", { createdAt: 9 }), someone)
        yield* storage.keys.insert(sampleKey("manager", { createdAt: 8, kind: "management" }), someone)
        yield* storage.keys.insert(sampleKey("tied-first", { createdAt: 5 }), someone)
        yield* storage.keys.insert(sampleKey("tied-second", { createdAt: 5 }), someone)
        yield* storage.keys.insert(sampleKey("off", { createdAt: 7, disabled: true }), someone)
        const page = (offset: number, limit: number, includeDisabled: boolean) =>
          Effect.map(storage.keys.list({ offset, limit, includeDisabled }), ids)
        return [
          yield* page(0, 100, false),
          yield* page(0, 2, true),
          yield* page(2, 2, true),
          yield* page(4, 2, true),
          yield* page(6, 2, true),
          yield* storage.keys.countManagement(),
        ]
      }),
    )
    expect(seen).toEqual([
      ["newest", "tied-second", "tied-first", "old"],
      ["newest", "off"],
      ["tied-second", "tied-first"],
      ["old"],
      [],
      1,
    ])
  })

  test("finds keys by a tag, by a text in name, label or owner, and those with a limit; wildcards stand for themselves", async () => {
    const filters = [
      { tag: "team a" },
      { tag: "team" },
      { tag: 'say "a"' },
      { tag: "a" },
      { tag: "\\" },
      { search: "ann" },
      { search: "100%" },
      { search: "a_c" },
      { search: "!" },
      { search: "ÉCOLE" },
      { search: "école" },
      { search: "XYZ" },
      { search: "\0" },
      { isLimited: true as const },
      { tag: "team a", search: "b", includeDisabled: true },
      { tag: "team a", includeDisabled: true },
      {},
    ]
    const seen = await inside((storage) =>
      Effect.gen(function* () {
        const add = (id: string, createdAt: number, members: Parameters<typeof sampleKey>[1]) =>
          storage.keys.insert(sampleKey(id, { label: "sk", name: "n", createdAt, ...members }), someone)
        yield* add("1", 1, { tags: ["team a", 'say "a"'], owner: "Ann" })
        yield* add("2", 2, { tags: ["team", "b"], name: "100% of it" })
        yield* add("3", 3, { tags: ["\\"], name: "a_c!", label: "sk-or-v1-abc...xyz" })
        yield* add("4", 4, { name: "abc 1000", owner: "ÉCOLE \0", limit: 0n })
        yield* add("5", 5, { tags: ["team a"], name: "b", disabled: true })
        yield* add("6", 6, { tags: ["team a"], kind: "management" })
        return yield* Effect.forEach(filters, (some) =>
          Effect.all([
            Effect.map(storage.keys.list({ offset: 0, limit: 9, includeDisabled: false, ...some }), (keys) =>
              keys.map(({ id }) => String(id)),
            ),
            storage.keys.count({ includeDisabled: false, ...some }),
          ]),
        )
      }),
    )
    expect(seen.map(([found]) => found)).toEqual([
      ...[["1"], ["2"], ["1"], [], ["3"]],
      ...[["1"], ["2"], ["3"], ["3"], ["4"], [], ["3"], ["4"]],
      ...[["4"], ["5"], ["5", "1"], ["4", "3", "2", "1"]],
    ])
    expect(seen.map(([, count]) => count)).toEqual(seen.map(([found]) => found.length))
  })

  test("keeps every member of a ledger row, newest admission first", async () => {
    const rows = [
      sampleRow("a", { admittedAt: 5, estimated: true, streamed: false, outcome: "caller-gone", finishReason: "" }),
      sampleRow("b", { admittedAt: day + 9, cost: 2n ** 62n, upstreamCost: maxMoney, promptTokens: 2 ** 31 }),
      sampleRow("c", {
        admittedAt: 5,
        outcome: "host-failed",
        latencyMs: 0.125,
        appTitle: 'nul \u0000 😀 \\ "',
        appUrl: "",
      }),
      sampleRow("d", { admittedAt: 7, key: bob }),
    ] as const
    const [all, two, other, one, none] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append(rows)
        return [
          yield* storage.ledger.rows(alice, 10),
          yield* storage.ledger.rows(alice, 2),
          yield* storage.ledger.rows(bob, 10),
          yield* storage.ledger.find("c"),
          yield* storage.ledger.find("e"),
        ] as const
      }),
    )
    expect(all).toEqual([rows[1], rows[2], rows[0]])
    expect(two).toEqual([rows[1], rows[2]])
    expect(other).toEqual([rows[3]])
    expect([one, none]).toEqual([rows[2], undefined])
  })

  test("gives the rows of all keys page by page, and the keys, with or without sums", async () => {
    const rows = [
      sampleRow("a", { key: bob }),
      sampleRow("b", { cost: 5n, admittedAt: day + 1 }),
      sampleRow("c", { cost: 7n, admittedAt: day + 2 }),
      sampleRow("d", { cost: 2n ** 62n, admittedAt: 3 * day }),
      sampleRow("e", { cost: 0n, key: KeyId.make("c") }),
    ]
    const { pages, sums, all } = await inside(({ ledger }) =>
      Effect.gen(function* () {
        yield* ledger.append(rows)
        const [first, second] = [yield* ledger.page(0, 3), yield* ledger.page(3, 3)]
        return {
          pages: [first, second, yield* ledger.page(second.at(-1)?.seq ?? 0, 3)],
          sums: yield* Effect.forEach(["", alice, bob, "c"], (after) => ledger.keySums(after, 1)),
          all: yield* ledger.keySums("", 100),
        }
      }),
    )
    expect(pages).toEqual([
      rows.slice(0, 3).map((row, at) => ({ ...row, seq: at + 1 })),
      rows.slice(3).map((row, at) => ({ ...row, seq: at + 4 })),
      [],
    ])
    const keys = sums.map((page) => [...new Set(page.map(({ key }) => key))])
    expect(keys).toEqual([[alice], [bob], [KeyId.make("c")], []])
    expect([...new Set(all.map(({ key }) => key))]).toEqual(keys.flat())
    const ofRows = sums[0]?.filter(({ source }) => source === "rows").toSorted((one, other) => one.start - other.start)
    expect(ofRows).toEqual([
      { key: alice, source: "rows", window: "daily", start: day, amount: 12n },
      { key: alice, source: "rows", window: "daily", start: 3 * day, amount: 2n ** 62n },
    ])
    const total = { key: alice, source: "spend", window: "total", start: 0, amount: 2n ** 62n + 12n } as const
    expect(sums[0]).toContainEqual(total)
    expect(all).toContainEqual(total)
  })

  test("keeps versions of prices as they came first", async () => {
    const version = { id: 2 ** 52 - 1, hash: "f0", pricing: "{}" }
    const listed = await inside(({ prices }) =>
      Effect.gen(function* () {
        yield* prices.put([])
        yield* prices.put([version, { id: 0, hash: "00", pricing: '"é"' }])
        yield* prices.put([{ ...version, hash: "f1" }])
        return [yield* prices.list(-1, 9), yield* prices.list(0, 9), yield* prices.list(-1, 1)]
      }),
    )
    const other = { id: 0, hash: "00", pricing: '"é"' }
    expect(listed).toEqual([[other, version], [version], [other]])
  })

  describe("of requests under an Idempotency-Key", () => {
    const record: IdempotencyRecord = {
      ...{ id: "i1", bodyHash: "b1", requestId: "req_1", leaseEnd: 5000, expiresAt: day },
      ...{ generationId: null, headers: null, body: null },
    }
    const second = { ...record, requestId: "req_2", bodyHash: "b2" }
    const outcome = {
      ...{ id: "i1", requestId: "req_1", generationId: "gen-1" },
      ...{ headers: { "x-gw-host": "acme/eu" }, body: '{"content":"é\\u0000 \u{1f600}"}\u001a0' },
    }
    const claims = (use: (keys: IdempotencyRepository) => Effect.Effect<unknown, StorageUnavailable>) =>
      inside(({ idempotency }) => Effect.flatMap(idempotency.claim(record, 0), () => use(idempotency)))

    test("the first claim succeeds, and later ones see it and what became of it", async () => {
      const seen = await inside(({ idempotency: { claim, keep } }) =>
        Effect.gen(function* () {
          const first = [yield* claim(record, 0), yield* claim(second, day - 1)]
          yield* claim({ ...record, id: "i2" }, 0)
          yield* keep(outcome)
          return [...first, yield* claim(second, day - 1)]
        }),
      )
      expect(seen).toEqual([undefined, record, { ...record, ...outcome, leaseEnd: 0 }])
    })

    test("of many at once one succeeds, and all others see that one", async () => {
      const many = Array.from({ length: 40 }, (_, at) => ({ ...record, requestId: `req_${at}` }))
      const seen = await inside(({ idempotency: { claim } }) =>
        Effect.forEach(many, (one) => claim(one, 0), { concurrency: "unbounded" }),
      )
      const winner = many[seen.indexOf(undefined)]
      expect(seen.filter((one) => one === undefined)).toHaveLength(1)
      expect(seen.filter((one) => one !== undefined)).toEqual(
        Array.from({ length: 39 }, () => ({ ...record, ...winner })),
      )
    })

    test("many that claim and release side by side: never two hold it at once, and none gives up", async () => {
      let held = 0
      const seen = await inside(({ idempotency: { claim, release } }) =>
        Effect.forEach(
          Array.from({ length: 60 }, (_, at) => ({ ...record, requestId: `req_${at}` })),
          (one) =>
            Effect.gen(function* () {
              if ((yield* claim(one, 0)) !== undefined) return 0
              held += 1
              const together = held
              yield* Effect.yieldNow()
              held -= 1
              yield* release(one)
              return together
            }),
          { concurrency: 20 },
        ),
      )
      expect(Math.max(...seen)).toBe(1)
    })

    test("one that has expired makes room, and does not change what came in its place", async () => {
      const seen = await claims(({ claim, keep, release, renew }) =>
        Effect.gen(function* () {
          const next = { ...second, expiresAt: 2 * day }
          const claimed = yield* claim(next, day)
          yield* keep(outcome)
          yield* release(record)
          yield* renew(["i1"], 6000)
          return [claimed, yield* claim(record, day)]
        }),
      )
      expect(seen).toEqual([undefined, { ...second, expiresAt: 2 * day, leaseEnd: 6000 }])
    })

    test("an outcome makes room for the next one when it has expired", async () => {
      const next = { ...second, expiresAt: 2 * day }
      const seen = await claims(({ claim, keep }) =>
        Effect.gen(function* () {
          yield* keep(outcome)
          return [yield* claim(next, day), yield* claim(record, day)]
        }),
      )
      expect(seen).toEqual([undefined, next])
    })

    test("one that is released can be claimed; a lease is renewed only while there is no outcome", async () => {
      const seen = await claims(({ claim, keep, release, renew }) =>
        Effect.gen(function* () {
          yield* renew([], 1)
          yield* renew(["i1", "none"], 9000)
          const renewed = yield* claim(second, 0)
          yield* release(record)
          const after = yield* claim(second, 0)
          yield* keep({ ...outcome, requestId: "req_2", headers: null, body: null })
          yield* renew(["i1"], 9000)
          return [renewed, after, yield* claim(record, 0)]
        }),
      )
      const kept = { ...second, generationId: "gen-1", leaseEnd: 0 }
      expect(seen).toEqual([{ ...record, leaseEnd: 9000 }, undefined, kept])
    })

    test("bytes of kept answers are summed by key, once for each answer, until they expire", async () => {
      const bytes = { key: alice, bytes: 1000, until: day }
      const seen = await claims(({ claim, keep, keptBytes, prune }) =>
        Effect.gen(function* () {
          for (const id of ["i2", "i3", "i4"]) yield* claim({ ...record, id }, 0)
          yield* keep(outcome, bytes)
          yield* keep(outcome, bytes)
          yield* keep({ ...outcome, id: "i2" }, { ...bytes, until: day + 1 })
          yield* keep({ ...outcome, id: "i3" }, { ...bytes, key: bob, bytes: 5 })
          yield* keep({ ...outcome, id: "i4", headers: null, body: null })
          yield* keep({ ...outcome, id: "none" }, bytes)
          const [before, after] = [yield* keptBytes(day - 1), yield* keptBytes(day)]
          yield* prune(day, 9)
          return [before.toSorted((a, b) => a.bytes - b.bytes), after, yield* keptBytes(0)]
        }),
      )
      const left = [{ key: alice, bytes: 1000 }]
      expect(seen).toEqual([
        [
          { key: bob, bytes: 5 },
          { key: alice, bytes: 2000 },
        ],
        left,
        left,
      ])
    })

    test("those that have expired are removed, a few at a time", async () => {
      const seen = await claims(({ claim, prune }) =>
        Effect.gen(function* () {
          for (const id of ["i2", "i3"]) yield* claim({ ...record, id }, 0)
          yield* claim({ ...record, id: "i4", expiresAt: day + 1 }, 0)
          const removed = [yield* prune(day - 1, 9), yield* prune(day, 2), yield* prune(day, 2), yield* prune(day, 2)]
          return [...removed, yield* claim({ ...record, id: "i4" }, 0)]
        }),
      )
      expect(seen).toEqual([0, 2, 1, 0, { ...record, id: "i4", expiresAt: day + 1 }])
    })
  })

  test("a row counts once, however often it comes, also within one batch", async () => {
    const [spend, rows] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append([])
        yield* storage.ledger.append([sampleRow("r1", { cost: 5n }), sampleRow("r1", { cost: 6n })])
        yield* storage.ledger.append([sampleRow("r1", { cost: 7n }), sampleRow("r2", { cost: 10n })])
        yield* storage.ledger.append([sampleRow("r1", { cost: 8n, key: bob })])
        return [yield* storage.ledger.spend(alice, 1_760_000_000_000), yield* storage.ledger.rows(alice, 10)] as const
      }),
    )
    expect(spend).toEqual({ total: 15n, daily: 15n, weekly: 15n, monthly: 15n })
    expect(rows.map((row) => [row.requestId, row.cost])).toEqual([
      ["r2", 10n],
      ["r1", 5n],
    ])
  })

  test.each([
    ["a negative cost", { cost: -1n }],
    ["a cost beyond 64 bits", { cost: maxMoney + 1n }],
    ["an upstream cost beyond 64 bits", { upstreamCost: maxMoney + 1n }],
    ["a sum beyond 64 bits", { cost: maxMoney }],
  ])("a batch with %s leaves nothing behind", async (_, wrong) => {
    const [error, spend, rows] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append([sampleRow("before", { cost: 1n })])
        const batch = [sampleRow("good", { cost: 1n }), sampleRow("bad", wrong), sampleRow("more", { key: bob })]
        const error = yield* Effect.flip(storage.ledger.append(batch))
        yield* storage.ledger.append([sampleRow("after", { cost: 1n })])
        return [
          error,
          yield* Effect.forEach([alice, bob], (key) => storage.ledger.spend(key, 1_760_000_000_000)),
          yield* storage.ledger.rows(alice, 10),
        ] as const
      }),
    )
    expect(error).toBeInstanceOf(StorageUnavailable)
    expect(spend.map((each) => each.total)).toEqual([2n, 0n])
    expect(rows.map((row) => row.requestId)).toEqual(["after", "before"])
  })

  test("2^62 picodollars are exact, and one more can be added", async () => {
    const spends = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append([sampleRow("r1", { cost: 2n ** 62n })])
        const before = yield* storage.ledger.spend(alice, 1_760_000_000_000)
        yield* storage.ledger.append([sampleRow("r2", { cost: 1n }), sampleRow("r3", { cost: 2n ** 62n - 2n })])
        return [before.total, (yield* storage.ledger.spend(alice, 1_760_000_000_000)).total]
      }),
    )
    expect(spends).toEqual([2n ** 62n, maxMoney])
  })

  test.each([
    // Costs are admitted in the last millisecond before a boundary and in the first after it, and read at either time.
    ["a day", Date.UTC(2026, 6, 15), { daily: 1n, weekly: 11n, monthly: 11n }],
    ["a Monday", Date.UTC(2026, 6, 13), { daily: 1n, weekly: 1n, monthly: 11n }],
    ["a month", Date.UTC(2026, 6, 1), { daily: 1n, weekly: 11n, monthly: 1n }],
    ["a leap day", Date.UTC(2028, 1, 29), { daily: 1n, weekly: 11n, monthly: 11n }],
    ["a year amid ISO week 53", Date.UTC(2027, 0, 1), { daily: 1n, weekly: 11n, monthly: 1n }],
  ])("windows around the start of %s", async (_, start, after) => {
    const [then, now, later] = await inside((storage) =>
      Effect.gen(function* () {
        yield* storage.ledger.append([
          sampleRow("before", { cost: 10n, admittedAt: start - 1 }),
          sampleRow("after", { cost: 1n, admittedAt: start, settledAt: start + 40 * day }),
        ])
        return yield* Effect.forEach([start - 1, start, start + 40 * day], (at) => storage.ledger.spend(alice, at))
      }),
    )
    expect(now).toEqual({ total: 11n, ...after })
    // A window that does not begin at this boundary still contains the later row.
    expect(then).toEqual({
      total: 11n,
      daily: 10n,
      weekly: after.weekly === 11n ? 11n : 10n,
      monthly: after.monthly === 11n ? 11n : 10n,
    })
    expect(later).toEqual({ total: 11n, daily: 0n, weekly: 0n, monthly: 0n })
  })

  test("any batches: spend is the sum of the rows, and text comes back unchanged", async () => {
    const text = FastCheck.fullUnicodeString({ maxLength: 20 })
    const row = FastCheck.record({
      requestId: FastCheck.integer({ min: 0, max: 30 }).map((n) => `r${n}`),
      key: FastCheck.constantFrom(alice, bob),
      cost: FastCheck.bigInt({ min: 0n, max: 10n ** 15n }),
      upstreamCost: FastCheck.bigInt({ min: 0n, max: 10n ** 15n }),
      providerKey: FastCheck.constantFrom("", "acme/1", "acme/2"),
      admittedAt: FastCheck.integer({ min: 0, max: 100 }).map((n) => Date.UTC(2026, 0, 1) + n * (day / 3)),
      finishReason: text,
      appTitle: text,
    })
    const batches = FastCheck.array(FastCheck.array(row, { maxLength: 8 }), { maxLength: 8 })
    await FastCheck.assert(
      FastCheck.asyncProperty(batches, async (members) => {
        const kept = new Map(
          members
            .flat()
            .toReversed()
            .map((each) => [each.requestId, each]),
        )
        const now = Date.UTC(2026, 0, 20)
        const providerKeys = ["acme/1", "acme/2", ""]
        const [spends, rows, charged, atOnce] = await inside((storage) =>
          Effect.gen(function* () {
            for (const batch of members)
              yield* storage.ledger.append(batch.map((each) => sampleRow(each.requestId, each)))
            return [
              yield* Effect.forEach([alice, bob], (key) => storage.ledger.spend(key, now)),
              (yield* Effect.forEach([alice, bob], (key) => storage.ledger.rows(key, 100))).flat(),
              yield* Effect.forEach(providerKeys, (key) => storage.ledger.providerSpend(key, now)),
              yield* storage.ledger.spendOf([bob, alice], now),
            ] as const
          }),
        )
        type Kept = (typeof members)[number][number]
        const windowsOf = (isOfKey: (each: Kept) => boolean, costOf: (each: Kept) => bigint) => {
          const sum = (from: number, to: number) =>
            [...kept.values()]
              .filter((each) => isOfKey(each) && each.admittedAt >= from && each.admittedAt < to)
              .reduce((total, each) => total + costOf(each), 0n)
          return {
            total: sum(0, Number.POSITIVE_INFINITY),
            daily: sum(now, now + day),
            weekly: sum(Date.UTC(2026, 0, 19), Date.UTC(2026, 0, 26)),
            monthly: sum(Date.UTC(2026, 0, 1), Date.UTC(2026, 1, 1)),
          }
        }
        const costs = [alice, bob].map((key) =>
          windowsOf(
            (each) => each.key === key,
            ({ cost }) => cost,
          ),
        )
        expect(spends).toEqual(costs)
        expect(atOnce).toEqual(costs.toReversed())
        expect(charged).toEqual(
          providerKeys.map((key) =>
            windowsOf(
              (each) => key !== "" && each.providerKey === key,
              ({ upstreamCost }) => upstreamCost,
            ),
          ),
        )
        expect(new Map(rows.map((each) => [each.requestId, each]))).toEqual(
          new Map(Array.from(kept.values(), (each) => [each.requestId, sampleRow(each.requestId, each)])),
        )
      }),
      { numRuns: 12 },
    )
  }, 1_800_000)
})
