/** Requests that are sent again under an Idempotency-Key, over a database in memory. docs/guarantees.md#g9 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { KeyId } from "../../../src/domain/ids.ts"
import {
  Claim,
  Idempotency,
  type IdempotentRequest,
  type KeptAnswer,
} from "../../../src/services/request/Idempotency.ts"
import { KeptBytes, mostOfAnswer } from "../../../src/services/request/KeptBytes.ts"
import type { DiskSpace } from "../../../src/services/storage/diskSpace.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { alice, bob, sampleRow } from "../../sql/samples.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"
import { requestContext } from "../../support/gateways/requestContext.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeServices()

const minute = 60_000
const answer = { headers: { "content-type": "application/json" }, body: '{"a":1}' }

interface State {
  isAway: boolean
  isBroken: boolean
  throws: boolean
  before: Effect.Effect<void>
  disk: DiskSpace | null
}

/** A database, and processes over it: the second one is what another gateway, or the same after a crash, sees. */
const scene = async (config: Readonly<Record<string, unknown>> = {}) => {
  const clock = new ManualClock()
  const kept = await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage)))
  const storage = Effect.runSync(Effect.provide(Storage, kept))
  const registry = ProviderRegistry.layer(await hostsConfig({ a: {} }, config))
  const start = async () => {
    /** What fails, and what waits before it is written. */
    const state: State = { isAway: false, isBroken: false, throws: false, before: Effect.void, disk: null }
    const mayThrow = () => {
      if (state.throws) throw new Error("a bug of the storage")
    }
    const bug = Effect.die(new Error("a bug of the storage"))
    const guarded = <A>(write: Effect.Effect<A, StorageUnavailable>) =>
      Effect.zipRight(
        state.before,
        Effect.suspend(() => (state.isAway ? Effect.fail(new StorageUnavailable({ reason: "locked" })) : write)),
      )
    const { idempotency } = storage
    const disk = Effect.sync(() => state.disk)
    const layer = Layer.provide(
      Idempotency.layer,
      Layer.merge(
        registry,
        Layer.succeed(Storage, {
          ...storage,
          disk,
          idempotency: {
            ...idempotency,
            keep: (...outcome) => {
              mayThrow()
              return guarded(Effect.suspend(() => (state.isBroken ? bug : idempotency.keep(...outcome))))
            },
            release: (...claimed) => {
              mayThrow()
              return guarded(Effect.suspend(() => (state.isBroken ? bug : idempotency.release(...claimed))))
            },
            renew: (...renewed) => guarded(idempotency.renew(...renewed)),
          },
        }),
      ),
    )
    const services = await servicesOf(layer, clock)
    const requests = services.get(Idempotency)
    let asked = 0
    const begin = (more: Partial<IdempotentRequest> & { readonly text?: string } = {}) => {
      const { text = "{}", ...members } = more
      asked += 1
      const request = {
        ...{ key: alice, route: "POST /chat", value: "one", body: new TextEncoder().encode(text) },
        ...{ requestId: `req-${asked}`, mayKeepAnswer: true },
        ...members,
      }
      return services.run(Effect.merge(requests.begin(request)))
    }
    return {
      ...services,
      state,
      begin,
      claim: async (...which: Parameters<typeof begin>): Promise<Claim> => {
        const claim = await begin(...which)
        if (!(claim instanceof Claim)) throw new Error(`no claim: ${JSON.stringify(claim)}`)
        return claim
      },
      /** Whether the answer is kept. */
      answered: (claim: Claim, given: KeptAnswer = answer) => {
        const isKept = requests.keeps(claim, given)
        return services.run(Effect.as(requests.answered(claim, "gen-1", given), isKept))
      },
      ended: (claim: Claim) => services.run(requests.ended(claim)),
    }
  }
  return {
    clock,
    start,
    append: (row: ReturnType<typeof sampleRow>) => Effect.runPromise(storage.ledger.append([row])),
  }
}

const repeated = (because: string) => ({ _tag: "RequestRepeated", because })

