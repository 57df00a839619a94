/** The running requests: places, shares of keys, deadlines, revocation and the stop. docs/guarantees.md#g14, #g17, #g19 and #g23 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { CallerGone } from "../../../src/domain/failures/Failure.ts"
import { KeyId } from "../../../src/domain/ids.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
import { Lifetime } from "../../../src/services/request/RequestContext.ts"
import { Timers } from "../../../src/services/request/Timers.ts"
import { alice, bob } from "../../sql/samples.ts"
import { pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"

closeServices()

const mebibyte = 1_048_576

const scene = async (limits: object = {}) => {
  const layer = InFlight.layer.pipe(
    Layer.provide(Timers.layer),
    Layer.provideMerge(ProviderRegistry.layer(await hostsConfig({ a: {} }, { limits }))),
  )
  const services = await servicesOf(layer)
  const inFlight = services.get(InFlight)
  /** Admits a request, of a key where one is given. Throws when it is refused. */
  const admit = (key?: KeyId): Lifetime => {
    const lifetime = inFlight.admit()
    if (!(lifetime instanceof Lifetime)) throw lifetime
    if (key !== undefined && inFlight.own(lifetime, key) !== undefined) throw new Error("the key has too many")
    return lifetime
  }
  return { ...services, inFlight, admit }
}

/** Whether it is over by now. */
const watched = (promise: Promise<unknown>) => {
  const seen = { isOver: false }
  void promise.then(() => {
    seen.isOver = true
  })
  return seen
}

const overloaded = { _tag: "Unavailable", why: "overloaded", retryAfterSeconds: 1 }

describe("places", () => {
  test("are given to bodies that have come, not to requests that were opened", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 2 })
    const [first, second, third] = [admit(), admit(), admit()]
    expect([inFlight.place(first), inFlight.place(second)]).toEqual([undefined, undefined])
    expect(inFlight.place(third)).toMatchObject(overloaded)
    expect(inFlight.admit()).toMatchObject(overloaded)
    inFlight.leave(first)
    expect(inFlight.place(third)).toBeUndefined()
  })

  test("a request has one, however often it asks and leaves", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 2 })
    const first = admit()
    for (let again = 0; again < 3; again++) expect(inFlight.place(first)).toBeUndefined()
    const second = admit()
    expect(inFlight.place(second)).toBeUndefined()
    for (let again = 0; again < 3; again++) inFlight.leave(first)
    expect(inFlight.place(admit())).toBeUndefined()
    expect(inFlight.admit()).toMatchObject(overloaded)
  })

  test("four requests without one for each place may wait for their bodies", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 2 })
    for (let at = 0; at < 8; at++) admit()
    expect(inFlight.admit()).toMatchObject(overloaded)
  })
})

describe("requests of one key", () => {
  test("64 at once where a quarter of the places is less; others are not affected, and one that left makes room", async () => {
    const { inFlight, admit, clock } = await scene({ max_in_flight: 100 })
    const all = Array.from({ length: 64 }, () => admit(alice))
    const refused = admit()
    expect(inFlight.own(refused, alice)).toMatchObject({
      ...{ _tag: "RateLimited", scope: "key-requests-in-flight", limit: 64, retryAfterSeconds: 1 },
      resetsAt: clock.unsafeCurrentTimeMillis() + 1000,
    })
    inFlight.leave(refused)
    expect(inFlight.own(admit(), bob)).toBeUndefined()
    expect(inFlight.own(admit(), alice)).toBeDefined()
    if (all[0] !== undefined) inFlight.leave(all[0])
    expect(inFlight.own(admit(), alice)).toBeUndefined()
  })

  test("a quarter of the places where that is more", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 1000 })
    for (let at = 0; at < 250; at++) admit(alice)
    expect(inFlight.own(admit(), alice)).toMatchObject({ limit: 250 })
  })

  test("are still counted when a thousand other keys have come and gone", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 100 })
    for (let at = 0; at < 64; at++) admit(alice)
    for (let at = 0; at < 1500; at++) inFlight.leave(admit(KeyId.make(`key ${at}`)))
    expect(inFlight.own(admit(), alice)).toBeDefined()
  })
})

describe("bytes of bodies", () => {
  test("64 MiB of one key and 256 MiB of all are kept, until they are released", async () => {
    const { inFlight, admit } = await scene({ max_in_flight: 100 })
    const first = admit(alice)
    expect(inFlight.keep(first, 64 * mebibyte)).toBeUndefined()
    expect(inFlight.keep(first, 1)).toMatchObject({ scope: "key-bytes-in-flight", limit: 64 * mebibyte })
    const others = [1, 2, 3].map((at) => admit(KeyId.make(`key ${at}`)))
    for (const other of others) expect(inFlight.keep(other, 64 * mebibyte)).toBeUndefined()
    const last = admit(bob)
    expect(inFlight.keep(last, 1)).toMatchObject(overloaded)
    first.releaseBody()
    first.releaseBody()
    expect(inFlight.keep(last, 64 * mebibyte)).toBeUndefined()
    expect(inFlight.keep(admit(alice), 1)).toMatchObject(overloaded)
    if (others[0] !== undefined) inFlight.leave(others[0])
    expect(inFlight.keep(admit(alice), 64 * mebibyte)).toBeUndefined()
  })
})

