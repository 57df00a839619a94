/**
 * Keeps the sums of the ledger by hour up to date, in the background: new rows once a second where there are enough of them, and after an
 * upgrade the rows of the last weeks from before there were such sums. Some rows at a time, so that the ledger's thread commits in between.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { logEvent } from "../../process/log/logEvent.ts"
import { Streak } from "../storage/Outage.ts"
import { Storage } from "../storage/Storage.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"

/** Sums that are removed at once. */
const removedAtOnce = 500

const make = Effect.gen(function* () {
  const { analytics } = yield* Storage
  const clock = yield* Effect.clock
  const failures = new Streak()

  /** One after another while there is more, and the storage has as long a rest in between. */
  const inParts = (part: Effect.Effect<boolean, { readonly message: string }>) =>
    Effect.repeat(part, { while: (isMore) => isMore, schedule: Schedule.spaced("30 millis") }).pipe(
      Effect.tap(() => Effect.sync(() => failures.ended())),
      Effect.catchAll(({ message }) => failures.failed(logEvent("hourly_sums_not_kept", { because: message }))),
      survivingDefects("sums by hour"),
    )
  const now = () => clock.unsafeCurrentTimeMillis()
  const adding = inParts(Effect.suspend(() => analytics.addUp(now())))
  const pruning = inParts(Effect.suspend(() => analytics.prune(now(), removedAtOnce)))
  yield* Effect.scheduleForked(adding, Schedule.spaced("1 second"))
  yield* Effect.scheduleForked(pruning, Schedule.spaced("1 minute"))
})

/** Nobody waits for it, and nobody asks it anything. */
export const layerHourlySums: Layer.Layer<never, never, Storage> = Layer.scopedDiscard(make)
