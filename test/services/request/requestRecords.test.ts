/** The queue between the end of a request and the database. docs/requests.md */
import { describe, expect, test } from "bun:test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { BadRequest, KeyNotAccepted, RateLimited } from "../../../src/domain/failures/Failure.ts"
import { inBase62 } from "../../../src/domain/ids.ts"
import { mostOfMinute, RequestRecords } from "../../../src/services/records/RequestRecords.ts"
import { UnknownCallers } from "../../../src/services/records/UnknownCallers.ts"
import { type RequestEnd, RequestEnds, type RequestObserver } from "../../../src/services/request/RequestEnds.ts"
import type { RequestRecord, UnknownCount } from "../../../src/services/storage/requests.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { sampleKey } from "../../sql/samples.ts"
import { sampleEnd } from "../../support/gateways/observed.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"

const refused = new RateLimited({ scope: "key", limit: 1, resetsAt: 1, retryAfterSeconds: 1 })

let made = 0

const times: RequestEnd["times"] = {
  ...{ receivedAt: 1_760_000_000_000, admitted: null, firstAttempt: null, firstByte: null, lastByte: null },
  ...{ firstToken: null, booked: null, ended: 1 },
}

const end = (members: Partial<RequestEnd> = {}): RequestEnd =>
  sampleEnd({
    requestId: `req_${inBase62(1_760_000_000_000 + made++, 8)}00${"x".repeat(14)}`,
    ...{ key: sampleKey("k"), status: 429, failure: refused, outcome: "policy_rate_limited", times },
    ...members,
  })

/** The service over a storage whose records the test answers for, and the end of its scope. */
const running = (add: (records: ReadonlyArray<RequestRecord>) => Effect.Effect<void, StorageUnavailable>) =>
  Effect.gen(function* () {
    let observe: RequestObserver = () => {}
    const log: Array<string> = []
    const counted: Array<UnknownCount> = []
    const scope = yield* Scope.make()
    const ends = Layer.succeed(
      RequestEnds,
      RequestEnds.of({
        begin: () => {
          throw new Error("not used")
        },
        end: () => Effect.void,
        subscribe: (observer) =>
          Effect.sync(() => {
            observe = observer
          }),
      }),
    )
    const storage = Layer.map(memoryStorage, (context) => context).pipe(
      Layer.flatMap((context) => {
        const all: DataAtRest = Effect.runSync(Effect.provide(Storage, context))
        const requests = {
          ...all.requests,
          add,
          countUnknown: (counts: ReadonlyArray<UnknownCount>) => Effect.sync(() => void counted.push(...counts)),
        }
        return Layer.succeed(Storage, { ...all, requests })
      }),
    )
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void log.push(JSON.stringify(message))),
    )
    const context = yield* Layer.buildWithScope(
      RequestRecords.layer({ days: 30, rows: 1000 }).pipe(
        Layer.provide(Layer.merge(storage, ends)),
        Layer.provide(logger),
      ),
      scope,
    )
    const { flush } = yield* Effect.provide(RequestRecords, context)
    return {
      tell: (...all: ReadonlyArray<RequestEnd>) => {
        for (const one of all) observe(one)
      },
      flush,
      log,
      counted,
      stop: Scope.close(scope, Exit.void),
    }
  })

const away = new StorageUnavailable({ reason: "it is away" })

const runTest = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.runPromise(Effect.provide(effect, TestContext.TestContext))

const many = (count: number) => Array.from({ length: count }, () => end())

/** Of many keys, none of which has more than its share. */
const ofManyKeys = (count: number) =>
  Array.from({ length: count }, (_, at) => end({ key: sampleKey(`k${at % Math.ceil(count / mostOfMinute)}`) }))

test("what ends is written within a second, a hundred at a time", () =>
  runTest(
    Effect.gen(function* () {
      const batches: Array<number> = []
      const { tell } = yield* running((records) => Effect.sync(() => void batches.push(records.length)))
      tell(...many(250))
      expect(batches).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(batches).toEqual([100, 100, 50])
      tell(...many(1))
      yield* TestClock.adjust("1 second")
      expect(batches).toEqual([100, 100, 50, 1])
    }),
  ))

test("only what the ledger does not tell has a record: not another plane's, nor what went well and is booked", () =>
  runTest(
    Effect.gen(function* () {
      const written: Array<string> = []
      const { tell, flush } = yield* running((records) =>
        Effect.sync(() => void written.push(...records.map(({ requestId }) => requestId))),
      )
      const row = { outcome: "finished" } as unknown as NonNullable<RequestEnd["row"]>
      const ok = { failure: null, outcome: "ok", status: 200 } as const
      const kept = [
        end(),
        end({ ...ok, row: null, route: "POST /api/v1/messages/count_tokens" }),
        end({ row, status: 200, failure: null, outcome: "host_broke_off" }),
        end({ row, status: 503 }),
      ]
      tell(
        ...kept,
        end({ ...ok, row }),
        end({ route: "GET /api/v1/keys" }),
        end({ key: null, failure: new KeyNotAccepted(), status: 401 }),
      )
      yield* flush
      expect(written).toEqual(kept.map(({ requestId }) => requestId))
    }),
  ))

