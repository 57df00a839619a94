/** Keys in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { KeyId } from "../../domain/ids.ts"
import { changesBetween } from "../../domain/keys/audit.ts"
import { factsOf, type KeyMember, type KeyRecord, keyMembers, kindOf } from "../../domain/keys/key.ts"
import type { StorageUnavailable } from "../../services/storage/ledger.ts"
import type { FoundKey, KeyRepository } from "../../services/storage/Storage.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import { type Column, originalText, storedColumn, storedText, table } from "../tables/table.ts"

import { type Audited, audited } from "./auditLog.ts"

const columnOf = <M extends KeyMember>(member: M): Column<KeyRecord[M]> => {
  const { stored, value } = kindOf(member)
  const { wire, column = wire } = factsOf(member)
  return storedColumn(column, stored, value)
}

// A column for each row of the table. Object.fromEntries loses that type.
const keys = table<KeyRecord>(
  Object.fromEntries(keyMembers.map((member) => [member, columnOf(member)])) as {
    readonly [M in KeyMember]: Column<KeyRecord[M]>
  },
)

interface SecretRow {
  readonly key: string
  readonly endsAt: number | null
}

const unchanged: Effect.Effect<Audited<boolean>> = Effect.succeed({ result: false })

export const makeKeyRepository = (sql: SqlClient): KeyRepository => {
  const selection = sql.literal(keys.selection)
  const find = (id: KeyId) => firstRowOf(keys, sql`SELECT ${selection} FROM keys WHERE id = ${storedText(id)}`)
  const change = audited(sql)
  const countManagement = Effect.map(
    query(sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM keys WHERE kind = 'management'`),
    ([row]) => row?.n ?? 0,
  )
  const add = (key: KeyRecord): Effect.Effect<Audited<boolean>, StorageUnavailable> =>
    Effect.gen(function* () {
      const after = keys.columnsOf(key)
      const added = yield* query(sql`INSERT INTO keys ${sql.insert(after)} ON CONFLICT (id) DO NOTHING RETURNING id`)
      if (added.length === 0) return { result: false }
      const changes = changesBetween({}, after)
      return { result: true, logged: { action: "key.create", object: key.id, changes } }
    })
  const findBySecret = (secret: KeyId): Effect.Effect<FoundKey | undefined, StorageUnavailable> =>
    Effect.gen(function* () {
      const [row] = yield* query(
        sql<SecretRow>`SELECT key_id AS "key", ends_at AS "endsAt" FROM key_secrets WHERE id = ${storedText(secret)}`,
      )
      const key = yield* find(row === undefined ? secret : KeyId.make(originalText(row.key)))
      return key === undefined || row?.endsAt == null ? key : { ...key, secretEndsAt: row.endsAt }
    })
  return {
    find: findBySecret,
    list: ({ offset, limit, includeDisabled }) => {
      const enabled = includeDisabled ? sql.literal("") : sql`AND disabled = ${false}`
      return rowsOf(
        keys,
        sql`SELECT ${selection} FROM keys WHERE kind = 'ordinary' ${enabled}
          ORDER BY created_at DESC, seq DESC LIMIT ${limit} OFFSET ${offset}`,
      )
    },
    countManagement: () => countManagement,
    insert: (key, author) => Effect.asVoid(change(author, add(key))),
    insertFirst: (key, author) =>
      change(
        author,
        Effect.flatMap(countManagement, (count) => (count === 0 ? add(key) : unchanged)),
      ),
    update: (id, patch, author) =>
      change(
        author,
        Effect.gen(function* () {
          const columns = keys.columnsOf(patch)
          const before = yield* find(id)
          if (before === undefined || Object.keys(columns).length === 0) return { result: before }
          const after = yield* firstRowOf(
            keys,
            sql`UPDATE keys SET ${sql.update(columns)} WHERE id = ${storedText(id)} RETURNING ${selection}`,
          )
          if (after === undefined) return { result: after }
          const changes = changesBetween(keys.columnsOf(before), keys.columnsOf(after))
          return { result: after, logged: { action: "key.update", object: id, changes } }
        }),
      ),
    rotate: (id, { id: secret, label, othersEndAt }, author) =>
      change(
        author,
        Effect.gen(function* () {
          const before = yield* find(id)
          if (before === undefined) return { result: undefined }
          const of = storedText(id)
          // The first secret has a row from now on, and keeps it: without one it would be accepted.
          yield* query(sql`INSERT INTO key_secrets ${sql.insert({ id: of, key_id: of, ends_at: othersEndAt })}
            ON CONFLICT (id) DO NOTHING`)
          yield* query(sql`UPDATE key_secrets SET ends_at = ${othersEndAt}
            WHERE key_id = ${of} AND (ends_at IS NULL OR ends_at > ${othersEndAt})`)
          yield* query(sql`DELETE FROM key_secrets WHERE key_id = ${of} AND id <> ${of} AND ends_at <= ${author.at}`)
          yield* query(sql`INSERT INTO key_secrets ${sql.insert({ id: storedText(secret), key_id: of })}`)
          const after = yield* firstRowOf(
            keys,
            sql`UPDATE keys SET ${sql.update(keys.columnsOf({ label, updatedAt: author.at }))}
              WHERE id = ${of} RETURNING ${selection}`,
          )
          if (after === undefined) return { result: undefined }
          const changes = changesBetween(keys.columnsOf(before), {
            ...keys.columnsOf(after),
            others_end_at: othersEndAt,
          })
          return { result: after, logged: { action: "key.rotate", object: id, changes } }
        }),
      ),
    previousEnds: (ids) =>
      ids.length === 0
        ? Effect.succeed(new Map())
        : Effect.map(
            query(sql<{ readonly key: string; readonly endsAt: number | null }>`
              SELECT key_id AS "key", MAX(ends_at) AS "endsAt" FROM key_secrets
                WHERE ${sql.in("key_id", ids.map(storedText))} GROUP BY key_id`),
            (rows) =>
              new Map(
                rows.flatMap(({ key, endsAt }) =>
                  endsAt === null ? [] : [[KeyId.make(originalText(key)), endsAt] as const],
                ),
              ),
          ),
    remove: (id, author) =>
      change(
        author,
        Effect.gen(function* () {
          yield* query(sql`DELETE FROM key_secrets WHERE key_id = ${storedText(id)}`)
          const before = yield* firstRowOf(
            keys,
            sql`DELETE FROM keys WHERE id = ${storedText(id)} RETURNING ${selection}`,
          )
          if (before === undefined) return { result: false }
          const changes = changesBetween(keys.columnsOf(before), {})
          return { result: true, logged: { action: "key.delete", object: id, changes } }
        }),
      ),
  }
}
