/** Requests under an Idempotency-Key in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { BytesOfKey, IdempotencyRecord, IdempotencyRepository } from "../../services/storage/Storage.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import { column, keyIdText, optionalJson, optionalText, storedText, table, text } from "../tables/table.ts"
import { inParts } from "./journalRepository.ts"

const records = table<IdempotencyRecord>({
  id: text("id"),
  bodyHash: text("body_hash"),
  requestId: text("request_id"),
  leaseEnd: column("lease_end", Schema.Number),
  expiresAt: column("expires_at", Schema.Number),
  generationId: optionalText("generation_id"),
  headers: optionalJson("headers", Schema.Record({ key: Schema.String, value: Schema.String })),
  body: optionalText("body"),
})

const keptBytes = table<BytesOfKey>({ key: keyIdText("key_id"), bytes: column("bytes", Schema.Number) })

/** Who opens a SQLite file owns it, so that the processes which had claims are gone. */
export const endAllClaims = (sql: SqlClient) => sql`UPDATE idempotency_keys SET lease_end = 0 WHERE lease_end > 0`

export const makeIdempotencyRepository = (sql: SqlClient): IdempotencyRepository => {
  const insert = (record: IdempotencyRecord, now: number) =>
    query(
      sql`INSERT INTO idempotency_keys ${sql.insert(records.columnsOf(record))}
        ON CONFLICT (id) DO UPDATE SET
          body_hash = excluded.body_hash, request_id = excluded.request_id, lease_end = excluded.lease_end,
          expires_at = excluded.expires_at, generation_id = excluded.generation_id, headers = excluded.headers,
          body = excluded.body
        WHERE idempotency_keys.expires_at <= ${now}
        RETURNING id`,
    )
  const find = (id: string) =>
    firstRowOf(records, sql`SELECT ${sql.literal(records.selection)} FROM idempotency_keys WHERE id = ${id}`)

  // Inserts the record and returns it, or locks the one that is there and returns that: nothing can be released in between.
  const insertOrLock = (record: IdempotencyRecord) =>
    firstRowOf(
      records,
      sql`INSERT INTO idempotency_keys ${sql.insert(records.columnsOf(record))}
        ON CONFLICT (id) DO UPDATE SET id = excluded.id
        RETURNING ${sql.literal(records.selection)}`,
    )

  return {
    claim: (record, now) =>
      Effect.gen(function* () {
        const [claimed] = yield* insert(record, now)
        if (claimed !== undefined) return undefined
        const found = yield* find(record.id)
        if (found !== undefined) return found
        // Another process released the record between the two statements. This one always writes, so it is not the first.
        const present = yield* insertOrLock(record)
        if (present === undefined) return yield* Effect.dieMessage("an Idempotency-Key is neither there nor inserted")
        return present.requestId === record.requestId ? undefined : present
      }),
    renew: (ids, leaseEnd) =>
      Effect.forEach(
        inParts(ids),
        (part) =>
          query(
            sql`UPDATE idempotency_keys SET lease_end = ${leaseEnd}
              WHERE ${sql.in("id", part)} AND generation_id IS NULL`,
          ),
        { discard: true },
      ),
    keep: ({ id, requestId, ...outcome }, bytes) => {
      // Counts once: if a commit succeeded but seemed to fail, the retry must not count its bytes again.
      const keeping = sql`UPDATE idempotency_keys SET ${sql.update(records.columnsOf({ ...outcome, leaseEnd: 0 }))}
        WHERE id = ${id} AND request_id = ${requestId} AND generation_id IS NULL RETURNING id`
      if (bytes === undefined) return Effect.asVoid(query(keeping))
      const counting = sql`INSERT INTO idempotency_bytes (key_id, expires_at, bytes)
        VALUES (${storedText(bytes.key)}, ${bytes.until}, ${bytes.bytes})
        ON CONFLICT (key_id, expires_at) DO UPDATE SET bytes = idempotency_bytes.bytes + excluded.bytes`
      const both = Effect.gen(function* () {
        if ((yield* keeping).length > 0) yield* counting
      })
      return query(sql.withTransaction(both))
    },
    keptBytes: (now) =>
      rowsOf(
        keptBytes,
        sql`SELECT key_id AS "key", CAST(SUM(bytes) AS BIGINT) AS bytes FROM idempotency_bytes WHERE expires_at > ${now}
          GROUP BY key_id`,
      ),
    release: ({ id, requestId }) =>
      Effect.asVoid(query(sql`DELETE FROM idempotency_keys WHERE id = ${id} AND request_id = ${requestId}`)),
    prune: (now, limit) =>
      Effect.zipRight(
        query(sql`DELETE FROM idempotency_bytes WHERE expires_at <= ${now}`),
        Effect.map(
          query(
            sql`DELETE FROM idempotency_keys WHERE id IN (
                SELECT id FROM idempotency_keys WHERE expires_at <= ${now} LIMIT ${limit}
              ) RETURNING id`,
          ),
          (removed) => removed.length,
        ),
      ),
  }
}
