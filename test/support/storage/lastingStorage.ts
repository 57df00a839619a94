/**
 * Storage in memory: one that ends with its gateway, and one that stays open when its gateway has stopped, so that a test can read
 * what was booked meanwhile.
 */
import { Database } from "bun:sqlite"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { layerOf } from "../../../src/sql/sqlite/inProcessStorage.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { migrate } from "../../../src/sql/tables/migrations.ts"

/** An empty database with its tables. Making them takes as long as the rest of a gateway, so they are made once. */
const emptyTables = Effect.runSync(
  Effect.cached(
    Effect.suspend(() => {
      const db = new Database(":memory:")
      return Effect.orDie(
        Effect.map(Effect.provideServiceEffect(migrate, SqlClient, makeClient(db)), () => db.serialize()),
      )
    }),
  ),
)

/** The same as the gateway's own storage in memory, which makes its tables anew: it ends with its scope. */
export const memoryStorage = Layer.unwrapEffect(
  Effect.map(emptyTables, (image) => layerOf(() => Database.deserialize(image))),
)

export const lastingStorage = Layer.unwrapEffect(
  Effect.gen(function* () {
    const neverClosed = yield* Scope.make()
    return Layer.succeedContext(yield* Layer.buildWithScope(memoryStorage, neverClosed))
  }),
)
