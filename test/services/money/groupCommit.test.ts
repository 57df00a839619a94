/** Rows on their way into one commit, and the prices that go before them. docs/guarantees.md#g3 and #g4 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import type { PriceVersion } from "../../../src/domain/price/PriceVersion.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { GroupCommit, type Written } from "../../../src/services/money/GroupCommit.ts"
import { PriceVersions } from "../../../src/services/money/PriceVersions.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"

/** A database that ends its commits when the test says so. */
const scene = () => {
  const commits: Array<{ readonly rows: ReadonlyArray<number>; readonly end: (written: Written) => void }> = []
  const written: Array<readonly [number, Written]> = []
  const clock = { now: 0 }
  const group = new GroupCommit<number>(
    (rows, end) => commits.push({ rows, end }),
    (row, result) => written.push([row, result]),
    () => clock.now,
  )
  return { commits, written, clock, group, rowsOf: () => commits.map(({ rows }) => rows) }
}

const timePasses = () => new Promise((resolve) => setTimeout(resolve, 8))

describe("rows in groups (GroupCommit)", () => {
  test("one that comes to an idle ledger is committed at once", () => {
    const { group, rowsOf } = scene()
    expect(group.isIdle).toBe(true)
    group.add(1)
    expect([rowsOf(), group.isIdle]).toEqual([[[1]], false])
  })

  test("those that come while a commit runs go into the next one, in their order; it begins 4 ms after the last", async () => {
    const { group, commits, clock, rowsOf, written } = scene()
    for (const row of [1, 2, 3]) group.add(row)
    expect(rowsOf()).toEqual([[1]])
    commits[0]?.end("durable")
    expect(rowsOf()).toEqual([[1]])
    group.add(4)
    await timePasses()
    expect(rowsOf()).toEqual([[1], [2, 3, 4]])
    clock.now = 4
    group.add(5)
    commits[1]?.end("durable")
    expect(rowsOf()).toEqual([[1], [2, 3, 4], [5]])
    commits[2]?.end("durable")
    expect(group.isIdle).toBe(true)
    expect(written.map(([row]) => row)).toEqual([1, 2, 3, 4, 5])
  })

  test("one that comes less than 4 ms after a commit began waits for others, although that commit has ended", async () => {
    const { group, commits, clock, rowsOf } = scene()
    clock.now = 20
    group.add(1)
    clock.now = 22
    commits[0]?.end("durable")
    clock.now = 23.8
    group.add(2)
    clock.now = 25
    group.add(3)
    expect([rowsOf(), group.isIdle]).toEqual([[[1]], false])
    await timePasses()
    expect(rowsOf()).toEqual([[1], [2, 3]])
  })

  test("one that comes 4 ms after a commit began, or later, is committed at once", () => {
    const { group, commits, clock, rowsOf } = scene()
    for (const now of [20, 24, 29]) {
      clock.now = now
      group.add(now)
      commits.at(-1)?.end("durable")
    }
    expect(rowsOf()).toEqual([[20], [24], [29]])
  })

  test("one that has waited less while a commit ran waits for the rest of its 4 ms, however long ago that began", async () => {
    const { group, commits, clock, rowsOf } = scene()
    clock.now = 20
    group.add(1)
    clock.now = 23.8
    group.add(2)
    clock.now = 25
    commits[0]?.end("durable")
    expect(rowsOf()).toEqual([[1]])
    await timePasses()
    expect(rowsOf()).toEqual([[1], [2]])
  })

  test("one that has waited 4 ms while a long commit ran is committed when that ends", () => {
    const { group, commits, clock, rowsOf } = scene()
    clock.now = 20
    group.add(1)
    clock.now = 21
    group.add(2)
    clock.now = 23.8
    group.add(3)
    clock.now = 25.2
    commits[0]?.end("durable")
    expect(rowsOf()).toEqual([[1], [2, 3]])
  })

  test("24 that wait are committed at once", () => {
    const { group, commits, clock, rowsOf } = scene()
    clock.now = 20
    group.add(0)
    clock.now = 20.5
    commits[0]?.end("durable")
    for (let row = 1; row < 24; row++) group.add(row)
    expect(rowsOf()).toEqual([[0]])
    group.add(24)
    expect(rowsOf().map(({ length }) => length)).toEqual([1, 24])
    for (let row = 25; row < 60; row++) group.add(row)
    commits[1]?.end("durable")
    expect(rowsOf().map(({ length }) => length)).toEqual([1, 24, 35])
  })

  test("24 that were committed before their time are not followed by a commit of none", async () => {
    const { group, commits, clock, rowsOf } = scene()
    group.add(0)
    commits[0]?.end("durable")
    for (let row = 1; row <= 24; row++) group.add(row)
    commits[1]?.end("durable")
    clock.now = 100
    await timePasses()
    expect([rowsOf().length, group.isIdle]).toEqual([2, true])
  })

  test("a commit takes 256 of them at most", () => {
    const { group, commits, clock, rowsOf } = scene()
    for (let row = 0; row < 600; row++) group.add(row)
    for (let commit = 0; commit < 4; commit++) {
      clock.now += 4
      commits[commit]?.end("durable")
    }
    expect(rowsOf().map(({ length }) => length)).toEqual([1, 256, 256, 87])
    expect(rowsOf().flat()).toEqual(Array.from({ length: 600 }, (_, row) => row))
  })

  test("a clock that steps back makes none wait longer than 4 ms", async () => {
    const { group, commits, clock, rowsOf } = scene()
    clock.now = 1_000_000
    group.add(1)
    group.add(2)
    clock.now = 0
    commits[0]?.end("durable")
    await timePasses()
    expect(rowsOf()).toEqual([[1], [2]])
  })

  test("a batch that cannot be written now is reported so for each of its rows", () => {
    const { group, commits, clock, written } = scene()
    for (const row of [1, 2, 3]) group.add(row)
    clock.now = 4
    commits[0]?.end("durable")
    commits[1]?.end("unavailable")
    expect(written).toEqual([
      [1, "durable"],
      [2, "unavailable"],
      [3, "unavailable"],
    ])
  })

  test("a batch that is refused is written row by row, so that one row refuses no other", () => {
    const { group, commits, clock, written, rowsOf } = scene()
    for (const row of [1, 2, 3]) group.add(row)
    clock.now = 4
    commits[0]?.end("durable")
    commits[1]?.end("refused")
    expect(rowsOf()).toEqual([[1], [2, 3], [2], [3]])
    commits[2]?.end("refused")
    commits[3]?.end("durable")
    expect(written).toEqual([
      [1, "durable"],
      [2, "refused"],
      [3, "durable"],
    ])
  })
})

