/** The machine's clock as far as the client for hosts goes by it, held by a test: a machine that stands still changes nothing. */
import { spyOn } from "bun:test"

export interface HeldClock {
  readonly advance: (milliseconds: number) => void
  readonly [Symbol.dispose]: () => void
}

/** `performance.now()` stands still, and moves on as the test says. */
export const heldClock = (): HeldClock => {
  let now = performance.now()
  const spy = spyOn(performance, "now").mockImplementation(() => now)
  return {
    advance: (milliseconds) => {
      now += milliseconds
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  }
}

export interface HeldTimers {
  /** How many of them are due some time, and were not cleared. */
  readonly waiting: () => number
  readonly fire: () => void
  readonly [Symbol.dispose]: () => void
}

/** Timers of `setTimeout` of just so many milliseconds go off when the test says so. All others are as ever. */
export const heldTimers = (milliseconds: number): HeldTimers => {
  const held = new Map<object, () => void>()
  const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout]
  const setSpy = spyOn(globalThis, "setTimeout").mockImplementation(((call: () => void, ms?: number) => {
    const timer = set(call, ms === milliseconds ? 2 ** 31 - 1 : ms)
    if (ms === milliseconds) held.set(timer, call)
    return timer
  }) as typeof setTimeout)
  const clearSpy = spyOn(globalThis, "clearTimeout").mockImplementation(((timer: Timer | undefined) => {
    if (timer !== undefined) held.delete(timer)
    clear(timer)
  }) as typeof clearTimeout)
  return {
    waiting: () => held.size,
    fire: () => {
      for (const [timer, call] of [...held]) {
        held.delete(timer)
        clear(timer as Timer)
        call()
      }
    },
    [Symbol.dispose]: () => {
      for (const timer of held.keys()) clear(timer as Timer)
      setSpy.mockRestore()
      clearSpy.mockRestore()
    },
  }
}
