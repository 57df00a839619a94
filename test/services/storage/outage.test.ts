/** What is logged of outages of the database: the beginning of each kind, and the end. docs/guarantees.md#g26 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { hindranceText, Outage, outageOf, Streak } from "../../../src/services/storage/Outage.ts"
import { closeServices, servicesOf } from "../../support/clocks/services.ts"

closeServices()

const away = { kind: "away", cause: "locked" } as const
const full = { kind: "full", cause: "10 bytes are free" } as const

const scene = async (where?: () => Readonly<Record<string, string>>) => ({
  ...(await servicesOf(Layer.empty)),
  outage: new Outage(where === undefined ? {} : { where }),
})

test("each kind is logged once, and the end with the seconds that it took", async () => {
  const { outage, run, logged, clock } = await scene(() => ({ path: "a.db" }))
  await run(outage.begin(away))
  clock.advance(1500)
  await run(outage.begin({ ...away, cause: "still locked" }))
  await run(outage.begin(full))
  await run(outage.begin(full))
  clock.advance(1000)
  await run(outage.end)
  await run(outage.end)
  expect(logged).toEqual([
    'ERROR The database is not available: locked {"event":"database_away","because":"locked","path":"a.db"}',
    'ERROR no paid request starts: the disk of the database is full {"event":"disk_full","because":"10 bytes are free","path":"a.db"}',
    'INFO the database takes requests again: its disk has free space {"event":"disk_free","lasted_s":2.5}',
  ])
})

test("the next outage is logged again", async () => {
  const { outage, run, logged } = await scene()
  await run(Effect.all([outage.begin(away), outage.end, outage.begin(away)]))
  expect(logged.filter((line) => line.startsWith("ERROR"))).toHaveLength(2)
})

test("requests are refused while the disk is full or the file is gone, not while the database is away", async () => {
  const { outage, run } = await scene()
  const refuses = async (kind: "away" | "full" | "gone") => {
    await run(outage.begin({ kind, cause: "" }))
    return outage.refusesRequests
  }
  expect(outage.refusesRequests).toBe(false)
  expect([await refuses("away"), await refuses("full"), await refuses("gone")]).toEqual([false, true, true])
  await run(outage.end)
  expect([outage.refusesRequests, outage.current]).toEqual([false, undefined])
})

test("in words for everybody a hindrance has no cause", () => {
  expect(hindranceText(full)).toBe("the disk of the database is full")
})

test("services over one storage share its outage; without one each has its own", () => {
  const outage = new Outage({})
  expect(outageOf({ outage })).toBe(outage)
  expect(outageOf({})).not.toBe(outageOf({}))
})

test("of failures in a row only the first is logged", async () => {
  const { run, logged } = await scene()
  const streak = new Streak()
  const failed = streak.failed(Effect.logWarning("it failed"))
  await run(Effect.all([failed, failed]))
  expect(logged).toHaveLength(1)
  streak.ended()
  await run(failed)
  expect(logged).toHaveLength(2)
})
