/** `Storage` over a database of SQLite in this process, without a thread. */
import type { Database } from "bun:sqlite"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Outage } from "../../services/storage/Outage.ts"
import { NoCopy, Storage } from "../../services/storage/Storage.ts"
import { runToEnd } from "../calls.ts"
import { storageOf } from "../repositories/repositories.ts"
import { openTables } from "./openTables.ts"
import { makeClient } from "./sqliteClient.ts"

/** Closes the database with its scope. */
export const layerOf = (open: () => Database): Layer.Layer<Storage> =>
  Layer.scoped(
    Storage,
    Effect.gen(function* () {
      const db = yield* Effect.acquireRelease(Effect.sync(open), (opened) => Effect.sync(() => opened.close()))
      const { installation, repositories } = yield* Effect.provideServiceEffect(
        openTables(db),
        SqlClient,
        makeClient(db),
      )
      const copy = new NoCopy({ instead: "is memory:, so it ends with the gateway and there is nothing to keep" })
      return {
        ...storageOf(installation, runToEnd(repositories)),
        kind: "memory" as const,
        copy,
        outage: new Outage({}),
      }
    }).pipe(Effect.orDie),
  )
