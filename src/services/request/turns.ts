/**
 * Spreads long work over turns of the event loop. Parsing a long body or answer takes up to 200 ms, and several in a
 * row would block all other requests for their sum. So each turn does one such piece of work, and the loop serves its
 * sockets before the next.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { wait } from "./EffectRunner.ts"

/** Shared by all gateways of the process, because they share its event loop. */
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

/** Calls `work` in a later turn of the event loop. Each turn runs one `work`, which must not throw. */
export const takeTurn = (work: () => void): void => {
  waiting.push(work)
  if (!isScheduled) schedule()
}

/** Completes in a turn of its own. */
export const ownTurn: Effect.Effect<void> = wait((resume) => takeTurn(() => resume(Exit.void)))
