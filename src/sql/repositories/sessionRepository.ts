/** Sessions in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AuditedChange, Author } from "../../domain/keys/audit.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import type { SessionRecord, SessionRepository } from "../../services/storage/sessions.ts"
import { firstRowOf, query } from "../tables/query.ts"
import { column, keyIdText, storedText, table, text } from "../tables/table.ts"
import { audited } from "./auditLog.ts"

const sessions = table<SessionRecord>({
  id: text("id"),
  secret: keyIdText("secret"),
  createdAt: column("created_at", Schema.Number),
  seenAt: column("seen_at", Schema.Number),
})

export const makeSessionRepository = (sql: SqlClient): SessionRepository => {
  const change = audited(sql)
  /** One transaction, with a row of the audit log where there is an author. */
  const logged = (
    author: Author | undefined,
    { action, object }: Omit<AuditedChange, "changes">,
    done: Effect.Effect<unknown, StorageUnavailable>,
  ): Effect.Effect<void, StorageUnavailable> =>
    author === undefined
      ? query(sql.withTransaction(Effect.asVoid(done)))
      : change(author, Effect.as(done, { result: undefined, logged: { action, object, changes: "{}" } }))

  return {
    insert: (session, most, author) => {
      const secret = storedText(session.secret)
      const others = query(sql`DELETE FROM sessions WHERE secret = ${secret} AND id NOT IN (
          SELECT id FROM sessions WHERE secret = ${secret} ORDER BY created_at DESC, id LIMIT ${most - 1}
        )`)
      const added = query(sql`INSERT INTO sessions ${sql.insert(sessions.columnsOf(session))}`)
      return logged(author, { action: "session.create", object: session.id }, Effect.zipRight(others, added))
    },
    find: (id) => firstRowOf(sessions, sql`SELECT ${sql.literal(sessions.selection)} FROM sessions WHERE id = ${id}`),
    seen: (id, at) =>
      Effect.asVoid(query(sql`UPDATE sessions SET seen_at = ${at} WHERE id = ${id} AND seen_at < ${at}`)),
    remove: (id, author) =>
      logged(author, { action: "session.delete", object: id }, query(sql`DELETE FROM sessions WHERE id = ${id}`)),
    prune: (seenAt, limit) =>
      Effect.map(
        query(
          sql`DELETE FROM sessions WHERE id IN (
              SELECT id FROM sessions WHERE seen_at <= ${seenAt} LIMIT ${limit}
            ) RETURNING id`,
        ),
        (removed) => removed.length,
      ),
  }
}
