/** Records of requests in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import { requestOutcome, requestOutcomes } from "../../domain/failures/RequestOutcome.ts"
import { type KeyId, randomText, requestIdAt, requestOfGeneration } from "../../domain/ids.ts"
import type {
  ListedRequest,
  RequestFilter,
  RequestPage,
  RequestRecord,
  RequestRepository,
  UnknownCount,
  WrittenTo,
} from "../../services/storage/requests.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../failure.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import { column, flag, keyIdText, optionalText, type Stored, storedText, table, text } from "../tables/table.ts"
import { addRecorded, addUnknown } from "./failureSums.ts"
import { hostOfProvider } from "./hostOfProvider.ts"
import { inParts } from "./journalRepository.ts"
import { ledger } from "./ledgerRepository.ts"
import { makeRequestPruning } from "./requestPruning.ts"

const time = Schema.optionalWith(Schema.Number, { exact: true })

const Times = Schema.Struct({
  ...{ admitted: time, firstAttempt: time, firstToken: time, firstByte: time, lastByte: time, booked: time },
})

const Attempt = Schema.Struct({
  model: Schema.String,
  host: Schema.String,
  outcome: Schema.String,
  status: Schema.NullOr(Schema.Number),
  ms: Schema.Number,
  fault: Schema.optionalWith(Schema.String, { exact: true }),
})

const records = table<RequestRecord>({
  requestId: text("request_id"),
  generationId: optionalText("generation_id"),
  callerRequestId: text("caller_request_id"),
  createdAt: column("created_at", Schema.Number),
  key: keyIdText("key_id"),
  appTitle: text("app_title"),
  appUrl: text("app_url"),
  userHash: text("user_hash"),
  route: text("route"),
  form: optionalText("form"),
  model: optionalText("model"),
  host: optionalText("host"),
  status: column("status", Schema.Number),
  outcome: column("outcome", Schema.Literal(...requestOutcomes)),
  why: text("why"),
  streamed: flag("streamed"),
  attempts: column("attempts", Schema.parseJson(Schema.Array(Attempt))),
  times: column("times", Schema.parseJson(Times)),
  durationMs: column("duration_ms", Schema.Number),
  bytesIn: column("bytes_in", Schema.Number),
  bytesOut: column("bytes_out", Schema.Number),
  strategy: text("strategy"),
  seed: column("seed", Schema.Number),
  routed: text("routed"),
  address: optionalText("address"),
  requests: column("requests", Schema.Number),
})

const counts = table<UnknownCount>({
  minute: column("minute", Schema.Number),
  address: text("address"),
  status: column("status", Schema.Number),
  requests: column("requests", Schema.Number),
})

/** Records, and rows of the ledger, that one page looks at. The thread of SQLite takes some 10 ms for them, and commits wait meanwhile. */
export const lookedAt = 5000

/** Of each, those that are read after a place. */
const readAtOnce = 500

/** The records where the database is: they arrive as `withEncodedRecords` writes them. */
export interface SqlRequests extends Omit<RequestRepository, "add"> {
  readonly add: (records: string) => Effect.Effect<void, StorageUnavailable>
}

interface EncodedRecords {
  readonly rows: ReadonlyArray<ReadonlyArray<Stored>>
  readonly bookedIds: ReadonlyArray<string>
}

/** The repository as services see it. A string is passed to another thread in a fraction of the time that objects take. */
export const withEncodedRecords = (requests: SqlRequests): RequestRepository => ({
  ...requests,
  add: (all, bookedIds = []) => requests.add(JSON.stringify({ rows: all.map(records.valuesOf), bookedIds })),
})

const answers: ReadonlyArray<AnswerOutcome> = ["finished", "host-failed", "cut", "caller-gone", "crashed"]

/** Outcomes of rows of the ledger that a filter lets through. A row is of an answer whose head was sent with 200. */
const answersFor = ({ outcomes, statuses }: RequestFilter): ReadonlyArray<AnswerOutcome> => {
  if (statuses !== undefined && (statuses[0] > 200 || statuses[1] < 200)) return []
  return answers.filter((answer) => outcomes === undefined || outcomes.includes(requestOutcome(null, answer)))
}

