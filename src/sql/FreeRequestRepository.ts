/** Counts of requests to free models in a database, in SQL that SQLite and PostgreSQL share. One row per key. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { dayMs } from "../domain/Key.ts"
import type { FreeDay, FreeRequestRepository } from "../services/Storage.ts"
import { query } from "./query.ts"
import { storedText } from "./table.ts"

export const makeFreeRequestRepository = (sql: SqlClient): FreeRequestRepository => ({
  last: (key) =>
    Effect.map(
      query(sql<FreeDay>`SELECT day, used FROM free_requests WHERE key_id = ${storedText(key)}`),
      ([row]) => row,
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
})
