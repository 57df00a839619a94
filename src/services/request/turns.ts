/**
 * Spreads long work over turns of the event loop. Parsing a long body or a long answer takes up to some 200 ms, and several in a row would
 * keep all other requests waiting for their sum. So each turn does one such piece of work, and the loop serves its sockets before the next.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { wait } from "./EffectRunner.ts"

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

/** Calls `work` in a later turn of the event loop. No two of these are in the same turn. `work` must not throw. */
export const takeTurn = (work: () => void): void => {
  waiting.push(work)
  if (!isScheduled) schedule()
}

/** Completes in a turn of its own. */
export const ownTurn: Effect.Effect<void> = wait((resume) => takeTurn(() => resume(Exit.void)))
