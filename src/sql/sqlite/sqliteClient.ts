/**
 * @effect/sql's client over a `bun:sqlite` database that we opened ourselves. The ledger's prepared statements have to
 * run on the same connection, which is the only one that a database in memory has; @effect/sql-sqlite-bun opens its own
 * and does not share it.
 */
import type { Database, Statement as DbStatement, SQLQueryBindings } from "bun:sqlite"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const connectionOf = (db: Database): Connection => {
  // Our statements pass only such values. The client's type does not say so.
  const bindings = (params: ReadonlyArray<unknown>) => params as ReadonlyArray<SQLQueryBindings>
  const run = <A>(sql: string, ask: (statement: DbStatement<unknown, Array<SQLQueryBindings>>) => A) =>
    Effect.try({
      try: () => ask(db.query<unknown, Array<SQLQueryBindings>>(sql)),
      catch: (cause) => new SqlError({ cause, message: "Failed to execute statement" }),
    })
  const execute = (sql: string, params: ReadonlyArray<unknown>) =>
    run(sql, (statement) => statement.all(...bindings(params)))
  return {
    execute,
    executeRaw: execute,
    executeUnprepared: execute,
    executeValues: (sql, params) => run(sql, (statement) => statement.values(...bindings(params))),
    executeStream: () => Stream.dieMessage("rows of SQLite are not streamed"),
  }
}

/**
 * SQLite is synchronous, so each call can run to its end before the next one starts. Callers must do so, because the
 * client does not keep one caller's statements out of another's transaction.
 */
export const makeClient = (db: Database): Effect.Effect<SqlClient.SqlClient> =>
  Effect.provide(
    SqlClient.make({
      acquirer: Effect.succeed(connectionOf(db)),
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: [],
    }),
    Reactivity.layer,
  )
