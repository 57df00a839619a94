/** What `GET /analytics` is asked for. */
import * as Schema from "effect/Schema"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import { KeyId } from "../../../domain/ids.ts"
import { dayMs } from "../../../domain/keys/limitWindows.ts"
import { intervalMs, type SpanQuery } from "../../../domain/money/activity.ts"
import { type AnalyticsQuestion, groupings, keptHoursMs } from "../../../domain/money/analytics.ts"
import { userHash } from "../../../domain/request/userHash.ts"
import { hashOfUser, instant, keyHash, optional, refused, searched, wholeNumber, word } from "../query.ts"

export const AnalyticsQuery = Schema.Struct({
  /** Of whole intervals: the one in which it is, and those after it; before `to`, with the one in which that is. */
  from: optional(instant),
  to: optional(instant),
  interval: Schema.optionalWith(word(["hour", "day"]), { exact: true, default: () => "hour" as const }),
  group_by: optional(word(groupings)),
  model: optional(searched),
  /** The tag of a host. */
  host: optional(searched),
  /** The slug of a provider. */
  provider: optional(searched),
  key_hash: optional(keyHash),
  /** The title or the URL of an app. */
  app: optional(searched),
  /** An end user as requests named them, or as answers do. */
  user: optional(searched),
  user_hash: optional(hashOfUser),
  /** Groups that are told apart. */
  limit: Schema.optionalWith(wholeNumber(1, 50), { exact: true, default: () => 10 }),
}).annotations({ parseOptions: { errors: "all" } })

export type AnalyticsQuery = typeof AnalyticsQuery.Type

const mostDays = { hour: keptHoursMs / dayMs, day: 100 } as const

/** `now`: Unix milliseconds. `installation`: its id, which user names are hashed with. `own`: the only key whose requests count. */
export const questionOf = (
  query: AnalyticsQuery,
  { now, installation, own }: { readonly now: number; readonly installation: string; readonly own: KeyId | undefined },
): AnalyticsQuestion | BadRequest => {
  const { interval, model, host, provider, key_hash, app, user, user_hash } = query
  const step = intervalMs[interval]
  const asked = Math.min(query.to ?? now, now)
  // Without `to` the interval that runs is the last one, also in its first millisecond.
  const to = query.to === undefined ? (Math.floor(now / step) + 1) * step : Math.ceil(asked / step) * step
  const from = Math.floor((query.from ?? asked - (interval === "hour" ? dayMs : 30 * dayMs)) / step) * step
  if (from >= to) return refused("to", "must be after from, which cannot be in the future")
  const most = mostDays[interval]
  if (to - from > most * dayMs + step)
    return refused("from", `must be at most ${most} days before to, with interval=${interval}`)
  if (user !== undefined && user_hash !== undefined) return refused("user_hash", "cannot be together with user")
  const hash = user === undefined ? user_hash : userHash(installation, user)
  const key = own ?? (key_hash === undefined ? undefined : KeyId.make(key_hash))
  const filter = {
    ...(model === undefined ? {} : { model }),
    ...(host === undefined ? {} : { host }),
    ...(provider === undefined ? {} : { provider }),
    ...(key === undefined ? {} : { key }),
    ...(app === undefined ? {} : { app }),
    ...(hash === undefined ? {} : { userHash: hash }),
  }
  return { from, to, interval, by: query.group_by ?? null, filter, limit: query.limit }
}

/** The longest time whose rows are read, in days. */
const mostDaysOfRows = 31

/** The rows of the ledger that answer a question which no kept sums answer. */
export const rowsFor = ({ from, to, interval, by, filter }: AnalyticsQuestion): SpanQuery | BadRequest => {
  if (to - from > mostDaysOfRows * dayMs + intervalMs[interval])
    return refused("from", `must be at most ${mostDaysOfRows} days before to: rows of the ledger are read for this`)
  const grouped = by === "key" || by === "app" || by === "user" ? by : undefined
  const filtered = filter.app === undefined ? undefined : "app"
  // Rows are added up by one of these at a time.
  if (grouped !== undefined && filtered !== undefined && grouped !== filtered)
    return refused("group_by", `cannot be ${by} together with app`)
  return {
    from,
    to,
    interval,
    by: grouped ?? filtered ?? "host",
    ...(filter.key === undefined ? {} : { key: filter.key }),
    ...(filter.userHash === undefined ? {} : { userHash: filter.userHash }),
  }
}
