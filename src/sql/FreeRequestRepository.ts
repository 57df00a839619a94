/** Counts of requests to free models in a database, in SQL that SQLite and PostgreSQL share. One row per key. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { FreeRequestRepository } from "../services/Storage.ts"
import { query } from "./query.ts"

export const makeFreeRequestRepository = (sql: SqlClient): FreeRequestRepository => ({
  used: (key, day) =>
    Effect.map(
      query(sql<{ readonly used: number }>`SELECT used FROM free_requests WHERE key_id = ${key} AND day = ${day}`),
      ([row]) => row?.used ?? 0,
    ),
  take: (key, day, limit) =>
    Effect.map(
      query(
        sql`INSERT INTO free_requests (key_id, day, used) VALUES (${key}, ${day}, 1)
          ON CONFLICT (key_id) DO UPDATE SET
            day = CASE WHEN excluded.day > free_requests.day THEN excluded.day ELSE free_requests.day END,
            used = CASE WHEN excluded.day > free_requests.day THEN 1 ELSE free_requests.used + 1 END
          WHERE excluded.day > free_requests.day OR free_requests.used < ${limit}
          RETURNING used`,
      ),
      (taken) => taken.length === 1,
    ),
  add: (key, day, count) =>
    Effect.asVoid(
      query(
        sql`INSERT INTO free_requests (key_id, day, used) VALUES (${key}, ${day}, ${count})
          ON CONFLICT (key_id) DO UPDATE SET
            day = excluded.day,
            used = excluded.used + CASE WHEN free_requests.day = excluded.day THEN free_requests.used ELSE 0 END
          WHERE excluded.day >= free_requests.day`,
      ),
    ),
})
