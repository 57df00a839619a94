/**
 * One gateway per database: a running gateway holds an advisory lock on a connection of its own. Two gateways on one
 * database would each keep a key's spend in memory and could together pass its limit. The server frees the lock when the
 * connection ends, however the process ends.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Pool, PoolClient } from "pg"
import type { Patience } from "./postgresPool.ts"

/** "hdgt": our locks among those of other programs in the same database. */
const lockClass = 0x68646774

const locks = { gateway: 1, migrations: 2 } as const

/** Another session holds the lock. `by`: the name of its session. */
export class Taken extends Data.TaggedError("Taken")<{ readonly by: string }> {}

/** The server could not be asked. */
export class Unasked extends Data.TaggedError("Unasked")<{ readonly cause: unknown }> {}

/** The connections of this process, and the name of their sessions. */
export interface Session {
  readonly pool: Pool
  readonly name: string
}

interface Held {
  readonly client: PoolClient
  /** Resolves when the connection has ended, and the lock with it. */
  readonly lost: Promise<void>
}

interface Holder {
  readonly pid: number
  readonly application_name: string | null
}

const holderQuery = `SELECT pid, application_name FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND granted AND classid = $1 AND objid = $2 AND objsubid = 2
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const tryLock = async (pool: Pool, lock: keyof typeof locks, name: string): Promise<Held | Taken> => {
  const client = await pool.connect()
  const lost = new Promise<void>((resolve) => {
    client.on("error", () => resolve())
    client.on("end", () => resolve())
  })
  try {
    const key = [lockClass, locks[lock]]
    const { rows } = await client.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1, $2) AS held", key)
    if (rows[0]?.held === true) return { client, lost }
    const { rows: holders } = await client.query<Holder>(holderQuery, key)
    const holder = holders[0]
    // Our own, from a connection that broke and that the server has not found dead yet.
    if (holder?.application_name === name) await client.query("SELECT pg_terminate_backend($1)", [holder.pid])
    client.release(true)
    return new Taken({ by: holder?.application_name ?? "another session" })
  } catch (error) {
    client.release(true)
    throw error
  }
}

const everyTenth = Schedule.spaced("100 millis")

/** Takes the lock, or asks again as `schedule` says. `onHeld` is called before an interruption can come between. */
const acquire = (
  { pool, name }: Session,
  lock: keyof typeof locks,
  schedule: Schedule.Schedule<unknown>,
  onHeld: (held: Held) => void,
): Effect.Effect<void, Taken | Unasked> =>
  Effect.tryPromise({ try: () => tryLock(pool, lock, name), catch: (cause) => new Unasked({ cause }) }).pipe(
    Effect.flatMap((result) => (result instanceof Taken ? Effect.fail(result) : Effect.sync(() => onHeld(result)))),
    Effect.uninterruptible,
    Effect.retry({ while: ({ _tag }) => _tag === "Taken", schedule }),
  )

/** What a process holds of one lock. */
class Holding {
  held: Held | undefined

  /** Ends the session, and the lock with it. */
  readonly release = Effect.sync(() => {
    this.held?.client.release(true)
    this.held = undefined
  })
}

/** Runs `effect` while no other process runs one of these; waits for its turn. */
export const whileMigrating = <A, E, R>(
  session: Session,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | Taken | Unasked, R> =>
  Effect.suspend(() => {
    const holding = new Holding()
    return acquire(session, "migrations", everyTenth, (held) => {
      holding.held = held
    }).pipe(Effect.zipRight(effect), Effect.ensuring(holding.release))
  })

/**
 * Holds the database until the scope closes. Fails when another gateway holds it for longer than `lockMs`. Takes the lock
 * again after a lost connection; when another gateway was faster, `onTaken` runs, once.
 */
export const holdDatabase = (
  session: Session,
  { lockMs, silenceMs }: Pick<Patience, "lockMs" | "silenceMs">,
  onTaken: (by: string) => Effect.Effect<void>,
): Effect.Effect<void, Taken | Unasked, Scope.Scope> =>
  Effect.gen(function* () {
    const holding = new Holding()
    const hold = acquire(session, "gateway", Schedule.upTo(everyTenth, lockMs), (held) => {
      holding.held = held
    })
    yield* Effect.addFinalizer(() => holding.release)
    yield* hold

    const lost = Effect.promise(() => holding.held?.lost ?? Promise.resolve())
    // A quiet connection counts as dead, here and at firewalls on the way.
    const ping = Effect.ignore(Effect.tryPromise(async () => holding.held?.client.query("SELECT 1")))
    const again = Effect.gen(function* () {
      yield* Effect.raceFirst(lost, Effect.forever(Effect.delay(ping, silenceMs / 3)))
      yield* holding.release
      yield* Effect.logWarning("the connection that holds the database has ended")
      yield* Effect.retry(hold, { while: ({ _tag }) => _tag === "Unasked", schedule: everyTenth })
      yield* Effect.logInfo("the database is held again")
    })
    yield* Effect.forkScoped(
      Effect.forever(again).pipe(
        Effect.catchTags({ Taken: ({ by }) => onTaken(by), Unasked: ({ cause }) => Effect.die(cause) }),
      ),
    )
  })
