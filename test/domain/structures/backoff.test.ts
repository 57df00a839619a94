/** The waits between tries. How often a server that is away is tried is in test/sql/postgres/events.test.ts. */
import { expect, test } from "bun:test"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { backoff } from "../../../src/domain/structures/backoff.ts"

const bounds = { firstMs: 500, mostMs: 4000 }

/** The waits after tries that succeeded, or did not, with the most jitter. */
const waits = (schedule: Schedule.Schedule<number, boolean>, tries: ReadonlyArray<boolean>) =>
  Effect.runPromise(Effect.withRandom(Schedule.run(schedule, 0, tries), Random.fixed([0]))).then(Chunk.toReadonlyArray)

test("double with each failure in a row up to a bound, also after an outage of any length", async () => {
  const outage = Array.from({ length: 2000 }, () => false)
  const all = await waits(backoff(bounds, 15_000), outage)
  expect(all.slice(0, 5)).toEqual([250, 500, 1000, 2000, 2000])
  expect(all.at(-1)).toBe(2000)
})

test("begin anew after a success, which has a wait of its own", async () => {
  const tries = [true, true, false, false, true, false]
  expect(await waits(backoff(bounds, 15_000), tries)).toEqual([15_000, 15_000, 250, 500, 15_000, 250])
})

test("of something that is tried again after a success too, begin with that success", async () => {
  expect(await waits(backoff(bounds), [true, false, false, true, false])).toEqual([250, 500, 1000, 250, 500])
})