describe("a request under a value that was used", () => {
  test("gets the answer of the first one, byte for byte, for 24 hours", async () => {
    const { start, clock } = await scene()
    const { claim, begin, answered } = await start()
    await answered(await claim())
    expect(await begin()).toEqual(answer)
    clock.advance(24 * 60 * minute - 1)
    expect(await begin()).toEqual(answer)
    clock.advance(1)
    expect(await begin()).toBeInstanceOf(Claim)
  })

  test("was carried out and charged again after the clock had been a year ahead for a minute; now the answer is still there", async () => {
    const { start, clock } = await scene()
    const { claim, begin, answered } = await start()
    await answered(await claim())
    clock.aheadMs = 365 * 24 * 60 * minute
    await pass(clock, minute)
    clock.aheadMs = 0
    expect(await begin()).toEqual(answer)
  })

  test("with another body is refused, and names the first one", async () => {
    const { start } = await scene()
    const { claim, begin } = await start()
    await claim()
    expect(await begin({ text: "[]" })).toMatchObject({ ...repeated("other-body"), firstRequestId: "req-1" })
  })

  test("of another key, or on another route, is another request", async () => {
    const { start } = await scene()
    const { claim, begin } = await start()
    await claim()
    expect(await begin({ key: bob })).toBeInstanceOf(Claim)
    expect(await begin({ route: "POST /embeddings" })).toBeInstanceOf(Claim)
    expect(await begin({ value: "two" })).toBeInstanceOf(Claim)
  })

  test("is refused while the first one runs, here and in another process, for as long as that renews its claim", async () => {
    const { start, clock } = await scene()
    const [first, second] = [await start(), await start()]
    await first.claim()
    for (let waited = 0; waited < 3; waited++) {
      expect([await first.begin(), await second.begin()]).toMatchObject([repeated("running"), repeated("running")])
      await pass(clock, minute)
    }
  })

  test("of several at once, one is carried out", async () => {
    const { start } = await scene()
    const [first, second] = [await start(), await start()]
    const all = await Promise.all([first.begin(), second.begin(), first.begin(), second.begin()])
    expect(all.filter((one) => one instanceof Claim)).toHaveLength(1)
  })
})

describe("what is kept of an answer", () => {
  test.each([
    ["not where nothing may be retained", {}, { mayKeepAnswer: false }],
    ["not where the configuration says so", { privacy: { idempotency_bodies: false } }, {}],
  ])("%s: a repeat is told of the generation", async (_name, config, which) => {
    const { start } = await scene(config)
    const { claim, begin, answered } = await start()
    await answered(await claim(which))
    expect(await begin()).toMatchObject({ ...repeated("not-kept"), generationId: "gen-1" })
  })

  test("a repeat that comes while the answer is being written waits for it", async () => {
    const { start } = await scene()
    const { claim, begin, answered, state } = await start()
    const first = await claim()
    const written = Promise.withResolvers<void>()
    state.before = Effect.promise(() => written.promise)
    const answering = answered(first)
    await turns()
    let repeat: unknown
    const repeating = begin().then((one) => {
      repeat = one
    })
    await turns()
    expect(repeat).toBeUndefined()
    written.resolve()
    await Promise.all([answering, repeating])
    expect(repeat).toEqual(answer)
  })
})

