/** How a request was routed, from what the ledger and its record keep of the plan. */
import { type RoutedEnd, type RoutedHost, readRouted, ruleOf } from "../../../domain/routing/routed.ts"
import type { LedgerRow } from "../../../services/storage/ledger.ts"
import type { RequestRecord } from "../../../services/storage/requests.ts"

export interface FollowedRoute {
  readonly strategy: string | null
  readonly seed: number | null
  readonly order: ReadonlyArray<Omit<RoutedEnd, "fault"> & { readonly fault: string | null }>
  readonly excluded: ReadonlyArray<RoutedHost & { readonly by: string; readonly reason: string }>
  readonly cut: boolean
}

/** `null`: nothing is kept of it. */
export const routeOf = (record: RequestRecord | null, row: LedgerRow | null): FollowedRoute | null => {
  const kept = row ?? record
  const routed = kept === null ? undefined : readRouted(kept.routed)
  if (kept === null || routed === undefined) return null
  const { excluded, isCut } = routed
  const hasPlan = kept.strategy !== ""
  return {
    strategy: hasPlan ? kept.strategy : null,
    seed: hasPlan ? kept.seed : null,
    order: outcomesOf(routed.order ?? onlyHost(kept), endsOf(record, row, routed.ended)),
    excluded: excluded.map((one) => ({ ...one, reason: ruleOf(one.by) })),
    cut: isCut,
  }
}

const onlyHost = ({ model, host }: Pick<RequestRecord, "model" | "host">): ReadonlyArray<RoutedHost> =>
  model === null || host === null ? [] : [{ model, host }]

/** What became of the hosts that were called. */
const endsOf = (
  record: RequestRecord | null,
  row: LedgerRow | null,
  ended: ReadonlyArray<RoutedEnd>,
): ReadonlyArray<RoutedEnd> => [...ended, ...(record?.attempts ?? []), ...(row === null ? [] : [row])]

/** Of several ends of a host the last one counts. One before a host that was called was passed over. */
const outcomesOf = (order: ReadonlyArray<RoutedHost>, ends: ReadonlyArray<RoutedEnd>): FollowedRoute["order"] => {
  const endOf = ({ model, host }: RoutedHost) => ends.findLast((end) => end.model === model && end.host === host)
  const lastCalled = order.findLastIndex((one) => endOf(one) !== undefined)
  return order.map(({ model, host }, at) => ({
    model,
    host,
    outcome: endOf({ model, host })?.outcome ?? (at < lastCalled ? "skipped" : "not_called"),
    fault: endOf({ model, host })?.fault ?? null,
  }))
}
