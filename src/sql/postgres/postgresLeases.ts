/** Leases of processes in PostgreSQL, by the server's clock. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { LeaseRepository } from "../../services/storage/SharedRepositories.ts"
import { serverNow } from "../repositories/journalRepository.ts"
import { query } from "../tables/query.ts"

export const makeLeaseRepository = (sql: SqlClient): LeaseRepository => {
  const now = serverNow(sql)
  // A slice stays until what its process's streams had delivered is charged: else the same money could be spent again.
  const endSlices = Effect.asVoid(
    sql`DELETE FROM slices WHERE amount = 0 OR process NOT IN (
      SELECT process FROM leases UNION ALL SELECT process FROM open_requests
    )`,
  )
  return {
    take: (process, forMs) =>
      Effect.asVoid(
        query(
          sql`INSERT INTO leases (process, ends_at) VALUES (${process}, ${now} + ${forMs}::bigint)
            ON CONFLICT (process) DO UPDATE SET ends_at = excluded.ends_at`,
        ),
      ),
    renew: (process, forMs) =>
      Effect.map(
        query(
          sql`UPDATE leases SET ends_at = ${now} + ${forMs}::bigint
            WHERE process = ${process} AND ends_at > ${now} RETURNING process`,
        ),
        (renewed) => renewed.length === 1,
      ),
    end: (process) => query(Effect.zipRight(sql`DELETE FROM leases WHERE process = ${process}`, endSlices)),
    clear: query(Effect.zipRight(sql`DELETE FROM leases WHERE ends_at <= ${now}`, endSlices)),
  }
}
