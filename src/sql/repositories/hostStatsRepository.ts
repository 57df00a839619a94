/** Host statistics in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { HostStatsRepository, StoredSlot } from "../../services/storage/Storage.ts"
import { query, rowsOf } from "../tables/query.ts"
import { column, table, text } from "../tables/table.ts"

const slots = table<StoredSlot>({
  seq: column("seq", Schema.Number),
  endpoint: text("endpoint"),
  workload: text("workload"),
  minutes: column("minutes", Schema.Number),
  start: column("start", Schema.Number),
  figures: text("figures"),
})

export const makeHostStatsRepository = (sql: SqlClient): HostStatsRepository => ({
  put: (kept) =>
    kept.length === 0
      ? Effect.void
      : Effect.asVoid(
          query(sql`INSERT INTO host_stats ${sql.insert(kept.map((slot) => slots.columnsOf(slot)))}
            ON CONFLICT (endpoint, workload, minutes, start) DO UPDATE SET figures = excluded.figures`),
        ),
  list: (after, limit) =>
    rowsOf(
      slots,
      sql`SELECT ${sql.literal(slots.selection)} FROM host_stats WHERE seq > ${after} ORDER BY seq LIMIT ${limit}`,
    ),
  removeUpTo: (minutes, start) =>
    Effect.asVoid(query(sql`DELETE FROM host_stats WHERE minutes = ${minutes} AND start <= ${start}`)),
})