describe("a request is ended", () => {
  test("at its deadline, as a time-out, and one that was admitted later goes on", async () => {
    const { clock, admit } = await scene({ deadline_ms: 2000 })
    const first = admit()
    await pass(clock, 1000)
    const second = admit()
    await pass(clock, 900)
    expect(first.ending).toBeUndefined()
    await pass(clock, 200)
    expect(first.ending).toMatchObject({ _tag: "TimedOut", afterMs: 2000 })
    expect(second.ending).toBeUndefined()
  })

  test("within a tenth of a second after its caller has left, where no event reports that", async () => {
    const { clock, admit } = await scene()
    const lifetime = admit()
    let isGone = false
    lifetime.isCallerGone = () => isGone
    await pass(clock, 1000)
    expect(lifetime.ending).toBeUndefined()
    isGone = true
    await pass(clock, 200)
    expect(lifetime.ending).toBeInstanceOf(CallerGone)
  })

  test("when its key is revoked, and those of other keys are not", async () => {
    const { inFlight, admit } = await scene()
    const [first, other, unknown] = [admit(alice), admit(bob), admit()]
    inFlight.revoke(alice)
    expect(first.ending).toMatchObject({ _tag: "NotPermitted" })
    expect([other.ending, unknown.ending]).toEqual([undefined, undefined])
  })

  test("once: its listeners hear of the first reason, also those that come later, but not those that were forgotten", async () => {
    const { inFlight, admit } = await scene()
    const lifetime = admit(alice)
    const heard: Array<string> = []
    const [one, two, three] = ["one", "two", "three"].map((name) => () => void heard.push(name))
    if (one === undefined || two === undefined || three === undefined) throw new Error("no listeners")
    for (const listener of [one, two]) lifetime.onEnd(listener)
    lifetime.forget(one)
    inFlight.revoke(alice)
    lifetime.end(new CallerGone())
    lifetime.onEnd(three)
    expect(heard).toEqual(["two", "three"])
    expect(lifetime.ending?._tag).toBe("NotPermitted")
  })
})

describe("the stop", () => {
  const draining = { _tag: "Unavailable", why: "draining", retryAfterSeconds: 1 }

  test("is announced for as long as is asked, while requests are admitted", async () => {
    const { inFlight, admit, run, clock } = await scene()
    expect(inFlight.stopping()).toBe(false)
    const announced = watched(run(inFlight.announceStop(1000)))
    await turns()
    expect(inFlight.stopping()).toBe(true)
    admit()
    await pass(clock, 900)
    expect(announced.isOver).toBe(false)
    await pass(clock, 200)
    expect(announced.isOver).toBe(true)
  })

  test("a drain admits none, and is over as soon as the last one has left", async () => {
    const { inFlight, admit, run, clock } = await scene()
    const lifetime = admit()
    const drained = watched(run(inFlight.drain(60_000)))
    await turns()
    expect(inFlight.admit()).toMatchObject(draining)
    await pass(clock, 1000)
    expect(drained.isOver).toBe(false)
    inFlight.leave(lifetime)
    await pass(clock, 100)
    expect(drained.isOver).toBe(true)
    expect(lifetime.ending).toBeUndefined()
    expect(inFlight.drained()).toEqual({ running: 1, cut: 0 })
  })

  test("after its time a drain ends those that run, and waits two seconds at most for their settlement", async () => {
    const { inFlight, admit, run, clock } = await scene()
    const [quick, stuck] = [admit(), admit()]
    quick.onEnd(() => inFlight.leave(quick))
    const drained = watched(run(inFlight.drain(5000)))
    await pass(clock, 4900)
    expect(quick.ending).toBeUndefined()
    await pass(clock, 200)
    expect([quick.ending, stuck.ending]).toMatchObject([draining, draining])
    expect(inFlight.drained()).toEqual({ running: 2, cut: 2 })
    await pass(clock, 1500)
    expect(drained.isOver).toBe(false)
    await pass(clock, 600)
    expect(drained.isOver).toBe(true)
  })

  test("a second signal cuts the announcement and the drain short", async () => {
    const { inFlight, admit, run, clock } = await scene()
    const announced = watched(run(inFlight.announceStop(60_000)))
    const lifetime = admit()
    lifetime.onEnd(() => inFlight.leave(lifetime))
    await turns()
    inFlight.cut()
    await turns()
    expect(announced.isOver).toBe(true)
    expect(lifetime.ending).toMatchObject(draining)
    const later = admit()
    later.onEnd(() => inFlight.leave(later))
    const drained = watched(run(inFlight.drain(60_000)))
    await pass(clock, 100)
    expect(drained.isOver).toBe(true)
    expect(later.ending).toMatchObject(draining)
  })
})
