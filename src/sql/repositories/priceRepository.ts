/** Versions of prices in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { PriceVersion } from "../../domain/price/PriceVersion.ts"
import type { PriceRepository } from "../../services/storage/Storage.ts"
import { query, rowsOf } from "../tables/query.ts"
import { column, table, text } from "../tables/table.ts"

const versions = table<PriceVersion>({
  id: column("id", Schema.Number),
  hash: text("hash"),
  pricing: text("pricing"),
})

export const makePriceRepository = (sql: SqlClient): PriceRepository => ({
  put: (added) =>
    added.length === 0
      ? Effect.void
      : Effect.asVoid(
          query(sql`INSERT INTO price_versions ${sql.insert(added.map((version) => versions.columnsOf(version)))}
            ON CONFLICT (id) DO NOTHING`),
        ),
  list: (after, limit) =>
    rowsOf(
      versions,
      sql`SELECT ${sql.literal(versions.selection)} FROM price_versions WHERE id > ${after} ORDER BY id LIMIT ${limit}`,
    ),
})
