/** Listeners of the process's events live as long as their scope: two programs in one process leave none behind. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { onProcess, onStopSignal } from "../../../src/app/workers/processEvents.ts"

const scoped = async (listening: Effect.Effect<void, never, Scope.Scope>) => {
  const scope = Effect.runSync(Scope.make())
  await Effect.runPromise(Scope.extend(listening, scope))
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}

test("an event is heard until the scope closes", async () => {
  const before = process.listenerCount("SIGHUP")
  let heard = 0
  const close = await scoped(onProcess("SIGHUP", () => heard++))
  process.emit("SIGHUP", "SIGHUP")
  expect([heard, process.listenerCount("SIGHUP")]).toEqual([1, before + 1])
  await close()
  expect(process.listenerCount("SIGHUP")).toBe(before)
})

test("without a signal the listeners of SIGTERM and SIGINT go with the scope", async () => {
  const count = () => [process.listenerCount("SIGTERM"), process.listenerCount("SIGINT")]
  const before = count()
  const close = await scoped(onStopSignal(() => {}))
  expect(count()).toEqual(before.map((listeners) => listeners + 1))
  await close()
  expect(count()).toEqual(before)
})

test("a signal that came again while the process exited ended it with exit code 143", async () => {
  const heard: Array<string> = []
  const others = process.listeners("SIGTERM")
  const close = await scoped(onStopSignal((signal) => heard.push(signal)))
  const [own] = process.listeners("SIGTERM").filter((listener) => !others.includes(listener))
  const hangups = process.listeners("SIGHUP")
  own?.("SIGTERM")
  const ofHangup = process.listeners("SIGHUP").filter((listener) => !hangups.includes(listener))
  expect(ofHangup).toHaveLength(1)
  for (const listener of ofHangup) process.off("SIGHUP", listener)
  await close()
  expect(process.listeners("SIGTERM").length).toBe(others.length + 1)
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    for (const listener of process.listeners(signal)) if (listener === own) process.off(signal, listener)
  }
  expect(heard).toEqual(["SIGTERM"])
})
