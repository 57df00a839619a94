/** A statement's way from the client to a repository's answer. */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { StorageUnavailable } from "../services/ledger.ts"
import { unavailable } from "./failure.ts"
import type { Table } from "./table.ts"

/** Spans are off: nobody looks at them here, and they cost more than most statements. */
export const query = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, StorageUnavailable> =>
  Effect.withTracerEnabled(Effect.mapError(statement, unavailable), false)

/** The rows of a statement that asks for `table.selection`. A row that does not decode is the database's failure. */
export const rowsOf = <A>(
  table: Table<A>,
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>,
): Effect.Effect<ReadonlyArray<A>, StorageUnavailable> =>
  Effect.flatMap(query(statement), (rows) => Effect.mapError(table.decode(rows), unavailable))

export const firstRowOf = <A>(
  table: Table<A>,
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>,
): Effect.Effect<A | undefined, StorageUnavailable> => Effect.map(rowsOf(table, statement), ([row]) => row)