describe("answers are kept while they are small and few", () => {
  const kib = 1024
  const sized = (bytes: number, letter = "x"): KeptAnswer => ({ headers: {}, body: letter.repeat(bytes) })
  const largest = sized(256 * kib)
  type Process = Awaited<ReturnType<Awaited<ReturnType<typeof scene>>["start"]>>

  /** Keeps answers of 256 KiB under other values; whether each is kept. */
  const keepMany = async ({ claim, answered }: Process, count: number, key: KeyId = alice, from = 0) => {
    const kept: Array<boolean> = []
    for (let at = 0; at < count; at++) kept.push(await answered(await claim({ key, value: `v${from + at}` }), largest))
    return kept.filter(Boolean).length
  }

  test("one of 256 KiB is kept, one of a byte more is not, in whatever characters", async () => {
    const { start } = await scene()
    const process = await start()
    const { claim, answered, begin } = process
    expect(await answered(await claim(), largest)).toBe(true)
    expect(await begin()).toEqual(largest)
    expect(await answered(await claim({ value: "two" }), sized(256 * kib + 1))).toBe(false)
    expect(await begin({ value: "two" })).toMatchObject({ ...repeated("not-kept"), generationId: "gen-1" })
    expect(await answered(await claim({ value: "three" }), sized(128 * kib + 1, "é"))).toBe(false)
    const headers = { "x-generation-id": "gen-1" }
    expect(await answered(await claim({ value: "four" }), { ...largest, headers })).toBe(false)
  })

  test("of one key 16 MiB are kept in 24 hours; of another key then still", async () => {
    const { start, clock } = await scene()
    const process = await start()
    expect(await keepMany(process, 70)).toBe(64)
    expect(await keepMany(process, 2, bob)).toBe(2)
    // They are counted by the hour in which they expire.
    clock.advance(25 * 60 * minute)
    await pass(clock, minute)
    expect(await keepMany(process, 70)).toBe(64)
  })

  test("a process that starts knows what was kept before, and two learn of each other's", async () => {
    const { start, clock } = await scene()
    const [first, second] = [await start(), await start()]
    expect(await keepMany(first, 40)).toBe(40)
    expect(await keepMany(second, 10, alice, 40)).toBe(10)
    await pass(clock, minute)
    expect(await keepMany(first, 20, alice, 50)).toBe(14)
    await first.close()
    const third = await start()
    expect(await keepMany(third, 1, alice, 70)).toBe(0)
  })

  test("none is kept while less than a tenth of the disk is free, and again afterwards", async () => {
    const { start, clock } = await scene()
    const process = await start()
    const { claim, answered, state } = process
    state.disk = { freeBytes: 99, totalBytes: 1000 }
    expect(await answered(await claim())).toBe(false)
    state.disk = { freeBytes: 100, totalBytes: 1000 }
    await pass(clock, minute)
    expect(await answered(await claim({ value: "two" }))).toBe(true)
  })

  test("one that waits for the database counts all the time, and once", async () => {
    const { start, clock } = await scene()
    const process = await start()
    const { claim, answered, state } = process
    const waiting = await claim({ value: "waiting" })
    state.isAway = true
    expect(await answered(waiting, largest)).toBe(true)
    state.isAway = false
    expect(await keepMany(process, 10)).toBe(10)
    await pass(clock, 2 * minute)
    expect(await keepMany(process, 60, alice, 10)).toBe(53)
  })
})

test("of all keys 1 GiB is kept", () => {
  const kept = new KeptBytes()
  const keys = Array.from({ length: 100 }, (_, at) => KeyId.make(`${at}`.padStart(64, "0")))
  const taken = keys.flatMap((key) => Array.from({ length: 70 }, () => kept.take(key, mostOfAnswer, 1)))
  expect(taken.filter((one) => one !== undefined)).toHaveLength(4096)
})

describe("a request that ended without an answer", () => {
  test.each([
    ["was booked as finished", { outcome: "finished", cost: 0n }, "not-kept"],
    ["was charged for a part", { outcome: "host-failed", cost: 1n }, "not-kept"],
    ["broke off and was free", { outcome: "host-failed", cost: 0n }, undefined],
  ] as const)("%s", async (_name, members, because) => {
    const { start } = await scene()
    const { claim, begin, ended } = await start()
    const first = await claim()
    first.context = requestContext()
    first.context.booked = sampleRow("req-1", members)
    await ended(first)
    const again = await begin()
    if (because === undefined) expect(again).toBeInstanceOf(Claim)
    else expect(again).toMatchObject({ ...repeated(because), generationId: "gen-req-1" })
  })

  test("and without a booking can be carried out again", async () => {
    const { start } = await scene()
    const { claim, begin, ended } = await start()
    await ended(await claim())
    expect(await begin()).toBeInstanceOf(Claim)
  })
})