const idOf = ({ record, row }: ListedRequest): string => (record ?? row).requestId

/** What is found in one table, and the id down to which it was looked at; "": to its end. */
interface Looked {
  readonly found: ReadonlyArray<ListedRequest>
  readonly downTo: string
}

const nothing: Looked = { found: [], downTo: "" }

/** One page of what was found in both tables: nothing from below the place where either look ended. */
const merged = (one: Looked, other: Looked, limit: number): RequestPage => {
  const [downTo = ""] = [one.downTo, other.downTo].toSorted().toReversed()
  const all = [...one.found, ...other.found]
    .filter((listed) => idOf(listed) >= downTo)
    .toSorted((a, b) => (idOf(a) < idOf(b) ? 1 : -1))
  const found = all.slice(0, limit)
  const last = found.at(-1)
  const end = all.length > limit && last !== undefined ? idOf(last) : downTo
  return { found, next: end === "" ? null : end }
}

/** The ids of a page: from the one on, and below the other ("": all). */
interface Ids {
  readonly above: string
  readonly below: string
}

const idsOf = ({ from, to }: RequestFilter, after: string): Ids => {
  const before = to === undefined ? "" : requestIdAt(to)
  const [below = ""] = [after, before].filter((id) => id !== "").toSorted()
  return { above: from === undefined ? "" : requestIdAt(from), below }
}

type Rows = Effect.Effect<ReadonlyArray<ListedRequest>, StorageUnavailable>

/** Reads both tables. */
class RequestReads {
  private readonly sql: SqlClient
  /** The id of a request as text that sorts by characters. */
  private readonly id: Fragment
  private readonly isOfProvider: (provider: string) => Fragment

  constructor(sql: SqlClient) {
    this.sql = sql
    this.isOfProvider = hostOfProvider(sql)
    this.id = sql.onDialectOrElse({
      pg: () => sql.literal('request_id COLLATE "C"'),
      orElse: () => sql.literal("request_id"),
    })
  }

  readonly page: RequestRepository["page"] = (filter, below, limit) =>
    Effect.gen(this, function* () {
      const range = idsOf(filter, below)
      const { found, next } = merged(
        yield* this.recordsOf(filter, range, limit),
        yield* this.rowsOf(filter, range, limit),
        limit,
      )
      return { found: yield* this.withRows(found), next }
    })

  readonly written: RequestRepository["written"] = (filter, after) =>
    Effect.gen(this, function* () {
      const { sql } = this
      const now = yield* this.writtenTo()
      const to = {
        record: Math.min(now.record, after.record + readAtOnce),
        row: Math.min(now.row, after.row + readAtOnce),
      }
      const isNew = (from: number, end: number) => sql`seq > ${from} AND seq <= ${end}`
      const ofKey = filter.key === undefined ? [] : [this.isOf(filter.key)]
      const kept = yield* this.selectRecords(
        [isNew(after.record, to.record), ...ofKey, ...this.filtersOf(filter)],
        sql`ORDER BY seq`,
      )
      const booked = answersFor(filter).includes("finished")
        ? yield* this.selectRows(
            [isNew(after.row, to.row), sql`outcome = 'finished'`, this.hasNoRecord, ...this.sharedFilters(filter)],
            sql`ORDER BY seq`,
          )
        : []
      const isCut = to.record < now.record || to.row < now.row
      return { found: [...(yield* this.withRows(kept)), ...booked], to, isCut }
    })

  readonly writtenTo: RequestRepository["writtenTo"] = () =>
    Effect.map(
      query(
        this.sql<WrittenTo>`SELECT COALESCE((SELECT MAX(seq) FROM requests), 0) AS record,
          COALESCE((SELECT MAX(seq) FROM ledger), 0) AS "row"`,
      ),
      ([to]) => to ?? { record: 0, row: 0 },
    )

