/** Many timers on one tick, under a clock that the test advances. docs/guarantees.md#g14 */
import { expect, test } from "bun:test"
import { Timers } from "../../../src/services/request/Timers.ts"
import { pass } from "../../support/clocks/manualClock.ts"
import { closeServices, servicesOf, turns } from "../../support/clocks/services.ts"

closeServices()

const scene = async () => {
  const services = await servicesOf(Timers.layer)
  const timers = services.get(Timers)
  const fired: Array<string> = []
  await turns()
  return { ...services, timers, fired, set: (name: string, ms: number) => timers.set(ms, () => fired.push(name)) }
}

test("a timer fires once, at most a tick from its time", async () => {
  const { clock, fired, set } = await scene()
  set("late", 300)
  set("early", 100)
  await pass(clock, 100)
  expect(fired).toEqual(["early"])
  await pass(clock, 100)
  expect(fired).toEqual(["early"])
  await pass(clock, 1000)
  expect(fired).toEqual(["early", "late"])
})

test("one that was cleared does not fire, and one that is restarted fires at its new time alone", async () => {
  const { clock, fired, set } = await scene()
  set("cleared", 100).clear()
  const moved = set("moved", 100)
  await pass(clock, 50)
  moved.restart(300)
  await pass(clock, 200)
  expect(fired).toEqual([])
  await pass(clock, 200)
  expect(fired).toEqual(["moved"])
  moved.restart(100)
  await pass(clock, 200)
  expect(fired).toEqual(["moved", "moved"])
})

test("timers that set, move and clear others while they fire", async () => {
  const { clock, fired, set, timers } = await scene()
  const victim = set("victim", 200)
  timers.set(100, () => {
    victim.clear()
    set("child", 100)
  })
  await pass(clock, 400)
  expect(fired).toEqual(["child"])
})

test("one that throws is a defect in the log, and the others fire all the same", async () => {
  const { clock, fired, set, timers, logged } = await scene()
  timers.set(100, () => {
    throw new Error("a bug")
  })
  set("other", 100)
  set("later", 200)
  await pass(clock, 400)
  expect(fired.toSorted()).toEqual(["later", "other"])
  expect(logged.filter((line) => line.includes("a defect in a timer"))).toHaveLength(1)
})

test("the time is that of the last tick", async () => {
  const { clock, timers } = await scene()
  const before = timers.now()
  await pass(clock, 500)
  expect(timers.now() - before).toBe(500)
  clock.advance(20)
  expect(timers.now() - before).toBe(500)
})
