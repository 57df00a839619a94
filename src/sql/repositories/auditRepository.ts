/** Rows of the audit log for changes that are not of the database. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { AuditRepository } from "../../services/storage/Storage.ts"
import { audited } from "./auditLog.ts"

export const makeAuditRepository = (sql: SqlClient): AuditRepository => {
  const change = audited(sql)
  return { record: (logged, author) => change(author, Effect.succeed({ result: undefined, logged })) }
}
