/**
 * What other processes did, over PostgreSQL's LISTEN and NOTIFY. Notices can be lost with their connection, so
 * changes of keys are also read every two seconds: the audit log numbers them in the order of their commits, since
 * each change locks its head. The reads also detect a lost connection, and a server that no longer takes writes.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Pool, PoolClient } from "pg"
import { KeyId } from "../../domain/ids.ts"
import type { BudgetWindow } from "../../domain/money/Slice.ts"
import { backoff } from "../../domain/structures/backoff.ts"
import type {
  LiveQuestion,
  RateWindow,
  SharedEvents,
  SharedRepositories,
} from "../../services/storage/SharedRepositories.ts"
import { noticeChannel } from "../repositories/auditLog.ts"
import { originalText } from "../tables/table.ts"

const readEveryMs = 2000
/** Changes of keys are promised within five seconds, so the wait stays below that. */
const reconnecting = { firstMs: 500, mostMs: 4000 }

const Wanted = Schema.parseJson(
  Schema.Union(
    Schema.Struct({
      by: Schema.String,
      key: KeyId,
      window: Schema.Literal("total", "daily", "weekly", "monthly"),
      start: Schema.Number,
    }),
    Schema.Struct({ by: Schema.String, key: KeyId, scope: Schema.Literal("key", "free") }),
    Schema.Struct({ answered: Schema.String }),
  ),
)

const readWanted = Schema.decodeUnknownEither(Wanted)

/** A statement: `SliceRepository.want`. */
export const notifyWanted = (sql: SqlClient, by: string, budget: BudgetWindow) =>
  sql`SELECT pg_notify(${noticeChannel}, ${JSON.stringify({ by, ...budget })})`

/** A statement: `RateShareRepository.want`. */
export const notifyPermitsWanted = (sql: SqlClient, by: string, window: RateWindow) =>
  sql`SELECT pg_notify(${noticeChannel}, ${JSON.stringify({ by, ...window })})`

/** A statement: `LiveRepository.ask` of a process. The question is read from its table. */
export const notifyAsked = (sql: SqlClient) => sql`SELECT pg_notify(${noticeChannel}, '')`

/** A statement: `LiveRepository.answer` to a question. */
export const notifyAnswered = (sql: SqlClient, question: string) =>
  sql`SELECT pg_notify(${noticeChannel}, ${JSON.stringify({ answered: question })})`

interface Change {
  readonly seq: number
  readonly action: string
  readonly object: string
  readonly changes: string
}

const changesAfter = `SELECT seq, action, object, changes
  FROM audit WHERE seq > $1 AND action <> 'key.create' ORDER BY seq`

/** How long a question is open, milliseconds. */
export const openMs = 10_000

const questions = `SELECT id, stop FROM live_questions
  WHERE asked_at > EXTRACT(EPOCH FROM clock_timestamp()) * 1000 - ${openMs} ORDER BY asked_at LIMIT 100`

/** Fails if the session may not write; changes no row. A demoted server answers ordinary reads and sends no notices. */
export const writeNothing = "UPDATE leases SET ends_at = ends_at WHERE false"

const readChanges = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ disabled: Schema.optional(Schema.Tuple(Schema.Unknown, Schema.Unknown)) })),
)

const isRevocation = ({ action, changes }: Change): boolean =>
  action === "key.delete" || Option.getOrUndefined(readChanges(changes))?.disabled?.[1] === true

/** Listens until the scope closes. The listener of a process hears of its own changes too. */
export const makeEvents = (pool: Pool): Effect.Effect<SharedRepositories["on"], unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<SharedEvents>()
    const head = yield* Effect.tryPromise(() => pool.query<{ seq: number }>("SELECT seq FROM audit_head"))
    let last = head.rows[0]?.seq ?? 0

    const read = async (client: PoolClient): Promise<void> => {
      const { rows } = await client.query<Change>(changesAfter, [last])
      for (const change of rows) {
        last = change.seq
        const key = KeyId.make(originalText(change.object))
        for (const listener of listeners) listener.keyChanged?.(key, isRevocation(change))
      }
      const asked = await client.query<LiveQuestion>(questions)
      for (const question of asked.rows) for (const listener of listeners) listener.asked?.(question)
    }
    /** A notice came since the last read began. */
    let hasNews = false
    let wake = () => {}
    const hear = (payload = ""): void => {
      const wanted = payload === "" ? undefined : Either.getOrUndefined(readWanted(payload))
      if (wanted === undefined) {
        hasNews = true
        wake()
      } else if ("answered" in wanted) for (const listener of listeners) listener.answered?.(wanted.answered)
      else if ("scope" in wanted) for (const listener of listeners) listener.permitsWanted?.(wanted, wanted.by)
      else for (const listener of listeners) listener.wanted?.(wanted, wanted.by)
    }
    const news = Effect.async<void>((resume) => {
      wake = () => resume(Effect.void)
      if (hasNews) wake()
    })
    /** Whether the connection has worked. */
    let hasRead = false
    /** Every two seconds, and at each notice. */
    const readAll = (client: PoolClient) =>
      Effect.tryPromise(async () => {
        hasNews = false
        await read(client)
        await client.query(writeNothing)
        hasRead = true
      }).pipe(Effect.zipRight(Effect.raceFirst(news, Effect.sleep(readEveryMs))), Effect.forever)
    /** Until the connection ends. */
    const heard = (client: PoolClient) =>
      Effect.async<never, unknown>((resume) => {
        client.on("error", (error) => resume(Effect.fail(error)))
        client.on("end", () => resume(Effect.fail("the connection has ended")))
        client.on("notification", ({ payload }) => hear(payload))
      })
    const session = Effect.acquireUseRelease(
      Effect.tryPromise(() => {
        hasRead = false
        return pool.connect()
      }),
      (client) => {
        const listen = Effect.tryPromise(() => client.query(`LISTEN ${noticeChannel}`))
        return Effect.raceFirst(heard(client), Effect.zipRight(listen, readAll(client)))
      },
      (client) => Effect.sync(() => client.release(true)),
    )
    const ended = Effect.map(Effect.ignore(session), () => hasRead)
    yield* Effect.forkScoped(Effect.repeat(ended, backoff(reconnecting)))

    return (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener)),
      )
  })