  readonly find: RequestRepository["find"] = (id) => {
    const { sql } = this
    const request = requestOfGeneration(id)
    // "~" comes after all characters of ids.
    const is =
      request === undefined
        ? sql`request_id = ${storedText(id)}`
        : sql`request_id > ${request} AND request_id < ${`${request}~`} AND generation_id = ${id}`
    return firstRowOf(records, sql`SELECT ${sql.literal(records.selection)} FROM requests WHERE ${is}`)
  }

  private isOf(key: KeyId): Fragment {
    return this.sql`key_id = ${storedText(key)}`
  }

  /** Filters of columns that both tables have. */
  private sharedFilters({ key, app, model, host, provider, userHash }: RequestFilter): ReadonlyArray<Fragment> {
    const { sql } = this
    const text = (column: string, wanted: string | undefined) =>
      wanted === undefined ? [] : [sql`${sql.literal(column)} = ${storedText(wanted)}`]
    return [
      ...(key === undefined ? [] : [this.isOf(key)]),
      ...(app === undefined ? [] : [sql`(app_title = ${storedText(app)} OR app_url = ${storedText(app)})`]),
      ...text("model", model),
      ...text("host", host),
      ...(provider === undefined ? [] : [this.isOfProvider(provider)]),
      ...text("user_hash", userHash),
    ]
  }

  /** Filters of records, but for the key. */
  private filtersOf({ key: _, ...filter }: RequestFilter): ReadonlyArray<Fragment> {
    const { sql } = this
    const { statuses, outcomes } = filter
    return [
      ...this.sharedFilters(filter),
      // With the sign, no index over a range of statuses is used, since that has no order by time.
      ...(statuses === undefined ? [] : [sql`+status BETWEEN ${statuses[0]} AND ${statuses[1]}`]),
      ...(outcomes === undefined ? [] : [sql.in("outcome", outcomes)]),
    ]
  }

  private recordsOf(filter: RequestFilter, range: Ids, limit: number): Effect.Effect<Looked, StorageUnavailable> {
    const { key, statuses } = filter
    const isOne = statuses !== undefined && statuses[0] === statuses[1]
    const indexed = key !== undefined ? [this.isOf(key)] : isOne ? [this.sql`status = ${statuses[0]}`] : []
    return this.look("requests", indexed, range, limit, (where, end) =>
      this.selectRecords([...where, ...this.filtersOf(filter)], end),
    )
  }

  private rowsOf(filter: RequestFilter, range: Ids, limit: number): Effect.Effect<Looked, StorageUnavailable> {
    const outcomes = answersFor(filter)
    if (outcomes.length === 0) return Effect.succeed(nothing)
    const others = [...this.sharedFilters(filter), this.sql.in("outcome", outcomes), this.hasNoRecord]
    return this.look("ledger", [], range, limit, (where, end) => this.selectRows([...where, ...others], end))
  }

  /** Looks at the newest ones of a table for which `indexed` holds, in the order of an index, and no further than `lookedAt`. */
  private look(
    from: "requests" | "ledger",
    indexed: ReadonlyArray<Fragment>,
    { above, below }: Ids,
    limit: number,
    select: (where: ReadonlyArray<Fragment>, end: Fragment) => Rows,
  ): Effect.Effect<Looked, StorageUnavailable> {
    const { sql, id } = this
    const before = [...indexed, ...(below === "" ? [] : [sql`${id} < ${storedText(below)}`])]
    return Effect.gen(function* () {
      const [end] = yield* query(sql<{ readonly id: string }>`SELECT request_id AS id FROM ${sql.literal(from)}
        WHERE ${sql.and([...before, sql`${id} >= ${above}`])} ORDER BY ${id} DESC LIMIT 1 OFFSET ${lookedAt - 1}`)
      // One bound alone: of two SQLite may take the lower one for the index, and would read on to that.
      const found = yield* select(
        [...before, sql`${id} >= ${end?.id ?? above}`],
        sql`ORDER BY ${id} DESC LIMIT ${limit}`,
      )
      const last = found.at(-1)
      return { found, downTo: found.length === limit && last !== undefined ? idOf(last) : (end?.id ?? "") }
    })
  }

