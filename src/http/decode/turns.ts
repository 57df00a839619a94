/**
 * Spreads the work on long bodies over turns of the event loop. Parsing one takes up to some 200 ms, and several in a row would keep all
 * other requests waiting for their sum. So each turn does one such piece of work, and the loop serves its sockets before the next.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { wait } from "../../services/request/EffectRunner.ts"

/** For all gateways of the process, since they share its event loop. */
const waiting: Array<() => void> = []

let isScheduled = false

const schedule = (): void => {
  isScheduled = true
  setImmediate(next)
}

const next = (): void => {
  try {
    waiting.shift()?.()
  } finally {
    if (waiting.length > 0) schedule()
    else isScheduled = false
  }
}

/** Completes in a later turn of the event loop. No two of these complete in the same turn. */
export const ownTurn: Effect.Effect<void> = wait((resume) => {
  waiting.push(() => resume(Exit.void))
  if (!isScheduled) schedule()
})
