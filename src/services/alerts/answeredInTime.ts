/** The database for code that reports when it does not answer: that code must not wait for it. */
import * as Effect from "effect/Effect"
import type { AlertRepository } from "../storage/alerts.ts"
import { StorageUnavailable } from "../storage/StorageUnavailable.ts"

/** Longer than any answer of a database that works. */
const timeLimit = "10 seconds"

/** Fails where there is no answer in time. */
export const answeredInTime = <A>(answer: Effect.Effect<A, StorageUnavailable>): Effect.Effect<A, StorageUnavailable> =>
  Effect.timeoutFail(answer, {
    duration: timeLimit,
    onTimeout: () => new StorageUnavailable({ reason: `there was no answer within ${timeLimit}` }),
  })

export const alertsInTime = ({ insert, seen, resolve, prune }: AlertRepository): AlertsInTime => ({
  insert: (...all) => answeredInTime(insert(...all)),
  seen: (...all) => answeredInTime(seen(...all)),
  resolve: (...all) => answeredInTime(resolve(...all)),
  prune: (...all) => answeredInTime(prune(...all)),
})

/** What the book of alerts needs of the repository. */
export type AlertsInTime = Pick<AlertRepository, "insert" | "seen" | "resolve" | "prune">
