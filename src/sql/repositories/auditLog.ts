/** The audit log in a database, in SQL that SQLite and PostgreSQL share. Its rules are in `domain/keys/audit.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  type AuditEntry,
  type AuditedChange,
  type AuditHead,
  type Author,
  auditHash,
  type BrokenChain,
  brokenEnd,
  emptyHead,
  follow,
} from "../../domain/keys/audit.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import { column, table, text } from "../tables/table.ts"

const entries = table<AuditEntry>({
  seq: column("seq", Schema.Number),
  at: column("at", Schema.Number),
  actor: text("actor"),
  action: text("action"),
  object: text("object"),
  changes: text("changes"),
  hash: text("hash"),
})

const heads = table<AuditHead>({ seq: column("seq", Schema.Number), hash: text("hash") })

/** The channel of PostgreSQL on which processes tell each other that something has changed. */
export const noticeChannel = "headgate"

/** What a change gave, and what there is to log; nothing when there was nothing to change. */
export interface Audited<A> {
  readonly result: A
  readonly logged?: AuditedChange
}

/**
 * Runs a change and logs it, in one transaction. The lock on the head comes first, so changes from several processes
 * take turns, and `change` may read what it is about to change.
 */
export const audited = (sql: SqlClient) => {
  // When the transaction has committed.
  const notified = sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`SELECT pg_notify(${noticeChannel}, '')`),
    orElse: () => Effect.void,
  })
  return <A>(
    { actor, at }: Author,
    change: Effect.Effect<Audited<A>, StorageUnavailable>,
  ): Effect.Effect<A, StorageUnavailable> =>
    query(
      sql.withTransaction(
        Effect.gen(function* () {
          const selection = sql.literal(heads.selection)
          const head = yield* firstRowOf(heads, sql`UPDATE audit_head SET seq = seq RETURNING ${selection}`)
          const { result, logged } = yield* change
          if (logged === undefined) return result
          if (head === undefined) return yield* Effect.dieMessage("the audit log has lost the record of its end")
          const entry = { seq: head.seq + 1, at, actor, ...logged }
          const hash = auditHash(head.hash, entry)
          yield* query(sql`INSERT INTO audit ${sql.insert(entries.columnsOf({ ...entry, hash }))}`)
          yield* query(sql`UPDATE audit_head SET seq = ${entry.seq}, hash = ${hash}`)
          yield* notified
          return result
        }),
      ),
    )
}

/** Rows that are read at once. */
const pageRows = 10_000

/** Recomputes the chain: its end, or the first row that does not follow. Run it in a transaction. */
export const verifyAudit = (sql: SqlClient): Effect.Effect<AuditHead | BrokenChain, StorageUnavailable> =>
  Effect.gen(function* () {
    let last = emptyHead
    for (;;) {
      const page = yield* rowsOf(
        entries,
        sql`SELECT ${sql.literal(entries.selection)} FROM audit
          WHERE seq > ${last.seq} ORDER BY seq LIMIT ${pageRows}`,
      )
      for (const entry of page) {
        const next = follow(last, entry)
        if ("why" in next) return next
        last = next
      }
      if (page.length < pageRows) break
    }
    const head = yield* firstRowOf(heads, sql`SELECT ${sql.literal(heads.selection)} FROM audit_head`)
    return brokenEnd(last, head) ?? last
  })
