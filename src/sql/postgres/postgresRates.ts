/** Shares of rate limits in PostgreSQL: see the function `take_permits` in `postgresShared.ts`. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { mostSeconds } from "../../domain/structures/SlidingWindow.ts"
import type { RateShareRepository } from "../../services/storage/SharedRepositories.ts"
import { serverNow } from "../repositories/journalRepository.ts"
import { query } from "../tables/query.ts"
import { storedText } from "../tables/table.ts"
import { notifyPermitsWanted } from "./postgresEvents.ts"

type PermitsRow = Readonly<Record<"permits" | "others", string>> & { readonly free_in: string | null }

export const makeRateShareRepository = (sql: SqlClient): RateShareRepository => {
  const now = serverNow(sql)
  /** Names have no comma. */
  const list = (holders: ReadonlyArray<string>) => sql`string_to_array(${holders.join(",")}, ',')`
  return {
    take: ({ key, scope }, { holders, have, needed, preferred, limit, leaseMs }) =>
      Effect.map(
        query(
          sql<PermitsRow>`SELECT permits::text, others::text, free_in::text FROM take_permits(
            ${storedText(key)}, ${scope}, ${holders.at(-1)}, ${list(holders)}, ${have}, ${needed}, ${preferred},
            ${limit.requests}, ${limit.intervalSeconds * 1000}, ${leaseMs})`,
        ),
        ([row]) => ({
          permits: Number(row?.permits ?? 0),
          others: Number(row?.others ?? 0),
          freeInMs: row?.free_in == null ? null : Math.max(0, Number(row.free_in)),
        }),
      ),
    giveBack: ({ key, scope }, holders, counted) =>
      Effect.asVoid(
        query(
          sql`WITH ended AS (
              DELETE FROM rate_shares
                WHERE key_id = ${storedText(key)} AND scope = ${scope} AND holder = ANY (${list(holders)})
                RETURNING holder
            )
            INSERT INTO rate_uses AS u (key_id, scope, used_at, requests)
              SELECT ${storedText(key)}, ${scope}, ${now} - c."ageMs", SUM(c.requests)
                FROM jsonb_to_recordset(${JSON.stringify(counted)}::jsonb) AS c ("ageMs" BIGINT, requests BIGINT)
                WHERE EXISTS (SELECT FROM ended) GROUP BY 3
              ON CONFLICT (key_id, scope, used_at) DO UPDATE SET requests = u.requests + excluded.requests`,
        ),
      ),
    want: (process, window) => Effect.asVoid(query(notifyPermitsWanted(sql, process, window))),
    prune: Effect.asVoid(query(sql`DELETE FROM rate_uses WHERE used_at < ${now} - ${mostSeconds * 1000}::bigint`)),
  }
}
