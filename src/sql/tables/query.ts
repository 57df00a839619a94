/** Runs statements for the repositories. */
import { type SqlClient, TransactionConnection } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../failure.ts"
import type { Table } from "./table.ts"

/**
 * Runs without spans, which are not used here and cost more than most statements. A statement that the session
 * refuses is tried once more on a new session. Within a transaction it fails, and the query around the transaction
 * retries the whole transaction.
 */
export const query = <A>(
  statement: Effect.Effect<A, SqlError | StorageUnavailable>,
): Effect.Effect<A, StorageUnavailable> => {
  const failing = withFailingEnds(statement)
  const orAgain = Effect.catchAll(failing, (error) => {
    const failure = unavailable(error)
    if (failure.refusedBy !== "session") return Effect.fail(failure)
    return Effect.flatMap(Effect.serviceOption(TransactionConnection), (transaction) =>
      Option.isSome(transaction) ? Effect.fail(failure) : Effect.mapError(failing, unavailable),
    )
  })
  return Effect.withTracerEnabled(orAgain, false)
}

/** For @effect/sql a COMMIT or ROLLBACK that fails is a defect. It is a failure like that of any statement, such as a lost connection. */
const withFailingEnds = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
  Effect.catchSomeDefect(statement, (defect) =>
    defect instanceof SqlError ? Option.some(Effect.fail(defect)) : Option.none(),
  )

/** The rows of a statement that selects `table.selection`. A row that does not decode is a failure of the database. */
export const rowsOf = <A>(
  table: Table<A>,
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>,
): Effect.Effect<ReadonlyArray<A>, StorageUnavailable> =>
  Effect.flatMap(query(statement), (rows) => Effect.mapError(table.decode(rows), unavailable))

export const firstRowOf = <A>(
  table: Table<A>,
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>,
): Effect.Effect<A | undefined, StorageUnavailable> => Effect.map(rowsOf(table, statement), ([row]) => row)

/** Reads of one moment. SQLite runs a method of a repository to its end before anything else. */
export const atOnce =
  (sql: SqlClient) =>
  <A>(reads: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    sql.onDialectOrElse({
      pg: () =>
        sql.withTransaction(Effect.zipRight(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`, reads)),
      orElse: () => reads,
    })