test("while the database is away they wait, the first ones up to a bound; the others are counted, and that is logged", () =>
  runTest(
    Effect.gen(function* () {
      let isAway = true
      const written = new Set<string>()
      const { tell, log } = yield* running((records) =>
        Effect.suspend(() => {
          if (isAway) return away
          for (const { requestId } of records) written.add(requestId)
          return Effect.void
        }),
      )
      const first = ofManyKeys(10_000)
      tell(...first, ...many(5))
      yield* TestClock.adjust("3 seconds")
      tell(...many(2))
      const because = "The database is not available: it is away"
      expect(log).toEqual([
        JSON.stringify(["records of requests could not be written", { event: "records_not_written", because }]),
      ])
      isAway = false
      yield* TestClock.adjust("1 second")
      expect(written).toEqual(new Set(first.map(({ requestId }) => requestId)))
      expect(log.slice(1)).toEqual(['["records of requests were dropped",{"event":"records_dropped","dropped":7}]'])
    }),
  ))

test("one that the database refuses keeps no other from being written", () =>
  runTest(
    Effect.gen(function* () {
      const written: Array<string> = []
      const [bad, ...good] = many(5)
      const { tell, flush, log } = yield* running((records) =>
        Effect.suspend(() => {
          if (records.some(({ requestId }) => requestId === bad?.requestId))
            return new StorageUnavailable({ reason: "no", refused: true })
          written.push(...records.map(({ requestId }) => requestId))
          return Effect.void
        }),
      )
      tell(...(bad === undefined ? [] : [bad]), ...good)
      yield* flush
      expect(written).toEqual(good.map(({ requestId }) => requestId))
      expect(log.at(0)).toContain("refused by the database")
    }),
  ))

test("at the end what waits is written; what cannot be is counted", () =>
  runTest(
    Effect.gen(function* () {
      const written: Array<number> = []
      const one = yield* running((records) => Effect.sync(() => void written.push(records.length)))
      one.tell(...many(3))
      yield* one.stop
      expect([written, one.log]).toEqual([[3], []])
      const other = yield* running(() => away)
      other.tell(...many(3))
      yield* other.stop
      expect(other.log.at(-1)).toBe('["records of requests were dropped",{"event":"records_dropped","dropped":3}]')
    }),
  ))

/** The same over a storage that answers once the gate is open. */
const waiting = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const written: Array<number> = []
  const add = ({ length }: ReadonlyArray<RequestRecord>) =>
    Effect.zipRight(
      Deferred.await(gate),
      Effect.sync(() => void written.push(length)),
    )
  return { ...(yield* running(add)), gate, written }
})

describe("a key that floods", () => {
  const flood = (count: number, members: Partial<RequestEnd> = {}) => Array.from({ length: count }, () => end(members))
  const other = end({ key: sampleKey("other") })
  const wrong = end({ outcome: "caller_bad_request", status: 400 })

  test("evicted the records of others: beyond a bound it gets one record a minute, which counts the rest", () =>
    runTest(
      Effect.gen(function* () {
        const written: Array<RequestRecord> = []
        const { tell, flush } = yield* running((records) => Effect.sync(() => void written.push(...records)))
        const idsOf = (ends: ReadonlyArray<RequestEnd>) => ends.map(({ requestId }) => requestId)
        const first = flood(30_000)
        for (let second = 0; second < 30; second += 1) {
          tell(...first.slice(second * 1000, (second + 1) * 1000))
          yield* TestClock.adjust("1 second")
        }
        tell(other, wrong)
        yield* flush
        // Readers ask more often than a minute is over.
        expect(written.map(({ requestId }) => requestId)).toEqual(
          idsOf([...first.slice(0, mostOfMinute), other, wrong]),
        )
        expect(new Set(written.map(({ requests }) => requests))).toEqual(new Set([1]))
        yield* TestClock.adjust("30 seconds")
        const rest = written.splice(0).at(-1)
        expect([rest?.requestId, rest?.requests]).toEqual([first[mostOfMinute]?.requestId, 30_000 - mostOfMinute])
        // The next minute has a bound of its own.
        const second = flood(mostOfMinute + 2)
        tell(...second)
        yield* TestClock.adjust("1 minute")
        expect(idsOf(second).slice(0, -1)).toEqual(written.map(({ requestId }) => requestId))
        expect(written.at(-1)?.requests).toBe(2)
      }),
    ))

  test("has a record of the rest also where the gateway stops, or a minute has nothing else", () =>
    runTest(
      Effect.gen(function* () {
        const written: Array<RequestRecord> = []
        const { tell, stop } = yield* running((records) => Effect.sync(() => void written.push(...records)))
        tell(...flood(mostOfMinute + 5))
        yield* TestClock.adjust("1 minute")
        tell(...flood(mostOfMinute + 7))
        yield* stop
        expect(written.map(({ requests }) => requests).filter((requests) => requests > 1)).toEqual([5, 7])
        expect(written.reduce((sum, { requests }) => sum + requests, 0)).toBe(2 * mostOfMinute + 12)
      }),
    ))

  test("whose records cannot be written is counted as what was dropped", () =>
    runTest(
      Effect.gen(function* () {
        const { tell, stop, log } = yield* running(() => away)
        tell(...flood(mostOfMinute + 5))
        yield* stop
        expect(log.at(-1)).toBe(
          `["records of requests were dropped",{"event":"records_dropped","dropped":${mostOfMinute + 5}}]`,
        )
      }),
    ))
})

