/**
 * Recognises a pooler in transaction mode, which may give each transaction another session of the server. The gateway needs sessions that last: it sets
 * `search_path`, prepares statements, listens for notices and takes a lock that belongs to a session. See
 * docs/decisions/0048-poolers.md.
 */
import * as Data from "effect/Data"
import type * as Pg from "pg"
import { sqlState } from "../failure.ts"

/** The address is that of a pooler in transaction mode. */
export class SessionsDoNotLast extends Data.TaggedError("SessionsDoNotLast") {
  override get message() {
    return "it gives each transaction another session of the server"
  }
}

/** How often it is tried. One try may fail to notice, when another client of the pooler takes the session that was free. */
const rounds = 10

/** Id of the server's process that serves the client now. */
const backendOf = async (client: Pg.ClientBase): Promise<number | undefined> => {
  const { rows } = await client.query<{ readonly pid: number }>("SELECT pg_backend_pid() AS pid")
  return rows[0]?.pid
}

/** The process id that came when the session began. A server sends that of its process, a pooler a number of its own. */
const announcedBackend = (client: Pg.ClientBase): unknown => ("processID" in client ? client.processID : undefined)

/** SQLSTATE "protocol violation": of a pooler in statement mode, which takes no transactions. */
const noTransactions = "08P01"

/**
 * Throws `SessionsDoNotLast` where they do not. One query where the address is that of a server. `client`: without session settings, since a
 * pooler would pass them on to its other clients. `connect` opens another such connection, which is closed here. `waitMs`: the longest
 * wait for one answer.
 */
export const expectLastingSessions = async (
  client: Pg.ClientBase,
  connect: () => Promise<Pg.Client>,
  waitMs: number,
): Promise<void> => {
  if ((await backendOf(client)) === announcedBackend(client)) return
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
