/** How often a gateway tries to reach a server of PostgreSQL that is away. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Pg from "pg"
import { backoffMs } from "../../../src/domain/structures/backoff.ts"
import { makeEvents } from "../../../src/sql/postgres/postgresEvents.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"

/** When a listener whose server is away tries to connect, milliseconds from its start. */
const attempts = async (forMs: number): Promise<ReadonlyArray<number>> => {
  const clock = new ManualClock(0)
  const at: Array<number> = []
  class Away extends Pg.Pool {
    // biome-ignore lint/suspicious/noExplicitAny: the form with a callback is not used.
    override connect(): any {
      at.push(clock.unsafeCurrentTimeMillis())
      return Promise.reject(new Error("connection refused"))
    }
    // biome-ignore lint/suspicious/noExplicitAny: the one question that is asked before.
    override query(): any {
      return Promise.resolve({ rows: [{ seq: 0 }] })
    }
  }
  const scope = Effect.runSync(Scope.make())
  await Effect.runPromise(makeEvents(new Away()).pipe(Scope.extend(scope), Effect.withClock(clock)))
  await pass(clock, forMs)
  await Effect.runPromise(Scope.close(scope, Exit.void))
  return at
}

test("it was reconnected every 500 ms: the waits grow up to four seconds, and no two gateways have the same", async () => {
  const [one, other] = await Promise.all([attempts(60_000), attempts(60_000)])
  expect(one.length).toBeGreaterThan(12)
  expect(one.length).toBeLessThan(40)
  const waits = one.slice(1).map((at, index) => at - (one[index] ?? 0))
  expect(waits[0]).toBeLessThanOrEqual(600)
  expect(Math.max(...waits)).toBeGreaterThan(2000)
  expect(Math.max(...waits)).toBeLessThanOrEqual(4100)
  expect(one).not.toEqual(other)
})

test("a wait doubles up to its bound, and is never less than half of it", () => {
  const bounds = { firstMs: 500, mostMs: 4000 }
  expect([0, 1, 2, 3, 4, 1000].map((failures) => backoffMs(bounds, failures, 1))).toEqual([
    500, 1000, 2000, 4000, 4000, 4000,
  ])
  expect([0, 1, 2, 3].map((failures) => backoffMs(bounds, failures, 0))).toEqual([250, 500, 1000, 2000])
})
