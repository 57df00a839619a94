/**
 * Whether a schema of PostgreSQL has the triggers that keep ledger and audit log append-only, and no other triggers or rules.
 * Tables, indexes and views are not compared: administrators add indexes, and a view acts only when it is read.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { appendOnlyInPostgres } from "../tables/dialects.ts"
import { schema } from "./postgresPool.ts"

/** A trigger, as `ledger_keeps_rows on ledger`, and what its function does. */
interface Trigger {
  readonly title: string
  readonly body: string
  readonly isOn: boolean
}

const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** From the statements that make them: the text of each function by the title of its trigger. */
const expectedTriggers = (): ReadonlyMap<string, string> => {
  const bodies = new Map<string, string>()
  const triggers = new Map<string, string>()
  for (const statement of appendOnlyInPostgres) {
    const [, made, body] = /^CREATE FUNCTION (\w+)\(\).*\$\$(.*)\$\$$/s.exec(statement) ?? []
    if (made !== undefined && body !== undefined) bodies.set(made, plain(body))
    const [, name, table] = /^CREATE TRIGGER (\w+) .*? ON (\w+)\s/s.exec(statement) ?? []
    const [, run = ""] = /EXECUTE FUNCTION (\w+)\(\)/.exec(statement) ?? []
    if (name !== undefined) triggers.set(`${name} on ${table}`, bodies.get(run) ?? "")
  }
  return triggers
}

/** The first difference in words; `undefined`: there is none. */
export const triggerFault = (sql: SqlClient): Effect.Effect<string | undefined, SqlError> =>
  Effect.gen(function* () {
    const triggers = yield* sql<Trigger>`
      SELECT t.tgname || ' on ' || c.relname AS title, p.prosrc AS body, t.tgenabled IN ('O', 'A') AS "isOn"
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_proc p ON p.oid = t.tgfoid
        WHERE n.nspname = ${schema} AND NOT t.tgisinternal ORDER BY 1`
    const expected = new Map(expectedTriggers())
    for (const { title, body, isOn } of triggers) {
      const known = expected.get(title)
      if (known === undefined) return `has a trigger that is not Headgate's: ${title}`
      if (known !== plain(body)) return `has a trigger whose function was changed: ${title}`
      if (!isOn) return `has a trigger that was switched off: ${title}`
      expected.delete(title)
    }
    const [missing] = expected.keys()
    if (missing !== undefined) return `lacks a trigger that keeps rows from being changed: ${missing}`
    const [rule] = yield* sql<{ readonly title: string }>`
      SELECT rulename || ' on ' || tablename AS title FROM pg_rules WHERE schemaname = ${schema} LIMIT 1`
    return rule && `has a rule that is not Headgate's: ${rule.title}`
  })