describe("prices before rows (PriceVersions)", () => {
  const pricing = (prompt: bigint) => ({ ...freePricing, prompt })

  const keeping = () => {
    const done: Array<string> = []
    const state = { isAway: false }
    const versions = new PriceVersions({
      put: (put: ReadonlyArray<PriceVersion>) =>
        Effect.suspend(() => {
          if (state.isAway) return Effect.fail(new StorageUnavailable({ reason: "locked" }))
          done.push(`prices ${put.map(({ id }) => names.get(id) ?? id).join(" ")}`)
          return Effect.void
        }),
    } as ConstructorParameters<typeof PriceVersions>[0])
    const names = new Map<number, string>()
    const use = (name: string, prices: Parameters<typeof versions.idOf>[0]) => {
      const id = versions.idOf(prices)
      if (id !== null) names.set(id, name)
      return id
    }
    const write = versions.before((row: string) => Effect.sync(() => void done.push(row)))
    const append = (row: string) => Effect.runSync(Effect.either(write(row)))._tag
    return { done, state, use, append }
  }

  test("each is kept once, before the first row that is computed with it", () => {
    const { done, use, append } = keeping()
    append("row 0")
    use("one", pricing(1n))
    append("row 1")
    append("row 2")
    use("two", pricing(2n))
    append("row 3")
    expect(done).toEqual(["row 0", "prices one", "row 1", "row 2", "prices two", "row 3"])
  })

  test("the same prices have the same number, others another; no price has none", () => {
    const { use } = keeping()
    const first = use("one", pricing(1n))
    expect(use("one", pricing(1n))).toBe(first)
    expect(use("two", pricing(2n))).not.toBe(first)
    expect(use("none", null)).toBeNull()
  })

  test("no row is written while they cannot be kept, and they are tried again with the next", () => {
    const { done, state, use, append } = keeping()
    state.isAway = true
    use("one", pricing(1n))
    expect(append("row 1")).toBe("Left")
    state.isAway = false
    expect(append("row 2")).toBe("Right")
    expect(done).toEqual(["prices one", "row 2"])
  })

  test("of 1,200 new ones, 500 go into one statement", () => {
    const { done, use, append } = keeping()
    for (let at = 1; at <= 1200; at++) use("p", pricing(BigInt(at)))
    append("row")
    expect(done.map((line) => line.split(" ").length - 1)).toEqual([500, 500, 200, 0])
  })
})
