/**
 * Turns of the event loop for work on long bodies. Parsing one takes up to some 200 ms, and several that came at once would
 * add up, with nobody served in between. So there is one such piece of work in a turn, and sockets are looked at before the next.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { wait } from "../../services/Steps.ts"

/** Of all gateways of the process, since they share its loop. */
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

/** Succeeds in a later turn of the event loop, in which nothing else succeeds that waits for one. */
export const ownTurn: Effect.Effect<void> = wait((resume) => {
  waiting.push(() => resume(Exit.void))
  if (!isScheduled) schedule()
})
