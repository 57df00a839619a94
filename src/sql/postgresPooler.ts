/**
 * Tells a pooler that gives each transaction another session of the server. The gateway needs sessions that last: it sets
 * `search_path`, prepares statements, listens for notices and takes a lock that belongs to a session. See
 * docs/decisions/0048-poolers.md.
 */
import * as Data from "effect/Data"
import type * as Pg from "pg"
import { sqlState } from "./failure.ts"

/** What is behind the address gives a client another session with each transaction. */
export class SessionsDoNotLast extends Data.TaggedError("SessionsDoNotLast") {
  override get message() {
    return "it gives each transaction another session of the server"
  }
}

/** Pairs of transactions that are looked at. Other clients of the pooler may take the session that would have told. */
const rounds = 10

/** Process of the server that works for a client now. */
const backendOf = async (client: Pg.ClientBase): Promise<number | undefined> => {
  const { rows } = await client.query<{ readonly pid: number }>("SELECT pg_backend_pid() AS pid")
  return rows[0]?.pid
}

/** The process that the server named when the session began. A pooler names a number of its own. */
const toldBackend = (client: Pg.ClientBase): unknown => ("processID" in client ? client.processID : undefined)

/** SQLSTATE of a pooler that takes no transactions: "protocol violation". */
const noTransactions = "08P01"

/**
 * Throws `SessionsDoNotLast` where they do not. Asks once on a connection to the server itself. `client`: without any settings,
 * since a pooler would pass them on to its other clients. `connect` opens another such connection, which this ends.
 */
export const expectLastingSessions = async (
  client: Pg.ClientBase,
  connect: () => Promise<Pg.Client>,
  waitMs: number,
): Promise<void> => {
  if ((await backendOf(client)) === toldBackend(client)) return
  const other = await connect()
  try {
    for (let round = 0; round < rounds; round++) {
      const mine = await backendOf(client)
      await other.query("BEGIN")
      if ((await backendOf(other)) === mine) throw new SessionsDoNotLast()
      // Where each transaction has a session of its own, this one waits while all of them are taken.
      const later = backendOf(client).catch(() => undefined)
      if ((await Promise.race([later, Bun.sleep(waitMs)])) !== mine) throw new SessionsDoNotLast()
      await other.query("COMMIT")
    }
  } catch (error) {
    throw sqlState(error) === noTransactions ? new SessionsDoNotLast() : error
  } finally {
    // A server that does not answer any more must not keep the start waiting.
    await Promise.race([other.end().catch(() => {}), Bun.sleep(waitMs)])
  }
}