test("a flush that is interrupted writes what it has taken all the same", () =>
  runTest(
    Effect.gen(function* () {
      const { tell, flush, gate, written } = yield* waiting
      tell(...many(150))
      const reader = yield* Effect.fork(flush)
      yield* Effect.yieldNow()
      yield* Effect.fork(Fiber.interrupt(reader))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(reader)
      expect(written).toEqual([100, 50])
    }),
  ))

test("a reader's flush waits for the one that runs, so that it finds what that writes", () =>
  runTest(
    Effect.gen(function* () {
      const { tell, flush, gate, written } = yield* waiting
      tell(...many(3))
      yield* Effect.fork(flush)
      yield* Effect.yieldNow()
      const reader = yield* Effect.fork(Effect.map(flush, () => written.length))
      yield* TestClock.adjust("10 millis")
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(reader)).toBe(1)
    }),
  ))

test.each([
  ["messages[3].content[0].image_url.url", "messages[3].content[0].image_url.url"],
  ["metadata.secret", "metadata"],
  ["tools[0].function.parameters.secret.type", "tools[0].function.parameters"],
  ["messages[0].Secret", "messages[0]…"],
  ['provider["a secret"].x', "provider…"],
  ["Secret", "…"],
  ["", ""],
])("of a refused body there is where the fault is, up to a name that may be the caller's: %s", (path, why) =>
  runTest(
    Effect.gen(function* () {
      const written: Array<RequestRecord> = []
      const { tell, flush } = yield* running((records) => Effect.sync(() => void written.push(...records)))
      const failure = new BadRequest({ issues: [{ path, message: 'must not be "secret"' }] })
      tell(end({ failure, status: 400, outcome: "caller_bad_request", user: "secret", model: "a secret model" }))
      yield* flush
      expect(written.map((record) => [record.why, record.model])).toEqual([[why, null]])
      expect(JSON.stringify(written)).not.toMatch(/secret/i)
    }),
  ),
)

describe("callers whom nobody knows", () => {
  const minute = 60_000

  test("are counted by minute, address and status, until it is taken", () => {
    const unknown = new UnknownCallers()
    unknown.count(5 * minute + 1, "::1", 401)
    unknown.count(6 * minute - 1, "::1", 401)
    unknown.count(5 * minute, null, 404)
    unknown.count(6 * minute, "::1", 401)
    const all = [
      { minute: 5 * minute, address: "::1", status: 401, requests: 2 },
      { minute: 5 * minute, address: "", status: 404, requests: 1 },
      { minute: 6 * minute, address: "::1", status: 401, requests: 1 },
    ]
    expect(unknown.take()).toEqual(all)
    expect([unknown.isEmpty, unknown.take()]).toEqual([true, []])
    unknown.putBack(all)
    unknown.count(6 * minute, "::1", 401)
    expect(unknown.take().map(({ requests }) => requests)).toEqual([2, 1, 2])
  })

  test("of many addresses in one minute are told apart up to a bound, however often it is taken", () => {
    const unknown = new UnknownCallers()
    const seen = new Set<string>()
    let requests = 0
    for (let at = 0; at < 2000; at += 1) {
      unknown.count(7 * minute, `10.0.${at >> 8}.${at & 255}`, 401)
      if (at % 100 !== 99) continue
      for (const count of unknown.take()) {
        seen.add(count.address)
        requests += count.requests
      }
    }
    expect([seen.size, seen.has("other"), requests]).toEqual([257, true, 2000])
    unknown.count(8 * minute, "10.0.7.1", 401)
    expect(unknown.take()).toMatchObject([{ address: "10.0.7.1" }])
  })

  test("requests that ended late, each of the minute before, lifted the bound at the turn of every minute", () => {
    const unknown = new UnknownCallers()
    const seen = new Set<string>()
    for (let at = 0; at < 2000; at += 1) {
      unknown.count((7 + (at % 2)) * minute, `10.0.${at >> 8}.${at & 255}`, 401)
      for (const { address } of unknown.take()) seen.add(address)
    }
    expect(seen.size).toBeLessThan(2 * 257)
    // A clock that was set back does not hide addresses for ever.
    unknown.count(minute / 2, "10.0.7.1", 401)
    unknown.count(60 * minute, "10.0.7.1", 401)
    unknown.count(minute, "10.0.9.9", 401)
    expect(unknown.take().at(-1)).toMatchObject({ address: "10.0.9.9" })
  })
})
