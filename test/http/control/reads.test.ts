/** Admission of reads of the control plane. docs/guarantees.md#g23 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KeyId } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { mostInAll, mostOfKey, Read, ReadLanes } from "../../../src/http/control/Reads.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { sampleKey } from "../../sql/samples.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { turns } from "../../support/clocks/services.ts"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, startWatched } from "../../support/gateways/watched.ts"
import { configFor } from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

setDefaultTimeout(1_800_000)

closeAfterEach()

/** A gateway whose database answers each question of one key about requests, sums and live figures once the test lets it. */
const gated = async () => {
  const gate = Promise.withResolvers<void>()
  const state = { key: "", asked: 0 }
  const storage = Effect.runSync(Effect.provide(Storage, lastingStorage))
  const late = <A, E>(key: string | undefined, read: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    if (key !== state.key) return read
    state.asked += 1
    return Effect.zipRight(
      Effect.promise(() => gate.promise),
      read,
    )
  }
  const { requests, analytics } = storage
  const gateway = await startWatched({
    config: configFor({ acme: { url: "http://127.0.0.1:9" } }),
    storage: Layer.succeed(Storage, {
      ...storage,
      requests: { ...requests, page: (filter, ...more) => late(filter.key, requests.page(filter, ...more)) },
      analytics: { ...analytics, usage: (question) => late(question.filter.key, analytics.usage(question)) },
    }),
  })
  const ordinary = await gateway.newKey()
  state.key = keyId(ordinary)
  const get = (path: string, secret = gateway.managementKey, init: RequestInit = {}) =>
    gateway.call(path, { ...init, headers: { authorization: `Bearer ${secret}` } })
  return { gateway, get, ordinary, state, open: gate.resolve }
}

describe("reads of an ordinary key that take long", () => {
  test("do not keep the operator or another key waiting; of the key itself one runs, some wait, and the others are refused", async () => {
    const { gateway, get, ordinary, state, open } = await gated()
    const paths = ["/requests", "/analytics"]
    let refused = 0
    const all = Array.from({ length: 100 }, async (_, at) => {
      const response = await get(paths[at % 2] ?? "", ordinary)
      if (response.status === 429) refused += 1
      return response
    })
    await until(() => refused === 100 - 1 - mostOfKey, "the refusals")
    expect(state.asked).toBe(1)
    const other = await gateway.newKey()
    for (const path of ["/requests", "/analytics?interval=hour", "/activity", "/requests/live", "/key", "/keys"]) {
      expect([path, (await get(path)).status]).toEqual([path, 200])
      const status = path === "/keys" ? 403 : 200
      if (path !== "/activity") expect([path, (await get(path, other)).status]).toEqual([path, status])
    }
    open()
    const responses = await Promise.all(all)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1 + mostOfKey)
    const one = responses.find(({ status }) => status === 429)
    expect(one?.headers.get("retry-after")).toBe("1")
    expect(one && (await errorOf(one)).message).toContain("requests in flight")
    expect((await get("/requests", ordinary)).status).toBe(200)
  })

  test("give up their places when their callers leave", async () => {
    const { get, ordinary, state } = await gated()
    const leaving = new AbortController()
    const all = Array.from({ length: 1 + mostOfKey }, () => get("/requests", ordinary, { signal: leaving.signal }))
    const gone = Promise.allSettled(all)
    await until(() => state.asked === 1, "the first question")
    leaving.abort()
    await gone
    // These do not wait for the database, and are refused until the gateway has seen that the others left.
    state.key = ""
    await until(async () => (await get("/requests", ordinary)).status === 200, "a place")
  })
})

describe("places of ordinary keys", () => {
  const key = (name: string | number) => sampleKey(`${name}`, { id: KeyId.make(`${name}`.padStart(64, "0")) })
  const scene = () => {
    const lanes = Effect.runSync(Effect.provide(ReadLanes, ReadLanes.layer))
    const order: Array<string> = []
    const enter = (name: string | number) => {
      const read = new Read(`${name}`)
      Effect.runCallback(Effect.either(read.enter(key(name), lanes)), {
        onExit: (exit) => {
          const said = exit._tag === "Success" && exit.value._tag === "Left" ? exit.value.left._tag : "has a place"
          order.push(`${name} ${said}`)
        },
      })
      return read
    }
    return { enter, order }
  }

  test("are taken in turns, and one key has one", async () => {
    const { enter, order } = scene()
    const reads = ["a", "a", "a", "b", "c", "c", "d"].map(enter)
    const leave = async (...which: ReadonlyArray<number>) => {
      for (const at of which) reads[at]?.leave()
      await turns()
      return order.splice(0)
    }
    expect(await leave()).toEqual(["a has a place", "b has a place"])
    expect(await leave(0, 3)).toEqual(["a has a place", "c has a place"])
    expect(await leave(1, 4)).toEqual(["d has a place", "a has a place"])
    expect(await leave(6)).toEqual(["c has a place"])
  })

  test("one that left while it waited gets none", async () => {
    const { enter, order } = scene()
    const [first, second, third] = [enter("a"), enter("b"), enter("c")]
    await turns()
    third.leave()
    enter("d")
    await turns()
    first.leave()
    second.leave()
    await turns()
    expect(order).toEqual(["a has a place", "b has a place", "d has a place"])
  })

  test("are waited for by so many in all", async () => {
    const { enter, order } = scene()
    for (let at = 0; at < mostInAll + 3; at++) enter(at)
    await turns()
    expect(order).toEqual(["0 has a place", "1 has a place", `${mostInAll + 2} Unavailable`])
  })
})