  private selectRecords(where: ReadonlyArray<Fragment>, end: Fragment): Rows {
    const { sql } = this
    const selected = rowsOf(
      records,
      sql`SELECT ${sql.literal(records.selection)} FROM requests WHERE ${sql.and([...where])} ${end}`,
    )
    return Effect.map(selected, (all) => all.map((record) => ({ record, row: null })))
  }

  private selectRows(where: ReadonlyArray<Fragment>, end: Fragment): Rows {
    const { sql } = this
    const selected = rowsOf(
      ledger,
      sql`SELECT ${sql.literal(ledger.selection)} FROM ledger WHERE ${sql.and([...where])} ${end}`,
    )
    return Effect.map(selected, (all) => all.map((row) => ({ record: null, row })))
  }

  private get hasNoRecord(): Fragment {
    return this.sql`NOT EXISTS (SELECT 1 FROM requests r WHERE r.request_id = ledger.request_id)`
  }

  /** With the rows of the ledger that records have. */
  private withRows(found: ReadonlyArray<ListedRequest>): Rows {
    const { sql } = this
    const ids = found.flatMap(({ record }) => (record === null ? [] : [record.requestId]))
    if (ids.length === 0) return Effect.succeed(found)
    return Effect.map(
      rowsOf(ledger, sql`SELECT ${sql.literal(ledger.selection)} FROM ledger WHERE ${sql.in("request_id", ids)}`),
      (rows) => {
        const rowOf = new Map(rows.map((row) => [row.requestId, row]))
        return found.map((one) =>
          one.record === null ? one : { ...one, row: rowOf.get(one.record.requestId) ?? null },
        )
      },
    )
  }
}

export const makeRequestRepository = (sql: SqlClient): SqlRequests => {
  const { page, written, writtenTo, find } = new RequestReads(sql)
  return {
    ...{ page, written, writtenTo, find },
    ...makeRequestPruning(sql),
    add: (encoded) => {
      // `withEncodedRecords` wrote it. A wrong value would be refused by its column.
      const { rows, bookedIds } = JSON.parse(encoded) as EncodedRecords
      const values = rows.map((row) => Object.fromEntries(records.names.map((name, at) => [name, row[at] ?? null])))
      if (values.length === 0) return Effect.void
      const adding = Effect.gen(function* () {
        const added = yield* sql`INSERT INTO requests ${sql.insert(values)} ON CONFLICT (request_id) DO NOTHING
          RETURNING ${sql.literal(records.selection)}`
        yield* addRecorded(sql, yield* Effect.mapError(records.decode(added), unavailable), bookedIds)
      })
      return query(sql.withTransaction(adding))
    },
    positionSecret: () =>
      Effect.zipRight(
        query(sql`INSERT INTO positions (only_row, secret) VALUES (1, ${randomText(43)}) ON CONFLICT DO NOTHING`),
        Effect.flatMap(query(sql<{ readonly secret: string }>`SELECT secret FROM positions`), ([row]) =>
          row === undefined
            ? Effect.dieMessage("the secret that encrypts positions is missing")
            : Effect.succeed(row.secret),
        ),
      ),
    countUnknown: (all) => {
      // In one order, so that two processes that count the same do not wait for each other.
      const values = all
        .toSorted((a, b) => a.minute - b.minute || order(a.address, b.address) || a.status - b.status)
        .map(counts.columnsOf)
      const counting = Effect.forEach(
        inParts(values),
        (part) =>
          sql`INSERT INTO unknown_requests ${sql.insert(part)}
            ON CONFLICT (minute, address, status) DO UPDATE SET requests = unknown_requests.requests + excluded.requests`,
        { discard: true },
      )
      return query(sql.withTransaction(Effect.zipRight(counting, addUnknown(sql, all))))
    },
    unknown: (from, to, offset, limit) =>
      rowsOf(
        counts,
        sql`SELECT ${sql.literal(counts.selection)} FROM unknown_requests WHERE minute >= ${from} AND minute < ${to}
          ORDER BY minute DESC, requests DESC, address, status LIMIT ${limit} OFFSET ${offset}`,
      ),
  }
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
