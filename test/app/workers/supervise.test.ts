/** The rules of the supervisor of worker processes, with workers that only the test ends. docs/decisions/0024 */
import { describe, expect, test } from "bun:test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { type Ended, pauseMs, supervise, WorkerFailed } from "../../../src/app/workers/supervise.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"

interface Fake {
  readonly number: number
  /** The port that it was told to listen on. */
  readonly port: number
  readonly serve: (port?: number) => void
  /** With an exit code, or by a signal. */
  readonly end: (code: number, signal?: string) => void
  readonly isOver: () => boolean
}

/** Not the test's own time-out: it would not say what was waited for. */
const bounded = <A, E>(waiting: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(
    Effect.raceFirst(waiting, Effect.delay(Effect.dieMessage("the supervisor did not end"), "30 seconds")),
  )

const supervising = (workers: number) => {
  const clock = new ManualClock()
  const started: Array<Fake> = []
  const start = (number: number, port: number) =>
    Effect.acquireRelease(
      Effect.gen(function* () {
        const serving = yield* Deferred.make<number>()
        const ended = yield* Deferred.make<Ended>()
        let over = false
        const end = (code: number, signal: string | null = null) => {
          over = true
          Deferred.unsafeDone(ended, Exit.succeed({ code, signal }))
        }
        const serve = (at = 4321) => Deferred.unsafeDone(serving, Exit.succeed(at))
        started.push({ number, port, serve, end, isOver: () => over })
        return { pid: 1000 + number, serving: Deferred.await(serving), ended: Deferred.await(ended), end }
      }),
      ({ end }) => Effect.sync(() => end(0)),
    )
  const fiber = Effect.runFork(
    supervise({ workers, port: 0, start }).pipe(
      Effect.withClock(clock),
      Effect.provide(Logger.remove(Logger.defaultLogger)),
    ),
  )
  const worker = (number: number): Fake => {
    const fake = started.find((each) => each.number === number)
    if (fake === undefined) throw new Error(`no worker ${number} was started`)
    return fake
  }
  /** Waits for the start of a worker. */
  const startOf = async (number: number) => {
    await until(() => started.length >= number, `worker ${number}`)
    return worker(number)
  }
  const failure = () => bounded(Effect.flip(Fiber.join(fiber)))
  const allRunning = async () => {
    for (let number = 1; number <= workers; number++) (await startOf(number)).serve()
  }
  /** Enough turns for what is going to happen without the clock. */
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  return { clock, started, fiber, worker, startOf, failure, allRunning, settle }
}

describe("at the start", () => {
  test("the first worker is alone until it serves; the others share its port", async () => {
    const { started, startOf, settle } = supervising(3)
    const first = await startOf(1)
    await settle()
    expect([started.length, first.port]).toEqual([1, 0])
    first.serve(7777)
    await startOf(3)
    expect(started.map(({ port }) => port)).toEqual([0, 7777, 7777])
  })

  test.each([
    [78, null],
    [69, null],
    [137, "SIGKILL"],
  ] as const)("a first worker that ends with %p before it serves ends the supervisor", async (code, signal) => {
    const { startOf, failure, started } = supervising(2)
    const first = await startOf(1)
    first.end(code, signal ?? undefined)
    expect(await failure()).toEqual(new WorkerFailed({ number: 1, code, signal }))
    expect(started.length).toBe(1)
  })
})

describe("a worker that has ended", () => {
  test("is started again on the same port, later each time, and at once when it has served for a minute", async () => {
    const { clock, startOf, started, allRunning, settle } = supervising(2)
    await allRunning()
    let number = 2
    for (const pause of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      ;(await startOf(number)).end(137, "SIGKILL")
      await settle()
      clock.advance(pause - 1)
      await settle()
      expect(started.length).toBe(number)
      clock.advance(1)
      ;(await startOf(++number)).serve()
      await settle()
    }
    clock.advance(60_000)
    ;(await startOf(number)).end(70)
    await settle()
    clock.advance(0)
    const again = await startOf(number + 1)
    expect(again.port).toBe(4321)
  })

  test("leaves the others alone, whatever it ended with", async () => {
    const { clock, startOf, worker, allRunning, settle, fiber } = supervising(2)
    await allRunning()
    await settle()
    worker(2).end(137, "SIGKILL")
    for (const code of [78, 65, 70]) {
      await settle()
      clock.advance(30_000)
      ;(await startOf(2 + [78, 65, 70].indexOf(code) + 1)).end(code)
    }
    await settle()
    expect([worker(1).isOver(), fiber.unsafePoll()]).toEqual([false, null])
  })

  test("and cannot start again for a lasting reason ends the supervisor when no other serves", async () => {
    const { clock, startOf, worker, allRunning, settle, failure } = supervising(2)
    await allRunning()
    await settle()
    worker(1).end(137, "SIGKILL")
    worker(2).end(137, "SIGKILL")
    await settle()
    clock.advance(30_000)
    // The database is away: that may pass.
    ;(await startOf(3)).end(69)
    await settle()
    ;(await startOf(4)).end(78)
    expect(await failure()).toEqual(new WorkerFailed({ number: 4, code: 78, signal: null }))
  })
})

test("all workers are stopped when the supervisor is", async () => {
  const { started, fiber, allRunning, settle } = supervising(3)
  await allRunning()
  await settle()
  await bounded(Fiber.interrupt(fiber))
  expect(started.map(({ isOver }) => isOver())).toEqual([true, true, true])
})

test("a pause is never longer than half a minute", () => {
  expect([0, 1, 2, 7, 1000].map(pauseMs)).toEqual([0, 500, 1000, 30_000, 30_000])
})
