/** The calls of hosts that a request had, from its row in the ledger alone. */
import { type EndedCall, readRouted } from "../../../domain/routing/routed.ts"
import type { LedgerRow } from "../../../services/storage/ledger.ts"

/** In the order in which they ended; `null`: one host was called, once. Some may be missing where the text was cut (`Routed.isCut`). */
export const callsOf = (row: LedgerRow): ReadonlyArray<EndedCall> | null => {
  const ended = readRouted(row.routed)?.ended ?? []
  const timed = ended.filter(({ ms }) => ms !== null)
  // A row with times has those of all calls: the others are hosts that could not be called.
  const calls = timed.length > 0 ? timed : ended
  // The call that the row is of is missing in rows from before 26 November 2026, where its answer broke off, and where the text was cut.
  const all = calls.some(({ outcome }) => outcome === row.outcome) ? calls : [...calls, ownCall(row)]
  return all.length === 1 ? null : all
}

/** Of a caller who left it is not known whether the host had answered. */
const ownCall = (row: LedgerRow): EndedCall => {
  const { model, host, outcome } = row
  return { model, host, outcome, status: outcome === "caller-gone" ? null : statusOf(row), ms: null }
}

/** The status of the answer that was booked, which the caller got as well; `null`: the gateway was killed, and it may not have come. */
export const statusOf = ({ outcome }: LedgerRow): number | null => (outcome === "crashed" ? null : 200)
