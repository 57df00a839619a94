/**
 * The way into the ledger: rows are committed in groups, and none is lost while the process lives. A row that the database
 * could not take now is kept and tried again; as long as one is kept, no paid request should start. G3, G22.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { GroupCommit, type Written } from "./GroupCommit.ts"
import type { LedgerRow } from "./ledger.ts"
import type { Storage } from "./Storage.ts"

export interface LedgerWriter {
  /** `told` once how the first try went; `booked` once the row is durable, now or later. Neither for a row that is refused for ever but `told`. */
  readonly add: (row: LedgerRow, told: (written: Written) => void, booked: () => void) => void
  /** Whether rows are waiting for a database that cannot take them. */
  readonly stuck: () => boolean
}

interface Kept {
  readonly row: LedgerRow
  readonly booked: () => void
}

/** Writes into `storage` until the scope is closed; then tries once more what is kept, and logs what is lost. */
export const makeLedgerWriter = (
  storage: Context.Tag.Service<Storage>,
): Effect.Effect<LedgerWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const kept: Array<Kept> = []

    const append = (rows: ReadonlyArray<LedgerRow>): Effect.Effect<Written> =>
      storage.append(rows).pipe(
        Effect.as("durable" as const),
        Effect.catchAll((failure) =>
          Effect.as(
            Effect.logError(failure.message, { requests: rows.map(({ requestId }) => requestId) }),
            failure.refused === true ? ("refused" as const) : ("unavailable" as const),
          ),
        ),
      )

    const group = new GroupCommit<LedgerRow>((rows, told) => {
      run(Effect.map(append(rows), told))
    })

    /** In the order in which they came; the first that does not get in ends the round. */
    const retry = Effect.gen(function* () {
      while (kept[0] !== undefined) {
        const { row, booked } = kept[0]
        const written = yield* append([row])
        if (written === "unavailable") return
        kept.shift()
        if (written === "durable") booked()
        else yield* lost(row)
      }
    })
    yield* retry.pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        retry,
        Effect.forEach(kept, ({ row }) => lost(row)),
      ),
    )

    return {
      stuck: () => kept.length > 0,
      add: (row, told, booked) =>
        group.add(row, (written) => {
          if (written === "durable") booked()
          if (written === "unavailable") kept.push({ row, booked })
          told(written)
        }),
    }
  })

/** The last that is known of money that could not be booked: enough to book it by hand. */
const lost = ({ requestId, key, model, host, cost, admittedAt }: LedgerRow) =>
  Effect.logError("a settled request is not in the ledger", {
    requestId,
    key,
    model,
    host,
    picodollars: cost.toString(),
    admittedAt,
  })
