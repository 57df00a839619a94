/** How a step of the tables is written: statements in the words of either database. */
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { type Dialect, postgres, sqlite } from "./dialects.ts"

/** Runs the statements one after another. */
export const inOrder = (statementsIn: (dialect: Dialect) => ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.forEach(
      statementsIn(sql.onDialectOrElse({ pg: () => postgres, orElse: () => sqlite })),
      (statement) => sql.unsafe(statement),
      { discard: true },
    ),
  )