describe("an outcome that cannot be written now", () => {
  test("is written within 15 seconds after the database is back; until then the claim holds", async () => {
    const { start, clock } = await scene()
    const [first, second] = [await start(), await start()]
    const claim = await first.claim()
    first.state.isAway = true
    await first.answered(claim)
    expect(await second.begin()).toMatchObject(repeated("running"))
    await pass(clock, 2 * minute)
    expect(first.logged.map((line) => line.slice(0, 49))).toEqual(["WARN records of Idempotency-Keys could not be wri"])
    expect(await first.begin()).toMatchObject(repeated("running"))
    first.state.isAway = false
    await pass(clock, 16_000)
    expect(await second.begin()).toEqual(answer)
  })

  test("is written at the stop, where that is before", async () => {
    const { start } = await scene()
    const [first, second] = [await start(), await start()]
    const claim = await first.claim()
    first.state.isAway = true
    await first.answered(claim)
    first.state.isAway = false
    await first.close()
    expect(await second.begin()).toEqual(answer)
  })
})

describe("an outcome whose writing is a defect of the storage", () => {
  test("is written by the next round, and the caller of the request does not see the defect", async () => {
    const { start, clock } = await scene()
    const first = await start()
    const claim = await first.claim()
    first.state.isBroken = true
    await first.ended(claim)
    expect(first.logged.filter((line) => line.startsWith("ERROR a defect in the end of a request"))).toHaveLength(1)
    expect(await first.begin()).toMatchObject(repeated("running"))
    first.state.isBroken = false
    await pass(clock, 16_000)
    expect(await first.begin()).toBeInstanceOf(Claim)
  })

  test("does not keep the others waiting, and is over with its lease where it is never written", async () => {
    const { start, clock } = await scene()
    const [first, second] = [await start(), await start()]
    const claim = await first.claim()
    await first.claim({ value: "another" })
    first.state.isBroken = true
    await first.ended(claim)
    await pass(clock, 2 * minute)
    expect(await second.begin({ value: "another" })).toMatchObject(repeated("running"))
    expect(await second.begin()).toMatchObject(repeated("unknown"))
    expect(await first.begin()).toMatchObject(repeated("unknown"))
    expect(first.logged.filter((line) => line.includes("a defect in"))).toHaveLength(1)
  })
})

test("an outcome whose writing throws, not as an effect, is written by the next round as well", async () => {
  const { start, clock } = await scene()
  const first = await start()
  const claims = [await first.claim(), await first.claim({ value: "another" })] as const
  first.state.throws = true
  await first.ended(claims[0])
  await first.answered(claims[1])
  expect(await first.begin()).toMatchObject(repeated("running"))
  first.state.throws = false
  await pass(clock, 16_000)
  expect(await first.begin()).toBeInstanceOf(Claim)
  expect(await first.begin({ value: "another" })).toMatchObject(answer)
})

describe("after a crash, once the lease of a minute has ended", () => {
  const crashed = async () => {
    const { start, clock, append } = await scene()
    const first = await start()
    await first.claim()
    await first.close()
    const second = await start()
    expect(await second.begin()).toMatchObject(repeated("running"))
    clock.advance(minute)
    return { second, append }
  }

  test("the outcome is unknown, and the request is not carried out again", async () => {
    const { second } = await crashed()
    expect(await second.begin()).toMatchObject(repeated("unknown"))
    expect(await second.begin()).toMatchObject(repeated("unknown"))
  })

  test("the ledger tells of one that was charged", async () => {
    const { second, append } = await crashed()
    await append(sampleRow("req-1", { outcome: "crashed", cost: 5n }))
    expect(await second.begin()).toMatchObject({ ...repeated("not-kept"), generationId: "gen-req-1" })
  })

  test("one that was free is unknown all the same", async () => {
    const { second, append } = await crashed()
    await append(sampleRow("req-1", { outcome: "crashed", cost: 0n }))
    expect(await second.begin()).toMatchObject(repeated("unknown"))
  })
})
