/** Reads the times to the first token: sums by hour and day (`hourlySums.ts`), and rows of the ledger that are not in these sums yet. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { intervalMs } from "../../domain/money/activity.ts"
import type { AnalyticsQuestion, FirstTokenSeries, GroupNames } from "../../domain/money/analytics.ts"
import { FirstTokenCounts, firstTokenFigures } from "../../domain/money/firstTokens.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import { atOnce, query } from "../tables/query.ts"
import { originalText, storedText } from "../tables/table.ts"
import { hasFirstToken } from "./hourlySums.ts"

interface HostNames {
  readonly model: string
  readonly host: string
  readonly provider: string
}

interface KeptRow extends HostNames {
  readonly start: number
  readonly counts: string
}

interface UnsummedRow extends HostNames {
  readonly at: number
  readonly ms: number
}

/** The times of one group, or of all. */
class GrowingSeries {
  private readonly of: GroupNames
  private readonly points = new Map<number, FirstTokenCounts>()

  constructor(of: GroupNames) {
    this.of = of
  }

  has({ model, host, provider }: HostNames): boolean {
    const { of } = this
    return (
      (of.model === undefined || of.model === originalText(model)) &&
      (of.host === undefined || of.host === originalText(host)) &&
      (of.provider === undefined || of.provider === originalText(provider))
    )
  }

  at(start: number): FirstTokenCounts {
    const counts = this.points.get(start) ?? new FirstTokenCounts()
    this.points.set(start, counts)
    return counts
  }

  get series(): FirstTokenSeries {
    const all = new FirstTokenCounts()
    const points = [...this.points]
      .toSorted(([a], [b]) => a - b)
      .map(([start, counts]) => {
        all.add(counts.all)
        return { start, figures: firstTokenFigures(counts.all) }
      })
    return { points, counts: all.all }
  }
}

export const makeFirstTokenReads = (sql: SqlClient): Pick<AnalyticsRepository, "firstTokens"> => {
  const ofOneMoment = atOnce(sql)
  const read = (
    { from, to, interval, filter }: AnalyticsQuestion,
    groups: ReadonlyArray<GroupNames>,
  ): Effect.Effect<Effect.Effect.Success<ReturnType<AnalyticsRepository["firstTokens"]>>, SqlError> =>
    Effect.gen(function* () {
      const where = (["model", "host", "provider"] as const).flatMap((name) => {
        const wanted = filter[name]
        return wanted === undefined ? [] : [sql`${sql.literal(name)} = ${storedText(wanted)}`]
      })
      const kept = yield* sql<KeptRow>`SELECT start, model, host, provider, counts FROM first_tokens
        WHERE ${sql.and([sql`kind = ${interval}`, sql`start >= ${from} AND start < ${to}`, ...where])}`
      const unsummed =
        yield* sql<UnsummedRow>`SELECT admitted_at AS at, model, host, provider, latency_ms AS ms FROM ledger
        WHERE ${sql.and([
          sql`seq > (SELECT summed_to FROM hourly_ledger)`,
          sql`admitted_at >= ${from} AND admitted_at < ${to}`,
          sql.literal(hasFirstToken),
          ...where,
        ])}`
      const all = new GrowingSeries({})
      const each = groups.map((names) => new GrowingSeries(names))
      const every = [all, ...each]
      for (const row of kept) {
        for (const series of every) if (series.has(row)) series.at(row.start).addWritten(row.counts)
      }
      for (const row of unsummed) {
        const start = row.at - (row.at % intervalMs[interval])
        for (const series of every) if (series.has(row)) series.at(start).count(row.ms)
      }
      return { all: all.series, groups: each.map(({ series }) => series) }
    })
  return { firstTokens: (question, groups) => query(ofOneMoment(read(question, groups))) }
}
