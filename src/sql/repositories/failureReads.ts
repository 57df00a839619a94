/** Reads the sums of failed and refused requests: `failureSums.ts` writes them. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import {
  type AnalyticsQuestion,
  columnsOf,
  type FailurePoint,
  type GroupColumn,
  type Grouping,
  type GroupNames,
  providerOfTag,
} from "../../domain/money/analytics.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import { atOnce, query } from "../tables/query.ts"
import { originalText, storedText } from "../tables/table.ts"
import { hostOfProvider } from "./hostOfProvider.ts"

/** The column of a group here, where the provider is in the tag of the host. */
const columnOf = (by: Grouping | null): "model" | "host" | "key_id" | undefined => {
  if (by === "model") return "model"
  if (by === "host" || by === "provider") return "host"
  return by === "key" ? "key_id" : undefined
}

const namesOf = (by: Grouping, value: string): GroupNames => {
  if (by === "model") return { model: value }
  if (by === "key") return { key_id: value }
  return by === "provider" ? { provider: providerOfTag(value) } : { host: value, provider: providerOfTag(value) }
}

const sums = "CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(unbooked) AS BIGINT) AS unbooked"

export const makeFailureReads = (sql: SqlClient): Pick<AnalyticsRepository, "failures" | "failedGroups"> => {
  const ofOneMoment = atOnce(sql)
  const isOfProvider = hostOfProvider(sql)
  const where = ({ from, to, interval, filter }: AnalyticsQuestion): ReadonlyArray<Fragment> => [
    sql`kind = ${interval}`,
    sql`start >= ${from} AND start < ${to}`,
    ...(filter.key === undefined ? [] : [sql`key_id = ${storedText(filter.key)}`]),
    ...(filter.model === undefined ? [] : [sql`model = ${storedText(filter.model)}`]),
    ...(filter.host === undefined ? [] : [sql`host = ${storedText(filter.host)}`]),
    ...(filter.provider === undefined ? [] : [isOfProvider(filter.provider)]),
  ]

  const isOf = (names: GroupNames): Fragment => {
    if (names.host !== undefined) return sql`host = ${storedText(names.host)}`
    if (names.provider !== undefined) return isOfProvider(names.provider)
    const [[column, value] = ["model", ""]] = Object.entries(names)
    return sql`${sql.literal(column)} = ${storedText(value)}`
  }

  return {
    failures: (question, groups) =>
      query(
        ofOneMoment(
          Effect.gen(function* () {
            const points = yield* sql<FailurePoint>`SELECT start, class, ${sql.literal(sums)} FROM failures
            WHERE ${sql.and([...where(question)])} GROUP BY start, class ORDER BY start, class`
            const column = columnOf(question.by)
            if (question.by === null || column === undefined || groups.length === 0) return { points, groups: [] }
            const found = yield* sql<FailurePoint & { readonly value: string }>`
            SELECT start, class, ${sql.literal(column)} AS value, ${sql.literal(sums)} FROM failures
            WHERE ${sql.and([...where(question), sql.or(groups.map(isOf))])} GROUP BY start, class, ${sql.literal(column)}`
            const { by } = question
            const isIn = (names: GroupNames, value: string) => {
              const own = namesOf(by, originalText(value))
              return columnsOf[by].every((name: GroupColumn) => own[name] === names[name])
            }
            return {
              points,
              groups: groups.map((names) =>
                found.filter(({ value }) => isIn(names, value)).map(({ value: _, ...point }) => point),
              ),
            }
          }),
        ),
      ),
    failedGroups: (question) => {
      const { by, limit } = question
      const column = columnOf(by)
      if (by === null || column === undefined) return Effect.succeed([])
      return Effect.map(
        query(
          sql<{ readonly value: string }>`SELECT ${sql.literal(column)} AS value FROM failures
            WHERE ${sql.and([...where(question), sql`class <> 'none'`, sql`${sql.literal(column)} <> ''`])}
            GROUP BY ${sql.literal(column)} ORDER BY SUM(requests) DESC, ${sql.literal(column)} LIMIT ${limit}`,
        ),
        (found) => found.map(({ value }) => namesOf(by, originalText(value))),
      )
    },
  }
}
