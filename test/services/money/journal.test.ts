/** The journal of requests in flight, under a clock that the test advances. docs/guarantees.md#g2 */
import { describe, expect, test } from "bun:test"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { type Journaled, makeJournal } from "../../../src/services/money/Journal.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { alice, sampleRow } from "../../sql/samples.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

interface Running extends Journaled {
  readonly id: string
  progress: Journaled["progress"]
}

/** A database, and processes that keep their journal in it. */
const scene = async () => {
  const clock = new ManualClock()
  const run = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.runPromise(effect.pipe(Effect.withClock(clock), Effect.provide(Logger.remove(Logger.defaultLogger))))
  const context = await run(Effect.scoped(Layer.build(lastingStorage)))
  const storage: Context.Tag.Service<Storage> = Effect.runSync(Effect.provide(Storage, context))
  /** Calls that wrote, and whether the next ones fail. */
  const state = { writes: 0, fails: false, isBroken: false, throws: false, hasBadRow: false }
  const start = async () => {
    let isKilled = false
    const journal: typeof storage.journal = {
      ...storage.journal,
      write: (...write) => {
        if (isKilled) return Effect.never
        state.writes += 1
        if (state.throws) throw new Error("a bug of the storage")
        if (state.isBroken) return Effect.die(new Error("a bug of the storage"))
        return state.fails ? Effect.fail(new StorageUnavailable({ reason: "locked" })) : storage.journal.write(...write)
      },
    }
    const scope = Effect.runSync(Scope.make())
    const open = new Set<Running>()
    const booked: Array<LedgerRow> = []
    const made = await run(
      Scope.extend(
        makeJournal<Running>(
          { ...storage, journal },
          {
            open: () => open,
            crashed: ({ id, progress }) => {
              if (state.hasBadRow && id === "bad") throw new Error("a bug of the meter")
              return sampleRow(id, {
                outcome: "crashed",
                cost: typeof progress === "string" ? 0n : BigInt(progress.outputBytes),
              })
            },
            onBooked: (row) => booked.push(row),
          },
        ),
        scope,
      ),
    )
    return {
      booked,
      begin: (id: string, progress: Journaled["progress"] = "dispatched") => {
        const running: Running = { id, progress }
        open.add(running)
        return running
      },
      end: (running: Running) => {
        open.delete(running)
        made.closed(running)
      },
      /** It writes nothing any more. */
      kill: () => {
        isKilled = true
      },
      stop: () => run(Scope.close(scope, Exit.void)),
    }
  }
  return {
    state,
    start,
    pass: async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1000)
        for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
    },
    append: (row: LedgerRow) => run(storage.ledger.append([row])),
    rows: async () => (await run(storage.ledger.rows(alice, 100))).map(({ requestId, cost }) => [requestId, cost]),
    /** The entries, as if every process were gone. */
    entries: async () =>
      (await run(storage.journal.orphans(Number.MAX_SAFE_INTEGER, 100))).map(({ state, row }) => [
        row?.requestId,
        state,
        row?.cost,
      ]),
  }
}

