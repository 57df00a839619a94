/** What is in a copy of a database, as `backup` and `restore` show it. */
import type { DatabaseFacts } from "../../sql/sqlite/databaseFacts.ts"
import { schemaVersion } from "../../sql/tables/migrations.ts"

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** For `--json`. */
export const factsJson = ({ schema, keys, rows, newestRow }: DatabaseFacts) => ({
  schema,
  keys,
  rows,
  newest_row: timeOf(newestRow),
})

/** `undefined`: the tables are newer than this program. */
export const factsRecord = (
  facts: DatabaseFacts | undefined,
): ReadonlyArray<readonly [name: string, value: string]> => {
  if (facts === undefined)
    return [["schema", `newer than this program's (${schemaVersion}), so only the hash was checked`]]
  const { schema, keys, rows, newestRow } = facts
  return [
    ["schema", schema < schemaVersion ? `${schema} (the next start makes it ${schemaVersion})` : `${schema}`],
    ["keys", `${keys}`],
    ["ledger rows", `${rows}`],
    ["newest row", timeOf(newestRow) ?? "-"],
  ]
}
