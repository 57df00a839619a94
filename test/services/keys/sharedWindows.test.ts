/** Shares of rate limits in one process, over a database that the test plays. docs/guarantees.md#g8 */
import { describe, expect, test } from "bun:test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { makeSharedWindows, type SharedWindows } from "../../../src/services/keys/SharedWindows.ts"
import type {
  Permits,
  PermitsAsked,
  RateShareRepository,
  SharedEvents,
} from "../../../src/services/storage/SharedRepositories.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { alice, bob } from "../../sql/samples.ts"
import { pass } from "../../support/clocks/manualClock.ts"
import { closeServices, servicesOf, turns } from "../../support/clocks/services.ts"

closeServices()

const Windows = Context.GenericTag<SharedWindows>("test/SharedWindows")
const window = { key: alice, scope: "key" } as const
const limit = { requests: 2, intervalSeconds: 10 }

/** `state.next`: what the database answers to the next `take`. Default: all permits that are needed. */
const scene = async () => {
  const takes: Array<PermitsAsked> = []
  const given: Array<string> = []
  const state: {
    next: ((asked: PermitsAsked) => Effect.Effect<Permits, StorageUnavailable>) | undefined
    giving: Effect.Effect<void>
    wants: number
    listener: SharedEvents
  } = { next: undefined, giving: Effect.void, wants: 0, listener: {} }
  const rates: RateShareRepository = {
    take: (_, asked) =>
      Effect.suspend(() => {
        takes.push(asked)
        return state.next?.(asked) ?? Effect.succeed({ permits: asked.have + asked.needed, others: 0, freeInMs: null })
      }),
    giveBack: ({ key }) =>
      Effect.suspend(() => {
        given.push(key)
        return state.giving
      }),
    want: () =>
      Effect.sync(() => {
        state.wants += 1
      }),
    prune: Effect.void,
  }
  const on = (listener: SharedEvents) =>
    Effect.sync(() => {
      state.listener = listener
    })
  const services = await servicesOf(Layer.scoped(Windows, makeSharedWindows({ rates, on })))
  const windows = services.get(Windows)
  const take = (key = alice, of = limit) => services.run(Effect.either(windows.take({ ...window, key }, of)))
  /** Milliseconds to wait; 0: it was admitted. */
  const waitOf = async (...asked: Parameters<typeof take>) => {
    const taken = await take(...asked)
    if (Either.isRight(taken)) return 0
    return taken.left._tag === "UsedUp" ? taken.left.waitMs : taken.left.reason
  }
  return { ...services, takes, given, state, windows, take, waitOf }
}

/** No permit is left in the database. */
const nothingLeft = ({ have }: PermitsAsked) => Effect.succeed({ permits: have, others: 0, freeInMs: 700 })

describe("a request", () => {
  test("that finds a permit in the share does not ask the database", async () => {
    const { state, takes, waitOf } = await scene()
    state.next = () => Effect.succeed({ permits: 2, others: 0, freeInMs: null })
    expect([await waitOf(), await waitOf()]).toEqual([0, 0])
    expect(takes).toHaveLength(1)
    expect(takes[0]).toMatchObject({ have: 0, needed: 1 })
  })

  test("that finds none, where this process has all permits, is refused from memory until the first is free", async () => {
    const { state, takes, waitOf, clock } = await scene()
    state.next = () => Effect.succeed({ permits: 2, others: 0, freeInMs: null })
    await waitOf()
    clock.advance(1000)
    await waitOf()
    expect(await waitOf()).toBe(9000)
    expect(takes).toHaveLength(1)
  })

  test("that was taken back frees its permit", async () => {
    const { windows, waitOf, clock } = await scene()
    const at = clock.unsafeCurrentTimeMillis()
    await waitOf()
    await waitOf()
    windows.untake(window, at)
    expect(await waitOf()).toBe(0)
  })

  test("that nobody has a permit for is refused; for a while after that the database is not asked again", async () => {
    const { state, takes, waitOf, clock } = await scene()
    state.next = nothingLeft
    expect([await waitOf(), await waitOf()]).toEqual([700, 700])
    expect(takes).toHaveLength(1)
    clock.advance(251)
    expect(await waitOf()).toBeCloseTo(700)
    expect(takes).toHaveLength(2)
  })

  test("waits while the other processes are asked for their permits", async () => {
    const { state, takes, waitOf, clock } = await scene()
    state.next = ({ have, needed }) =>
      Effect.succeed(
        takes.length < 3
          ? { permits: have, others: 1, freeInMs: null }
          : { permits: have + needed, others: 0, freeInMs: null },
      )
    const waiting = waitOf()
    for (let asks = 0; asks < 4; asks++) {
      await turns()
      clock.advance(12)
    }
    expect([await waiting, state.wants, takes.length]).toEqual([0, 1, 3])
  })
})

