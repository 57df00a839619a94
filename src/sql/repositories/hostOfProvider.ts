/** A condition on a column `host`, which has tags of hosts. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { storedText } from "../tables/table.ts"

/** That the host is one of the provider with this slug: its tag is the slug, or that with a slash behind it. */
export const hostOfProvider = (sql: SqlClient): ((provider: string) => Fragment) => {
  const byCharacter = sql.onDialectOrElse({ pg: () => ' COLLATE "C"', orElse: () => "" })
  const host = sql.literal(`host${byCharacter}`)
  return (provider) => {
    const slug = storedText(provider)
    // "0" comes after "/", so these are all tags that begin with the slug and a slash.
    return sql`(host = ${slug} OR (${host} >= ${`${slug}/`} AND ${host} < ${`${slug}0`}))`
  }
}
