/** Makes repositories of an open SQLite database: migrates its tables and reads or creates the installation's id. */
import type { Database } from "bun:sqlite"
import type { MigrationError } from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import type { Hindrance } from "../../services/storage/Outage.ts"
import { isDiskFull, unavailable } from "../failure.ts"
import { endAllClaims } from "../repositories/idempotencyRepository.ts"
import { endAllLeases } from "../repositories/journalRepository.ts"
import { makeRepositories, type SqlRepositories } from "../repositories/repositories.ts"
import { installationId } from "../tables/installation.ts"
import { migrate } from "../tables/migrations.ts"
import type { Ballast } from "./Ballast.ts"
import { makeAppend } from "./sqliteAppend.ts"
import { WriteLock } from "./writeLock.ts"

export interface OpenTables {
  readonly installation: string
  /** Call them one at a time, each to its end before the next: see sqliteClient.ts. */
  readonly repositories: SqlRepositories
}

/**
 * Writes the installation's id if there is none, so it fails when the file cannot be written. `ballast`, and `watch`, which makes what
 * `watchFile` returns: absent in memory.
 */
export const openTables = (
  db: Database,
  ballast?: Ballast,
  watch: () => () => string | undefined = () => () => undefined,
): Effect.Effect<OpenTables, SqlError | MigrationError, SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe("PRAGMA foreign_keys = ON")
    yield* migrate
    yield* endAllLeases(sql)
    yield* endAllClaims(sql)
    const installation = yield* installationId
    const lock = new WriteLock(db)
    const commit = makeAppend(db, ballast)
    const fileFault = watch()
    const repositories = makeRepositories(sql, installation, {
      // Commits when it is called, and returns a finished effect, so that the thread of the file needs no runtime for it.
      append: (rows) => {
        try {
          commit(rows)
          lock.succeeded()
          return Exit.void
        } catch (error) {
          lock.failed(error)
          return Exit.fail(unavailable(error))
        }
      },
      takesRequests: () =>
        Effect.sync((): true | Hindrance => {
          const fault = fileFault()
          if (fault !== undefined) return { kind: "gone", cause: fault }
          if (ballast?.isThere() === false) return { kind: "full", cause: "the space reserved beside it is in use" }
          return lock.hindrance() ?? true
        }),
    })
    const { put } = repositories.prices
    // Rows need their prices, so these get the reserved space too.
    const putWithBallast: typeof put = (versions) =>
      Effect.catchIf(
        put(versions),
        (failure) => isDiskFull(failure) && ballast?.release() === true,
        () => put(versions),
      )
    const { addUp, prune } = repositories.analytics
    // Sums can wait: what is left of the disk is for the requests in flight.
    const analytics: AnalyticsRepository = {
      ...repositories.analytics,
      addUp: (now) => (ballast?.isThere() === false ? Effect.succeed(false) : addUp(now)),
      prune: (now, limit) => (ballast?.isThere() === false ? Effect.succeed(false) : prune(now, limit)),
    }
    const prices = { ...repositories.prices, put: putWithBallast }
    return { installation, repositories: { ...repositories, prices, analytics } }
  })