describe("a statement", () => {
  test("that failed fails its request; the next one has another name, and takes over what the first one had", async () => {
    const { state, takes, waitOf } = await scene()
    state.next = () => Effect.fail(new StorageUnavailable({ reason: "locked" }))
    expect(await waitOf()).toBe("locked")
    state.next = undefined
    expect(await waitOf()).toBe(0)
    const [first, second] = takes
    expect(second?.holders).toHaveLength(2)
    expect(second?.holders[0]).toBe(first?.holders[0] ?? "")
  })

  test("that met a defect fails its request too, and is logged", async () => {
    const { state, waitOf, logged } = await scene()
    state.next = () => Effect.die(new Error("a bug"))
    expect(await waitOf()).toBe("a defect")
    state.next = undefined
    expect(await waitOf()).toBe(0)
    expect(logged.filter((line) => line.includes("a defect in a shared rate limit"))).toHaveLength(1)
  })
})

describe("a share is given back", () => {
  test("when another process wants it, and not when this one does", async () => {
    const { state, given, waitOf, clock, takes } = await scene()
    await waitOf()
    state.listener.permitsWanted?.({ ...window, key: bob }, "another")
    state.listener.permitsWanted?.(window, "another")
    await pass(clock, 100)
    expect(given).toEqual([alice])
    expect(await waitOf()).toBe(0)
    expect(takes).toHaveLength(2)
  })

  test("when its key was changed", async () => {
    const { state, given, waitOf, clock } = await scene()
    await waitOf()
    state.listener.keyChanged?.(alice, false)
    await pass(clock, 100)
    expect(given).toEqual([alice])
  })

  test("when it was not used for ten seconds; a defect there does not end the looks", async () => {
    const { state, given, take, clock, logged } = await scene()
    await take()
    await take(bob)
    await pass(clock, 9000)
    expect(given).toEqual([])
    state.giving = Effect.die(new Error("a bug"))
    await pass(clock, 2000)
    expect(given).toContain(alice)
    state.giving = Effect.void
    await pass(clock, 2000)
    expect(given).toContain(bob)
    expect(logged.filter((line) => line.startsWith("ERROR a defect in shared rate limits"))).toHaveLength(1)
  })

  test("when it was not used for ten seconds, although the one before it meets a defect each time: it was not given back", async () => {
    const { state, given, take, clock } = await scene()
    await take()
    await take(bob)
    state.giving = Effect.die(new Error("a bug"))
    await pass(clock, 10_500)
    expect(given).toEqual([alice, bob])
  })

  test("that another process wants: a defect was not logged", async () => {
    const { state, waitOf, clock, logged } = await scene()
    await waitOf()
    state.giving = Effect.die(new Error("a bug"))
    state.listener.permitsWanted?.(window, "another")
    await pass(clock, 100)
    expect(logged.filter((line) => line.startsWith("ERROR a defect in a share of a rate limit"))).toHaveLength(1)
  })

  test("at the stop", async () => {
    const { given, take, close } = await scene()
    await take()
    await take(bob)
    await close()
    expect(given.toSorted()).toEqual([alice, bob].toSorted())
  })
})
