/** Removes the oldest records of requests, and counts of unknown ones. Processes that do so at the same time take different rows. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment, Statement } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import { requestIdAt } from "../../domain/ids.ts"
import type { RequestRepository } from "../../services/storage/requests.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { query } from "../tables/query.ts"

type Removed = Effect.Effect<number, StorageUnavailable>

export const makeRequestPruning = (sql: SqlClient): Pick<RequestRepository, "prune" | "pruneUnknown"> => {
  const unlocked = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE SKIP LOCKED`, orElse: () => sql.literal("") })
  const removed = (statement: Statement<object>) => Effect.map(query(statement), (rows) => rows.length)
  const records = (where: Fragment, order: string, limit: number) =>
    removed(sql`DELETE FROM requests WHERE seq IN (
      SELECT seq FROM requests WHERE ${where} ORDER BY ${sql.literal(order)} LIMIT ${limit} ${unlocked}
    ) RETURNING seq`)
  const counted = (where: Fragment, limit: number) =>
    removed(sql`DELETE FROM unknown_requests WHERE (minute, address, status) IN (
      SELECT minute, address, status FROM unknown_requests WHERE ${where}
      ORDER BY minute, address, status LIMIT ${limit} ${unlocked}
    ) RETURNING status`)
  /** The first, and where that removed less than it might, the second. */
  const both = (limit: number, first: (most: number) => Removed, second: (most: number) => Removed): Removed =>
    Effect.flatMap(first(limit), (some) =>
      some === limit ? Effect.succeed(some) : Effect.map(second(limit - some), (more) => some + more),
    )
  return {
    prune: (before, most, limit) =>
      both(
        limit,
        (some) => records(sql`request_id < ${requestIdAt(before)}`, "request_id", some),
        // Records leave in the order in which they came, so that the highest and the lowest number tell how many there are.
        (some) => records(sql`seq <= (SELECT MAX(seq) FROM requests) - ${most}`, "seq", some),
      ),
    pruneUnknown: (before, most, limit) =>
      both(
        limit,
        (some) => counted(sql`minute < ${before}`, some),
        (some) =>
          counted(
            sql`minute <= (SELECT minute FROM unknown_requests ORDER BY minute DESC LIMIT 1 OFFSET ${most})`,
            some,
          ),
      ),
  }
}
