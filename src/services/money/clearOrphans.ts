/**
 * Clears the entries of the journal that a killed process left: what a stream had delivered by its last checkpoint is charged, with the
 * outcome `crashed`; everything else is dropped. See docs/guarantees.md#g2 and docs/decisions/0018-the-journal.md.
 */
import * as Effect from "effect/Effect"
import { logEvent } from "../../process/log/logEvent.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import type { JournalRepository, LedgerRepository, Orphan } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

interface Clearing {
  readonly journal: JournalRepository
  readonly ledger: LedgerRepository
  /** Unix milliseconds. */
  readonly now: () => number
  /** A row that a crash had left is in the ledger. */
  readonly onBooked: (row: LedgerRow) => void
}

/** Orphans that are cleared at once. */
const mostAtOnce = 500

/** Of all processes whose lease has ended. */
export const clearOrphans = (clearing: Clearing): Effect.Effect<void, StorageUnavailable> =>
  Effect.gen(function* () {
    const { journal, ledger, now } = clearing
    for (;;) {
      const orphans = yield* journal.orphans(now(), mostAtOnce)
      if (orphans.length === 0) return
      const settledAt = now()
      const left = yield* Effect.filter(orphans, (orphan) => Effect.map(isBooked(ledger, orphan), (is) => !is))
      const rows = left.flatMap(({ state, row }) =>
        state === "streaming" && row !== undefined ? [{ ...row, settledAt }] : [],
      )
      yield* book(clearing, rows)
      yield* journal.clear(orphans.map(({ id }) => id))
      if (left.length === 0) continue
      const about = { requests: left.length, charged: rows.map(({ requestId }) => requestId) }
      yield* logEvent("crashed_requests_cleared", about)
    }
  })

/** Whether a request was booked before the crash, and only its entry is left. */
const isBooked = (ledger: LedgerRepository, { row }: Orphan): Effect.Effect<boolean, StorageUnavailable> =>
  row === undefined ? Effect.succeed(false) : Effect.map(ledger.find(row.requestId), (found) => found !== undefined)

/** A row that the database will never take must not keep the others waiting, so a refused batch is booked row by row. */
const book = (clearing: Clearing, rows: ReadonlyArray<LedgerRow>): Effect.Effect<void, StorageUnavailable> =>
  Effect.matchEffect(clearing.ledger.append(rows), {
    onSuccess: () =>
      Effect.sync(() => {
        for (const row of rows) clearing.onBooked(row)
      }),
    onFailure: (failure) => {
      if (failure.refused !== true) return Effect.fail(failure)
      const [row, ...more] = rows
      if (more.length > 0) return Effect.forEach(rows, (one) => book(clearing, [one]), { discard: true })
      return logEvent("crashed_stream_not_booked", { requestId: row?.requestId }, failure)
    },
  })
