/** The journal of requests in flight in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { LedgerRow } from "../../services/storage/ledger.ts"
import type { JournalEntry, JournalRepository } from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../failure.ts"
import { query } from "../tables/query.ts"
import { ledger } from "./ledgerRepository.ts"

/** Entries as one string: see `encodeRows`. */
const encodeEntries = (entries: ReadonlyArray<JournalEntry>): string =>
  JSON.stringify(entries.map(({ id, state, row }) => [id, state, encodeRow(row)]))

type EncodedEntry = readonly [id: string, state: string, row: string]

/** By the names of the members, so that a later version with more columns can tell what is missing. */
export const encodeRow = (row: LedgerRow): string => {
  const values = ledger.valuesOf(row)
  return JSON.stringify(Object.fromEntries(ledger.members.map((member, at) => [member, values[at]])))
}

/** What rows of earlier versions lack. */
const addedLater = { callerRequestId: "", userHash: "", routed: "" }

/** `undefined`: another version wrote it, and a member is missing. */
export const decodeRow = (text: string): LedgerRow | undefined =>
  Either.match(ledger.decode([{ ...addedLater, ...JSON.parse(text) }]), {
    onLeft: () => undefined,
    onRight: ([row]) => row,
  })

/** The journal where its database is: entries arrive as `encodeEntries` wrote them. */
export interface SqlJournal extends Omit<JournalRepository, "write"> {
  readonly write: (
    process: string,
    leaseEnd: number,
    entries: string,
    closed: ReadonlyArray<string>,
  ) => Effect.Effect<void, StorageUnavailable>
}

/** The journal as services see it. */
export const withEncodedEntries = (journal: SqlJournal): JournalRepository => ({
  ...journal,
  write: (process, leaseEnd, entries, closed) => journal.write(process, leaseEnd, encodeEntries(entries), closed),
})

/** Who opens a SQLite file owns it, so that earlier processes are gone, whatever their leases say. */
export const endAllLeases = (sql: SqlClient) => sql`DELETE FROM leases`

/** The time of a server of PostgreSQL, Unix milliseconds: one clock for all processes. */
export const serverNow = (sql: SqlClient) => sql.literal("(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")

/** Rows of one statement: databases bound its parameters. */
const largestStatement = 1000

/** A list in parts that a statement can take. */
export const inParts = <A>(list: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / largestStatement) }, (_, at) =>
    list.slice(at * largestStatement, (at + 1) * largestStatement),
  )

/** Where several processes share the database, their leases have a repository of their own (`postgresLeases.ts`). */
export const makeJournalRepository = (sql: SqlClient): SqlJournal => {
  const isShared = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  const lease = (process: string, leaseEnd: number) =>
    sql`INSERT INTO leases (process, ends_at) VALUES (${process}, ${leaseEnd})
      ON CONFLICT (process) DO UPDATE SET ends_at = excluded.ends_at`
  const put = (process: string, entries: ReadonlyArray<EncodedEntry>) =>
    sql`INSERT INTO open_requests ${sql.insert(entries.map(([id, state, row]) => ({ id, process, state, settled_as: row })))}
      ON CONFLICT (id) DO UPDATE SET process = excluded.process, state = excluded.state, settled_as = excluded.settled_as`
  const remove = (ids: ReadonlyArray<string>) => sql`DELETE FROM open_requests WHERE ${sql.in("id", ids)}`

  return {
    write: (process, leaseEnd, text, closed) => {
      // `encodeEntries` wrote it. A wrong value would be refused by its column.
      const entries = JSON.parse(text) as ReadonlyArray<EncodedEntry>
      const all = Effect.gen(function* () {
        if (!isShared) yield* lease(process, leaseEnd)
        for (const part of inParts(entries)) yield* put(process, part)
        for (const part of inParts(closed)) yield* remove(part)
      })
      return query(sql.withTransaction(all))
    },
    end: (process) =>
      isShared ? Effect.void : Effect.asVoid(query(sql`DELETE FROM leases WHERE process = ${process}`)),
    orphans: (now, limit) =>
      query(
        sql<{ readonly id: string; readonly state: JournalEntry["state"]; readonly settled_as: string }>`
          SELECT id, state, settled_as FROM open_requests
          WHERE process NOT IN (SELECT process FROM leases WHERE ends_at > ${isShared ? serverNow(sql) : now}) ORDER BY id LIMIT ${limit}`,
      ).pipe(
        Effect.flatMap((rows) =>
          Effect.try({
            try: () => rows.map(({ id, state, settled_as }) => ({ id, state, row: decodeRow(settled_as) })),
            catch: unavailable,
          }),
        ),
      ),
    clear: (ids) => Effect.forEach(inParts(ids), (part) => query(remove(part)), { discard: true }),
  }
}
