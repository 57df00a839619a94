/** What is kept of keys in memory: windows of requests, counts of a day, keys and refused secrets. docs/guarantees.md#g8 and #g24 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { KeyId } from "../../../src/domain/ids.ts"
import { dayMs } from "../../../src/domain/keys/limitWindows.ts"
import { FreeCount, FreeCounts } from "../../../src/services/keys/FreeCounts.ts"
import { KeyCache } from "../../../src/services/keys/KeyCache.ts"
import { KeyWindows } from "../../../src/services/keys/KeyWindows.ts"
import { sampleKey } from "../../sql/samples.ts"

const day = Date.UTC(2026, 0, 15)
const idOf = (at: number) => KeyId.make(`key ${at}`)

describe("windows of keys (KeyWindows)", () => {
  const limit = { requests: 2, intervalSeconds: 10 }

  test("each key has a window of its own, which slides", () => {
    const windows = new KeyWindows()
    windows.add("a", 0)
    windows.add("a", 4000)
    expect([windows.waitFor("a", limit, 4000), windows.waitFor("b", limit, 4000)]).toEqual([6000, 0])
    expect([windows.waitFor("a", limit, 9999), windows.waitFor("a", limit, 10_000)]).toEqual([1, 0])
  })

  test("a request that is taken back does not count", () => {
    const windows = new KeyWindows()
    windows.add("a", 0)
    windows.add("a", 1000)
    windows.remove("a", 1000)
    expect(windows.waitFor("a", limit, 1000)).toBe(0)
  })

  test("beyond so many keys the one that was used least recently is forgotten", () => {
    const windows = new KeyWindows({ keys: 2, remembered: 100 })
    for (const [key, at] of [
      ["a", 0],
      ["b", 1],
      ["a", 2],
      ["b", 3],
      ["a", 4],
      ["c", 5],
    ] as const)
      windows.add(key, at)
    expect(["a", "b", "c"].map((key) => windows.waitFor(key, { ...limit, requests: 1 }, 5) > 0)).toEqual([
      true,
      false,
      true,
    ])
  })

  test("beyond so many requests too; those that were taken back or are too old do not count there", () => {
    const windows = new KeyWindows({ keys: 100, remembered: 3 })
    const isKept = (key: string, now: number) => windows.waitFor(key, { requests: 1, intervalSeconds: 10 }, now) > 0
    windows.add("old", 0)
    windows.add("a", 8000)
    windows.add("b", 8000)
    windows.remove("b", 8000)
    windows.add("c", 8000)
    expect([isKept("old", 9999), isKept("a", 9999), isKept("c", 9999)]).toEqual([true, true, true])
    expect(isKept("old", 10_000)).toBe(false)
    windows.add("d", 10_000)
    expect([isKept("a", 10_000), isKept("c", 10_000), isKept("d", 10_000)]).toEqual([true, true, true])
    windows.add("e", 10_000)
    // `old` has none left, so `a` goes too.
    expect([isKept("a", 10_000), isKept("c", 10_000), isKept("e", 10_000)]).toEqual([false, true, true])
  })
})

describe("the count of a day (FreeCounts)", () => {
  test("begins anew on the next day, and does not reopen one when the clock steps back", () => {
    const count = new FreeCount(day, 3)
    count.unsaved = 2
    expect(count.usedAt(day + dayMs - 1)).toBe(3)
    expect([count.usedAt(day + dayMs), count.day, count.unsaved]).toEqual([0, day + dayMs, 0])
    count.used = 1
    expect([count.usedAt(day), count.day]).toEqual([1, day + dayMs])
  })

  test("requests that read it at once share one", () => {
    const counts = new FreeCounts(() => Effect.succeed(new FreeCount(day, 0)))
    const [first, second] = Effect.runSync(Effect.all([counts.read(idOf(1)), counts.read(idOf(1))]))
    expect(second).toBe(first)
    expect(counts.known(idOf(1))).toBe(first)
  })

  test("with 10,000 in memory the oldest that is written down is forgotten, and none that is not", () => {
    const counts = new FreeCounts(() => Effect.succeed(new FreeCount(day, 0)))
    const read = (at: number) => Effect.runSync(counts.read(idOf(at)))
    for (let at = 0; at < 10_000; at++) read(at)
    read(0).unsaved = 1
    read(1).writing = 1
    read(10_000)
    expect([0, 1, 2, 3, 10_000].map((at) => counts.known(idOf(at)) !== undefined)).toEqual([
      ...[true, true, false, true],
      true,
    ])
  })
})

describe("keys in memory (KeyCache)", () => {
  const record = (id: KeyId) => sampleKey(id)
  const [id, secret, other] = [KeyId.make("id"), KeyId.make("secret"), KeyId.make("other")]

  test("a key that was changed is dropped with all of its secrets, and no other is", () => {
    const cache = new KeyCache()
    cache.put(id, record(id))
    cache.put(secret, record(id))
    cache.put(other, record(other))
    cache.drop(id)
    expect([cache.get(id), cache.get(secret), cache.get(other)?.id]).toEqual([undefined, undefined, other])
    expect(cache.drops).toBe(1)
  })

  test("a secret is refused for two seconds, or until any key is made or changed", () => {
    const cache = new KeyCache()
    cache.refuse(secret, 0)
    expect([cache.isRefused(secret, 1999), cache.isRefused(secret, 2000)]).toEqual([true, false])
    cache.refuse(secret, 0)
    cache.drop(other)
    expect(cache.isRefused(secret, 1)).toBe(false)
  })

  test("a secret that is refused is not found any more", () => {
    const cache = new KeyCache()
    cache.put(secret, record(id))
    cache.refuse(secret, 0)
    expect(cache.get(secret)).toBeUndefined()
  })

  test("10,000 of each kind are kept: the oldest go", () => {
    const cache = new KeyCache()
    for (let at = 0; at <= 10_000; at++) {
      cache.put(idOf(at), record(idOf(at)))
      cache.refuse(KeyId.make(`refused ${at}`), 0)
    }
    expect([0, 1, 10_000].map((at) => cache.get(idOf(at)) !== undefined)).toEqual([false, true, true])
    expect([0, 1, 10_000].map((at) => cache.isRefused(KeyId.make(`refused ${at}`), 1))).toEqual([false, true, true])
  })
})
