/** Keeps sums of the requests of which there are records, by hour and by day, so that they can be counted after the records are removed. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { hourMs } from "../../domain/money/activity.ts"
import { type FailureClass, failureClassOf, failureClassOfStatus } from "../../domain/money/analytics.ts"
import type { RequestRecord, UnknownCount } from "../../services/storage/requests.ts"
import { storedText } from "../tables/table.ts"
import { inParts } from "./journalRepository.ts"

type FailureSum = {
  readonly kind: "hour" | "day"
  /** Unix milliseconds. */
  readonly start: number
  /** "": nobody knows whose. */
  readonly key_id: string
  /** "": it did not come to that, or there is no such model. */
  readonly model: string
  readonly host: string
  readonly class: FailureClass
  readonly requests: number
  readonly unbooked: number
}

type Counted = Omit<FailureSum, "kind" | "start"> & { readonly at: number }

const placeOf = (one: FailureSum): string =>
  JSON.stringify([one.kind, one.start, one.key_id, one.model, one.host, one.class])

/** In one order, so that two processes that write the same do not wait for each other. */
const sumsOf = (all: ReadonlyArray<Counted>): ReadonlyArray<FailureSum> => {
  const sums = new Map<string, FailureSum>()
  for (const { at, ...counted } of all) {
    for (const [kind, length] of [["hour", hourMs] as const, ["day", dayMs] as const]) {
      const one: FailureSum = { kind, start: at - (at % length), ...counted }
      const before = sums.get(placeOf(one))
      const [requests, unbooked] = [before?.requests ?? 0, before?.unbooked ?? 0]
      sums.set(placeOf(one), { ...one, requests: one.requests + requests, unbooked: one.unbooked + unbooked })
    }
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

const add = (sql: SqlClient, all: ReadonlyArray<Counted>) =>
  Effect.forEach(
    inParts(sumsOf(all)),
    (part) => sql`INSERT INTO failures ${sql.insert(part)}
      ON CONFLICT (kind, start, key_id, model, host, class) DO UPDATE SET
        requests = failures.requests + excluded.requests, unbooked = failures.unbooked + excluded.unbooked`,
    { discard: true },
  )

type Recorded = Pick<RequestRecord, "requestId" | "createdAt" | "key" | "model" | "host" | "outcome" | "requests">

/** Call it in the transaction that adds the records. `bookedIds`: of those whose row may still wait to be written. */
export const addRecorded = (sql: SqlClient, records: ReadonlyArray<Recorded>, bookedIds: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    if (records.length === 0) return
    const ids = records.map(({ requestId }) => requestId)
    const rows = yield* sql<{
      readonly id: string
    }>`SELECT request_id AS id FROM ledger WHERE ${sql.in("request_id", ids)}`
    const booked = new Set([...bookedIds, ...rows.map(({ id }) => id)])
    const counted = records.map(
      ({ requestId, createdAt, key, model, host, outcome, requests }): Counted => ({
        at: createdAt,
        key_id: storedText(key),
        // Names that callers make up are not kept by hour for ever.
        model: outcome === "caller_model_not_found" ? "" : storedText(model ?? ""),
        host: storedText(host ?? ""),
        class: failureClassOf(outcome),
        requests,
        unbooked: booked.has(requestId) ? 0 : requests,
      }),
    )
    yield* add(sql, counted)
  })

/** Call it in the transaction that counts them. */
export const addUnknown = (sql: SqlClient, counts: ReadonlyArray<UnknownCount>) =>
  add(
    sql,
    counts.map(({ minute, status, requests }) => ({
      ...{ at: minute, key_id: "", model: "", host: "", class: failureClassOfStatus(status) },
      ...{ requests, unbooked: requests },
    })),
  )