describe("what is written", () => {
  test("of a request that is over within a second: nothing", async () => {
    const { state, start, pass } = await scene()
    const { begin, end } = await start()
    for (let round = 0; round < 5; round++) {
      const request = begin(`r${round}`)
      await pass(1)
      end(request)
    }
    expect(state.writes).toBe(0)
  })

  test("of others: an entry, a checkpoint each second in which a stream spoke, and the removal", async () => {
    const { state, start, pass, entries } = await scene()
    const { begin, end } = await start()
    const whole = begin("whole", "held")
    const stream = begin("stream", { outputBytes: 3 })
    await pass(1)
    expect(await entries()).toEqual([["stream", "streaming", 3n]])
    whole.progress = "dispatched"
    stream.progress = { outputBytes: 7 }
    await pass(1)
    expect(await entries()).toEqual([
      ["stream", "streaming", 7n],
      ["whole", "dispatched", 0n],
    ])
    expect(state.writes).toBe(2)
    await pass(5)
    expect(state.writes).toBe(2)
    end(whole)
    end(stream)
    await pass(1)
    expect([await entries(), state.writes]).toEqual([[], 3])
  })

  test("what could not be written is written by the next second", async () => {
    const { state, start, pass, entries } = await scene()
    const { begin, end } = await start()
    const gone = begin("gone", { outputBytes: 1 })
    begin("stays", { outputBytes: 1 })
    await pass(1)
    state.fails = true
    end(gone)
    begin("new", { outputBytes: 1 })
    await pass(2)
    expect((await entries()).map(([id]) => id)).toEqual(["gone", "stays"])
    state.fails = false
    await pass(1)
    expect((await entries()).map(([id]) => id)).toEqual(["stays", "new"])
  })

  test("what met a storage that throws, or a request without a row, is written by the next second", async () => {
    const { state, start, pass, entries } = await scene()
    const { begin, end } = await start()
    for (const broken of ["throws", "hasBadRow"] as const) {
      const gone = begin(`gone ${broken}`, { outputBytes: 1 })
      const stays = begin(`stays ${broken}`, { outputBytes: 1 })
      await pass(1)
      state[broken] = true
      end(gone)
      stays.progress = { outputBytes: 2 }
      const bad = begin("bad", { outputBytes: 1 })
      await pass(2)
      state[broken] = false
      end(bad)
      await pass(1)
      expect(await entries()).toEqual([[`stays ${broken}`, "streaming", 2n]])
      end(stays)
    }
  })

  test("what met a defect of the storage is written by the next second", async () => {
    const { state, start, pass, entries } = await scene()
    const { begin, end } = await start()
    const gone = begin("gone", { outputBytes: 1 })
    begin("stays", { outputBytes: 1 })
    await pass(1)
    state.isBroken = true
    end(gone)
    begin("new", { outputBytes: 1 })
    await pass(2)
    expect((await entries()).map(([id]) => id)).toEqual(["gone", "stays"])
    state.isBroken = false
    await pass(1)
    expect((await entries()).map(([id]) => id)).toEqual(["stays", "new"])
  })
})

describe("what a killed process leaves", () => {
  test("is cleared within 90 seconds: streams are charged by their last checkpoint, once, the rest is dropped", async () => {
    const { start, pass, rows, entries } = await scene()
    const killed = await start()
    killed.begin("stream", { outputBytes: 5 })
    killed.begin("silent", { outputBytes: 0 })
    killed.begin("whole")
    await pass(2)
    expect(await entries()).toHaveLength(3)
    killed.kill()
    const next = await start()
    const later = await start()
    await pass(55)
    // Its lease may still be renewed, for all that the others know.
    expect(await rows()).toEqual([])
    await pass(35)
    expect(await rows()).toEqual([["stream", 5n]])
    expect(await entries()).toEqual([])
    expect([...next.booked, ...later.booked]).toMatchObject([{ requestId: "stream", outcome: "crashed", cost: 5n }])
  })

  test("was listed as charged although it was booked and answered before: only what was still open is", async () => {
    const { start, pass, rows, entries, append } = await scene()
    const killed = await start()
    killed.begin("booked", { outputBytes: 5 })
    killed.begin("open", { outputBytes: 7 })
    await pass(2)
    await append(sampleRow("booked", { cost: 6n }))
    killed.kill()
    const next = await start()
    await pass(90)
    expect(next.booked.map(({ requestId }) => requestId)).toEqual(["open"])
    expect((await rows()).toSorted()).toEqual([
      ["booked", 6n],
      ["open", 7n],
    ])
    expect(await entries()).toEqual([])
  })

  test("is left alone while its process lives, however long its requests take", async () => {
    const { start, pass, rows, entries } = await scene()
    const one = await start()
    const other = await start()
    one.begin("stream", { outputBytes: 5 })
    await pass(300)
    expect([await rows(), other.booked]).toEqual([[], []])
    expect(await entries()).toHaveLength(1)
  })

  test("a row that the database refuses does not keep the others waiting", async () => {
    const { start, pass, rows, entries } = await scene()
    const killed = await start()
    killed.begin("impossible", { outputBytes: 2 ** 70 })
    killed.begin("stream", { outputBytes: 5 })
    await pass(1)
    await killed.stop()
    await start()
    expect([await rows(), await entries()]).toEqual([[["stream", 5n]], []])
  })

  test("a process that stops in order leaves nothing that waits for its lease", async () => {
    const { start, pass, rows } = await scene()
    const one = await start()
    one.begin("cut off", { outputBytes: 5 })
    await pass(1)
    await one.stop()
    await start()
    expect(await rows()).toEqual([["cut off", 5n]])
  })

  test("nor does one whose last write meets a storage that throws", async () => {
    const { state, start, pass, rows } = await scene()
    const one = await start()
    one.begin("cut off", { outputBytes: 5 })
    await pass(1)
    one.begin("later", { outputBytes: 5 })
    state.throws = true
    await one.stop()
    await start()
    expect(await rows()).toEqual([["cut off", 5n]])
  })
})
