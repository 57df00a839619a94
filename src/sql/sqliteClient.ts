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
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

const connectionOf = (db: Database): Connection => {
  // The values are those that our statements were written with; the client has lost their type.
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

/** Statements and transactions take turns. The client never waits for the database, which answers at once. */
export const makeClient = (db: Database): Effect.Effect<SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const connection = connectionOf(db)
    const turn = yield* Effect.makeSemaphore(1)
    return yield* SqlClient.make({
      acquirer: turn.withPermits(1)(Effect.succeed(connection)),
      transactionAcquirer: Effect.uninterruptibleMask((restore) =>
        restore(turn.take(1)).pipe(
          Effect.zipRight(Effect.scope),
          Effect.tap((scope) => Scope.addFinalizer(scope, turn.release(1))),
          Effect.as(connection),
        ),
      ),
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: [],
    })
  }).pipe(Effect.provide(Reactivity.layer))
