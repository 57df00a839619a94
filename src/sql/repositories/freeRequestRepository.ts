/** Counts of requests to free models in a database, in SQL that SQLite and PostgreSQL share. One row per key. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import type { FreeDay, FreeRequestRepository } from "../../services/storage/Storage.ts"
import { query } from "../tables/query.ts"
import { storedText } from "../tables/table.ts"

export const makeFreeRequestRepository = (sql: SqlClient): FreeRequestRepository => {
  /** Whether a day begins: it is after the last one, or so long before it that the clock was wrong then. */
  const isLater = sql.literal(`(excluded.day > free_requests.day OR excluded.day < free_requests.day - ${dayMs})`)
  return {
    last: (key) =>
      Effect.map(
        query(sql<FreeDay>`SELECT day, used FROM free_requests WHERE key_id = ${storedText(key)}`),
        ([row]) => row,
      ),
    take: (key, day, limit) =>
      Effect.map(
        query(
          sql`INSERT INTO free_requests (key_id, day, used) VALUES (${storedText(key)}, ${day}, 1)
          ON CONFLICT (key_id) DO UPDATE SET
            day = CASE WHEN ${isLater} THEN excluded.day ELSE free_requests.day END,
            used = CASE WHEN ${isLater} THEN 1 ELSE free_requests.used + 1 END
          WHERE ${isLater} OR free_requests.used < ${limit}
          RETURNING used`,
        ),
        (taken) => taken.length === 1,
      ),
    add: (key, day, count) =>
      Effect.asVoid(
        query(
          sql`INSERT INTO free_requests (key_id, day, used) VALUES (${storedText(key)}, ${day}, ${count})
          ON CONFLICT (key_id) DO UPDATE SET
            day = excluded.day,
            used = excluded.used + CASE WHEN free_requests.day = excluded.day THEN free_requests.used ELSE 0 END
          WHERE excluded.day >= free_requests.day OR excluded.day < free_requests.day - ${dayMs}`,
        ),
      ),
  }
}
