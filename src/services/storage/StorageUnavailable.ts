/** The one failure of `Storage`, and what a service does about it. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { Unavailable } from "../../domain/failures/Failure.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type Hindrance, type Outage, type Outaged, outageOf } from "./Outage.ts"

/** The database could not be read or written. Nothing was changed. */
export class StorageUnavailable extends Data.TaggedError("StorageUnavailable")<{
  readonly reason: string
  /** The database refused the values, so a retry cannot succeed. */
  readonly refused?: boolean
  readonly isDiskFull?: boolean
  /** Only the session refused the statement; a new session may accept it. */
  readonly refusedBy?: "session"
}> {
  override get message() {
    return `The database is not available: ${this.reason}`
  }
}

export const hindranceOf = ({ reason, isDiskFull }: StorageUnavailable): Hindrance => ({
  kind: isDiskFull === true ? "full" : "away",
  cause: reason,
})

/** Logs a statement that the database refused; else begins an outage, which is logged once. */
export const reportTo =
  (outage: Outage) =>
  (failure: StorageUnavailable): Effect.Effect<void> =>
    failure.refused === true
      ? logEvent("database_refused", { text: failure.message })
      : outage.begin(hindranceOf(failure))

/**
 * The failure that a caller sees when the database fails. The reason is for the operator, so it is logged here. `storage`: the
 * service that was asked.
 */
export const orUnavailable = (why: "metering" | "storage", storage: Outaged) => {
  const report = reportTo(outageOf(storage))
  return <A>(effect: Effect.Effect<A, StorageUnavailable>): Effect.Effect<A, Unavailable> =>
    Effect.catchTag(effect, "StorageUnavailable", (failure) =>
      Effect.zipRight(report(failure), Effect.fail(new Unavailable({ why, retryAfterSeconds: 5 }))),
    )
}
