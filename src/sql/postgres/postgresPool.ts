/**
 * Connections to PostgreSQL: a pool of `pg`, and @effect/sql's client over it. The pool is ours, since the ledger's append
 * uses its connections directly.
 */
import { Socket } from "node:net"
import { hostname } from "node:os"
import * as Reactivity from "@effect/experimental/Reactivity"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { fromPool } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { driverUrl } from "../../domain/json/postgresUrl.ts"
import { endsSession, readOnly } from "../failure.ts"
import type { PostgresOpening } from "../opening.ts"
import { expectLastingSessions } from "./postgresPooler.ts"

export type Connecting = Omit<PostgresOpening, "spoolFolder">

/** Milliseconds. */
export interface Patience {
  /** For a connection, or for a free one of the pool. */
  readonly connectMs: number
  /** For one statement; 0: any. The server ends it. */
  readonly statementMs: number
  /** For a byte from the server, which is gone then; 0: any. Longer than `statementMs`. */
  readonly silenceMs: number
  /** For a batch of rows whose connection breaks, and for a server that restarts. */
  readonly appendMs: number
}

/** The schema that holds all our tables, so that other programs' tables can be in the same database. */
export const schema = "headgate"

/** Names the sessions of one process: `pg_stat_activity` shows it. */
export const makeSessionName = (): string =>
  `headgate ${crypto.randomUUID().slice(0, 8)} pid ${process.pid} on ${hostname()}`.slice(0, 63)

const bigintOid = 20

/** 64-bit integers as numbers. Money never comes as one: it is cast to text (table.ts). */
const types: Pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === bigintOid ? Number : Pg.types.getTypeParser(oid, format)),
}

/** The server's keepalive finds out within half a minute that our machine is gone. */
const sessionSettings = ({ durability }: Connecting, { statementMs }: Patience): string =>
  [
    `SET search_path TO ${schema}`,
    `SET statement_timeout TO ${statementMs}`,
    `SET synchronous_commit TO ${durability === "full" ? "on" : "off"}`,
    "SET tcp_keepalives_idle TO 10",
    "SET tcp_keepalives_interval TO 5",
    "SET tcp_keepalives_count TO 3",
  ].join("; ")

// A server that vanishes without closing the connection would be waited for until TCP gives up, a quarter of an hour.
const endSilence = (client: Pg.ClientBase, silenceMs: number): void => {
  if (silenceMs === 0 || !(client instanceof Pg.Client)) return
  const { stream } = client.connection
  if (stream instanceof Socket)
    stream.setTimeout(silenceMs, () => stream.destroy(new Error(`the server was silent for ${silenceMs} ms`)))
}

/**
 * Ends unusable sessions, as the pool itself does when a connection is lost. After a switchover, a session can stay
 * with the demoted server. Then all sessions that were opened before are ended: idle ones at once, the others when
 * they are released.
 */
class UsefulSessions {
  private readonly ended = new WeakSet<Pg.ClientBase>()
  private readonly opened = new Set<Pg.ClientBase>()
  private readonly idle = new Set<Pg.PoolClient>()

  watch(pool: Pg.Pool): void {
    pool.on("acquire", (client: Pg.PoolClient) => void this.idle.delete(client))
    pool.on("remove", (client: Pg.PoolClient) => {
      this.idle.delete(client)
      this.opened.delete(client)
    })
    // The pool removes a client that has ended.
    pool.on("release", (_: Error, client: Pg.PoolClient) => {
      if (this.ended.has(client)) void client.end()
      else this.idle.add(client)
    })
  }

  /** Adds a new client. It sees errors before the caller of the statement does, who may release it at once. */
  add(client: Pg.ClientBase): void {
    this.opened.add(client)
    if (!(client instanceof Pg.Client)) return
    client.connection.prependListener("errorMessage", (error: Error & { readonly code?: string }) => {
      if (!endsSession(error)) return
      this.ended.add(client)
      if (error.code === readOnly) this.endAll()
    })
  }

  private endAll(): void {
    for (const client of this.opened) this.ended.add(client)
    // The pool removes an idle client that reports an error.
    for (const client of [...this.idle]) client.emit("error", new Error("the server no longer takes writes"))
  }
}

/** A pool that connects when it is first used. Its first connection fails where sessions do not last. It ends with the scope. */
export const openPool = (
  connecting: Connecting,
  patience: Patience,
  session: { readonly name: string; readonly max: number },
): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const address = {
        connectionString: driverUrl(Redacted.value(connecting.url)),
        application_name: session.name,
        connectionTimeoutMillis: patience.connectMs,
      }
      const connect = async () => {
        const client = new Pg.Client(address)
        client.on("error", () => {})
        await client.connect()
        return client
      }
      let isExamined = false
      const sessions = new UsefulSessions()
      const pool = new Pg.Pool({
        ...address,
        max: session.max,
        keepAlive: true,
        types,
        onConnect: async (client) => {
          endSilence(client, patience.silenceMs)
          sessions.add(client)
          if (!isExamined) await expectLastingSessions(client, connect, patience.connectMs)
          isExamined = true
          await client.query(sessionSettings(connecting, patience))
        },
      })
      // Of an idle connection. The pool removes it, and the next statement makes a new one.
      pool.on("error", () => {})
      sessions.watch(pool)
      return pool
    }),
    (pool) =>
      Effect.ignore(
        Effect.timeout(
          Effect.promise(() => pool.end()),
          patience.connectMs,
        ),
      ),
  )

/** @effect/sql's client over a pool. */
export const clientOf = (pool: Pg.Pool): Effect.Effect<SqlClient, SqlError, Scope.Scope> =>
  Effect.provide(fromPool({ acquire: Effect.succeed(pool), types }), Reactivity.layer)
