/**
 * Runs one Effect per request at the least cost. A request is short and waits a few times for the outside; its fiber goes
 * on within the very event that woke it, where Effect's own scheduler would queue it for the next turn. Measured on a
 * unary request: see bench/README.md.
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Runtime from "effect/Runtime"
import type { Scheduler } from "effect/Scheduler"

/** Never yields: nothing on the data plane computes for long. */
const atOnce: Scheduler = {
  shouldYield: () => false,
  scheduleTask: (task) => task(),
}

export const runAtOnce = (runtime: Runtime.Runtime<never>) => {
  const fork = Runtime.runFork(Runtime.setFiberRef(runtime, FiberRef.currentScheduler, atOnce))
  return <A>(effect: Effect.Effect<A>): Promise<A> =>
    new Promise((resolve, reject) => {
      fork(effect).addObserver((exit) =>
        Exit.isSuccess(exit) ? resolve(exit.value) : reject(Cause.squash(exit.cause)),
      )
    })
}
