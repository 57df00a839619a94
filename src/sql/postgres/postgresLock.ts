/** An advisory lock of PostgreSQL, so that one process at a time migrates. The server frees it when the connection ends. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Pool, PoolClient } from "pg"

/** "hdgt" and a number: our lock among those of other programs in the same database. */
const migrations = [0x68646774, 2]

/** The server could not be asked. */
export class Unasked extends Data.TaggedError("Unasked")<{ readonly cause: unknown }> {}

const asked = <A>(ask: () => Promise<A>) => Effect.tryPromise({ try: ask, catch: (cause) => new Unasked({ cause }) })

/** Runs `effect` while no other process runs one of these; waits for its turn. */
export const whileMigrating = <A, E, R>(pool: Pool, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unasked, R> =>
  Effect.acquireUseRelease(
    asked(async () => {
      const client = await pool.connect()
      // The statements that use it fail. The pool listens for errors of idle connections only.
      client.on("error", () => {})
      return client
    }),
    (client: PoolClient) =>
      Effect.zipRight(
        asked(() => client.query("SELECT pg_advisory_lock($1, $2)", migrations)),
        effect,
      ),
    // Ends the session, and the lock with it.
    (client) => Effect.sync(() => client.release(true)),
  )
