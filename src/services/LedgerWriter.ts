/**
 * The way into the ledger: rows are committed in groups, and none is lost while the process lives. A row that the database
 * could not take now is kept and tried again; as long as one is kept, no paid request should start. G3, G22.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { GroupCommit, type Written } from "./GroupCommit.ts"
import type { LedgerRow } from "./ledger.ts"
import type { Storage } from "./Storage.ts"

export interface LedgerWriter {
  /** `told` once how the first try went; `closed` once it is settled whether the row is in the ledger: at once, or later. */
  readonly add: (row: LedgerRow, told: (written: Written) => void, closed: (isBooked: boolean) => void) => void
  /** Whether rows are waiting for a database that cannot take them. */
  readonly stuck: () => boolean
}

interface Kept {
  readonly row: LedgerRow
  readonly closed: (isBooked: boolean) => void
}

/** Writes into `storage` until the scope is closed; then tries once more what is kept, and logs what is lost. */
export const makeLedgerWriter = (
  storage: Context.Tag.Service<Storage>,
): Effect.Effect<LedgerWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const kept: Array<Kept> = []

    // Every way it can end is an answer: rows that nobody answers for would stop all those behind them.
    const append = (rows: ReadonlyArray<LedgerRow>): Effect.Effect<Written> =>
      Effect.catchAllCause(Effect.as(storage.append(rows), "durable" as const), (cause) => {
        const failure = Option.getOrUndefined(Cause.failureOption(cause))
        const requests = rows.map(({ requestId }) => requestId)
        return Effect.as(
          Effect.logError("settled requests could not be written to the ledger", { requests }, cause),
          failure?.refused === true ? ("refused" as const) : ("unavailable" as const),
        )
      })

    const group = new GroupCommit<LedgerRow>((rows, told) => {
      run(Effect.map(append(rows), told))
    })

    /** In the order in which they came; the first that does not get in ends the round. */
    const retry = Effect.gen(function* () {
      while (kept[0] !== undefined) {
        const { row, closed } = kept[0]
        const written = yield* append([row])
        if (written === "unavailable") return
        kept.shift()
        closed(written === "durable")
        if (written === "refused") yield* lost(row)
      }
    })
    // Before the fiber, so that it runs after the fiber has ended: two at once would book a row twice.
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        retry,
        Effect.suspend(() => Effect.forEach(kept, ({ row }) => lost(row))),
      ),
    )
    yield* retry.pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)

    return {
      stuck: () => kept.length > 0,
      add: (row, told, closed) =>
        group.add(row, (written) => {
          if (written === "unavailable") kept.push({ row, closed })
          else closed(written === "durable")
          if (written === "refused") run(lost(row))
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
