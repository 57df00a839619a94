/** Alerts and their deliveries at rest, in SQLite and PostgreSQL. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { KeptAlert } from "../../../src/domain/alerts/bodies.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const postgresStorage = Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database)))

const kinds: ReadonlyArray<readonly [string, Layer.Layer<Storage, unknown>]> = [
  ["SQLite", memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", postgresStorage] as const] : []),
]
if (!hasPostgres) test.skip("in PostgreSQL, alerts", () => {})

const kept = (id: string, period: string | null = null): KeptAlert => ({
  id,
  alert: {
    rule: "disk_space",
    subject: { kind: "machine", id: "box", name: 'bo"x \0' },
    severity: "critical",
    value: 1.5,
    threshold: 2,
    unit: "bytes",
    since: 5,
    text: "the disk is full",
    period,
  },
  instance: "box",
  installation: "i",
  createdAt: 1000,
  resolvedAt: null,
})
const name = (period: string) => ({ rule: "disk_space", subject: "machine:box", period }) as const
const receivers = [
  { webhook: "w1", rules: null },
  { webhook: "w2", rules: ["disk_space" as const] },
  { webhook: "w3", rules: ["key_budget" as const] },
]
const minute = 60_000

describe.each(kinds)("in %s", (_, fresh) => {
  const inside = <A, E>(use: (alerts: DataAtRest["alerts"]) => Effect.Effect<A, E>): Promise<A> =>
    Effect.runPromise(
      Effect.provide(
        Effect.flatMap(Storage, ({ alerts }) => use(alerts)),
        fresh,
      ),
    )

  test("of alerts of one name that are inserted at once, one is kept, with a delivery for each webhook that is told of the rule", async () => {
    const [inserted, claims] = await inside((alerts) =>
      Effect.gen(function* () {
        const all = ["a", "b", "c"].map((id) => alerts.insert(name("p"), kept(id, "p"), receivers))
        const first = yield* Effect.all(all, { concurrency: "unbounded" })
        const each = receivers.map(({ webhook }) => alerts.claim(webhook, 1000, minute, 5))
        return [first, yield* Effect.all(each)] as const
      }),
    )
    expect(inserted.filter(Boolean)).toHaveLength(1)
    expect(claims.map((claimed) => claimed.length)).toEqual([1, 1, 0])
    const [delivery] = claims[0] ?? []
    expect(delivery).toMatchObject({ state: "firing", webhook: "w1", createdAt: 1000, attempts: 0 })
    expect(delivery?.kept.alert).toEqual(kept("a", "p").alert)
  })

  test("of processes that claim at once, each delivery goes to one; a lease that is not ended keeps the others from it", async () => {
    const counts = await inside((alerts) =>
      Effect.gen(function* () {
        for (let at = 0; at < 6; at++) yield* alerts.insert(name(`p${at}`), kept(`a${at}`, `p${at}`), receivers)
        const claim = alerts.claim("w1", 2000, minute, 4)
        const claimed = yield* Effect.all([claim, claim, claim], { concurrency: "unbounded" })
        const rest = yield* claim
        return [...claimed, rest].flat().map(({ kept: { id } }) => id)
      }),
    )
    expect(counts.toSorted()).toEqual(["a0", "a1", "a2", "a3", "a4", "a5"])
  })

  test("one that was tried in vain is due again later; one that is closed is not", async () => {
    const seen = await inside((alerts) =>
      Effect.gen(function* () {
        yield* alerts.insert(name("p"), kept("a", "p"), receivers)
        const delivery = { alertId: "a", webhook: "w1", state: "firing" } as const
        const claim = (now: number) =>
          Effect.map(alerts.claim("w1", now, minute, 4), (all) => all.map((one) => one.attempts))
        const first = yield* claim(1000)
        yield* alerts.postpone(delivery, 5000)
        const early = yield* claim(4999)
        const due = yield* claim(5000)
        yield* alerts.close(delivery)
        return [first, early, due, yield* claim(10_000_000)]
      }),
    )
    expect(seen).toEqual([[0], [], [1], []])
  })

  test("a state that lasts is one, is over when nobody has seen it, and its end is sent after its beginning", async () => {
    const seen = await inside((alerts) =>
      Effect.gen(function* () {
        const inserted = [
          yield* alerts.insert(name("p1"), kept("a"), receivers),
          yield* alerts.insert(name("p2"), kept("b"), receivers),
        ]
        const lasting = { ...name("p1"), period: null }
        const touched = yield* alerts.seen(lasting, 9000)
        const tooEarly = yield* alerts.resolve(9000, 9500, receivers)
        const over = yield* alerts.resolve(9001, 9500, receivers)
        const again = yield* alerts.resolve(9001, 9600, receivers)
        const first = yield* alerts.claim("w1", 10_000, minute, 4)
        yield* alerts.close({ alertId: "a", webhook: "w1", state: "firing" })
        const second = yield* alerts.claim("w1", 10_000, minute, 4)
        const next = yield* alerts.insert(name("p2"), kept("b"), receivers)
        return {
          ...{ inserted, touched, tooEarly, over: over.map(({ id, resolvedAt }) => [id, resolvedAt]), again, next },
          states: [first, second].map((all) => all.map(({ state }) => state)),
        }
      }),
    )
    expect(seen).toEqual({
      inserted: [true, false],
      touched: true,
      tooEarly: [],
      over: [["a", 9500]],
      again: [],
      next: true,
      states: [["firing"], ["resolved"]],
    })
  })

  test("are listed page by page, the newest first, those of one moment by their ids; only those that last where that is asked", async () => {
    const at = (id: string, createdAt: number, period: string | null = id) =>
      [{ ...name(id), subject: `machine:${id}` }, { ...kept(id, period), createdAt }, receivers] as const
    const seen = await inside((alerts) =>
      Effect.gen(function* () {
        yield* alerts.insert(...at("0a", 5))
        yield* alerts.insert(...at("0b", 7))
        yield* alerts.insert(...at("0c", 7, null))
        yield* alerts.insert(...at("0d", 9, null))
        yield* alerts.seen({ rule: "disk_space", subject: "machine:0d", period: null }, 99)
        yield* alerts.resolve(8, 50, receivers)
        const page = (after: string, limit: number, isFiring = false) =>
          Effect.map(alerts.page(after, limit, isFiring), ({ found, next }) => ({
            next,
            found: found.map(({ kept: { id, resolvedAt }, seenAt }) => [id, seenAt, resolvedAt]),
          }))
        const first = yield* page("", 2)
        const second = yield* page(first.next ?? "", 2)
        return [first, second, yield* page("", 9, true)]
      }),
    )
    expect(seen).toEqual([
      {
        next: "7.0c",
        found: [
          ["0d", 99, null],
          ["0c", 7, 50],
        ],
      },
      {
        next: null,
        found: [
          ["0b", 7, 7],
          ["0a", 5, 5],
        ],
      },
      { next: null, found: [["0d", 99, null]] },
    ])
  })

  test("old alerts and deliveries are removed, those that last are not", async () => {
    const left = await inside((alerts) =>
      Effect.gen(function* () {
        yield* alerts.insert(name("p"), kept("a", "p"), receivers)
        yield* alerts.insert({ ...name("q"), subject: "machine:other" }, kept("b"), receivers)
        yield* alerts.prune(1000, 1000)
        const kept1 = yield* alerts.seen(name("p"), 1000)
        yield* alerts.prune(1001, 1001)
        const lasts = { ...name("q"), subject: "machine:other", period: null }
        return [
          kept1,
          yield* alerts.seen(name("p"), 1),
          yield* alerts.seen(lasts, 1),
          yield* alerts.claim("w1", 2000, 1, 4),
        ]
      }),
    )
    expect(left).toEqual([true, false, true, []])
  })
})
