/** A request as `GET /requests` shows it. */
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { requestOutcome, requestOutcomes } from "../../../domain/failures/RequestOutcome.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"
import { routeNameOf } from "../../../domain/request/forms.ts"
import type { EndedCall } from "../../../domain/routing/routed.ts"
import type { LedgerRow } from "../../../services/storage/ledger.ts"
import type { ListedRequest, RequestRecord } from "../../../services/storage/requests.ts"
import type { Row } from "../csvAnswer.ts"
import { callsOf, statusOf } from "./callsOf.ts"

/** One call of a host. */
const RequestAttempt = Schema.Struct({
  model: Schema.String,
  /** The tag of the host. */
  host: Schema.String,
  /** How its answer ended, or why there was none. */
  outcome: Schema.String,
  /** Of the host's answer; `null`: there was none. */
  status: Schema.NullOr(Schema.Int),
  /** `null`: it was not kept. */
  duration_ms: Schema.NullOr(Schema.Number),
  /** What kept the host from being reached; `null`: nothing, or it is not known. */
  fault: Schema.NullOr(Schema.String),
}).annotations({ identifier: "RequestAttempt" })

const milliseconds = Schema.NullOr(Schema.Number)

/** Milliseconds after the first byte; `null`: it did not come to that, or it was not kept. */
const RequestTimes = Schema.Struct({
  admitted: milliseconds,
  first_attempt: milliseconds,
  first_token: milliseconds,
  first_byte: milliseconds,
  last_byte: milliseconds,
  booked: milliseconds,
}).annotations({ identifier: "RequestTimes" })

/** Of a request that went well there is what the ledger has: no bytes and no address, and `attempts` only where a call failed or lost. */
export const RequestItem = Schema.Struct({
  request_id: Schema.String,
  generation_id: Schema.NullOr(Schema.String),
  caller_request_id: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  key_hash: Schema.String,
  /** "" where the caller gave none. */
  app_title: Schema.String,
  app_url: Schema.String,
  /** Of the end user's name; `null`: nobody was named, or the row is from before the ledger had it. */
  user_hash: Schema.NullOr(Schema.String),
  /** Method and path; `null`: the ledger's row has no form of this version. */
  route: Schema.NullOr(Schema.String),
  form: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  /** The tag of the host. */
  host: Schema.NullOr(Schema.String),
  /** `null`: the gateway was killed before it knew. */
  status: Schema.NullOr(Schema.Int),
  /** How it ended, in one word; what stands before the first underscore says who caused it. */
  outcome: Schema.Literal(...requestOutcomes),
  /** What else is known of the reason, without a word of the request. */
  why: Schema.NullOr(Schema.String),
  streamed: Schema.Boolean,
  /** What the key paid, in USD. */
  usage: Schema.Number,
  /** The same as a decimal, exact to the picodollar. */
  exact: Schema.Struct({ usage: Schema.String }),
  tokens_prompt: Schema.Int,
  tokens_completion: Schema.Int,
  /** Calls of hosts, in the order in which they ended. `null`: there was one, which answered. */
  attempts: Schema.NullOr(Schema.Array(RequestAttempt)),
  duration_ms: Schema.Number,
  times_ms: RequestTimes,
  bytes_in: Schema.NullOr(Schema.Int),
  bytes_out: Schema.NullOr(Schema.Int),
  address: Schema.NullOr(Schema.String),
  /** More than 1 where a key had very many with this outcome in a minute: how many are told of by the first of them. */
  requests: Schema.Int,
}).annotations({ identifier: "Request" })

type Item = typeof RequestItem.Type

const noTimes = {
  admitted: null,
  first_attempt: null,
  first_token: null,
  first_byte: null,
  last_byte: null,
  booked: null,
}

const orNull = (text: string): string | null => (text === "" ? null : text)

export const itemOf = ({ record, row }: ListedRequest): Item =>
  record === null ? itemOfRow(row) : { ...itemOfRecord(record), ...(row === null ? nothingPaid : paidOf(row)) }

/** Names of the columns in CSV. */
export const requestColumns = Struct.keys(Struct.omit(RequestItem.fields, "exact"))

/** A line of CSV: what has members of its own is JSON there. */
export const csvRowOf = (listed: ListedRequest): Row<keyof Omit<Item, "exact">> => {
  // Amounts are exact there.
  const { attempts, times_ms: times, exact: _, ...item } = itemOf(listed)
  return {
    item: { ...item, attempts: attempts === null ? null : JSON.stringify(attempts), times_ms: JSON.stringify(times) },
    amounts: { usage: listed.row?.cost ?? 0n },
  }
}

/** How a request ended. */
export const endOf = ({ record, row }: ListedRequest): Pick<Item, "status" | "outcome" | "why"> =>
  record === null
    ? {
        status: statusOf(row),
        outcome: requestOutcome(null, row.outcome),
        why: null,
      }
    : { status: record.status, outcome: record.outcome, why: orNull(record.why) }

const nothingPaid = { usage: 0, exact: { usage: "0" }, tokens_prompt: 0, tokens_completion: 0 }

const paidOf = ({ cost, promptTokens, completionTokens }: LedgerRow) => ({
  usage: toUsd(cost),
  exact: { usage: formatUsd(cost) },
  tokens_prompt: promptTokens,
  tokens_completion: completionTokens,
})

const attemptOf = ({ ms, fault, ...attempt }: EndedCall): typeof RequestAttempt.Type => ({
  ...attempt,
  duration_ms: ms,
  fault: fault ?? null,
})

const itemOfRecord = (record: RequestRecord): Omit<Item, keyof typeof nothingPaid> => ({
  request_id: record.requestId,
  generation_id: record.generationId,
  caller_request_id: orNull(record.callerRequestId),
  created_at: isoTime(record.createdAt),
  key_hash: record.key,
  app_title: record.appTitle,
  app_url: record.appUrl,
  user_hash: orNull(record.userHash),
  route: record.route,
  form: record.form,
  model: record.model,
  host: record.host,
  ...endOf({ record, row: null }),
  streamed: record.streamed,
  attempts: record.attempts.map(attemptOf),
  duration_ms: record.durationMs,
  times_ms: {
    admitted: record.times.admitted ?? null,
    first_attempt: record.times.firstAttempt ?? null,
    first_token: record.times.firstToken ?? null,
    first_byte: record.times.firstByte ?? null,
    last_byte: record.times.lastByte ?? null,
    booked: record.times.booked ?? null,
  },
  bytes_in: record.bytesIn,
  bytes_out: record.bytesOut,
  address: record.address,
  requests: record.requests,
})

const itemOfRow = (row: LedgerRow): Item => {
  return {
    request_id: row.requestId,
    generation_id: row.generationId,
    caller_request_id: orNull(row.callerRequestId),
    created_at: isoTime(row.admittedAt),
    key_hash: row.key,
    app_title: row.appTitle,
    app_url: row.appUrl,
    user_hash: orNull(row.userHash),
    route: routeNameOf(row.form, row.streamed),
    form: orNull(row.form),
    model: row.model,
    host: row.host,
    ...endOf({ record: null, row }),
    streamed: row.streamed,
    ...paidOf(row),
    attempts: callsOf(row)?.map(attemptOf) ?? null,
    duration_ms: row.durationMs,
    times_ms: { ...noTimes, first_token: row.latencyMs },
    bytes_in: null,
    bytes_out: null,
    address: null,
    requests: 1,
  }
}
