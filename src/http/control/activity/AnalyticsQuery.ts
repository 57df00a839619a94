/** What `GET /analytics` is asked for. */
import * as Schema from "effect/Schema"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import { KeyId } from "../../../domain/ids.ts"
import { dayMs } from "../../../domain/keys/limitWindows.ts"
import type { SpanQuery } from "../../../domain/money/activity.ts"
import { type AnalyticsQuestion, groupings, intervalOf, keptHoursMs } from "../../../domain/money/analytics.ts"
import { userHash } from "../../../domain/request/userHash.ts"
import { instant, parameter, searched, wholeNumber, word } from "../query.ts"

const optional = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

const hexDigits = (count: number, rule: string) =>
  parameter(Schema.String, { rule, jsonSchema: { type: "string", pattern: `^[0-9a-f]{${count}}$` } }, (written) =>
    new RegExp(`^[0-9a-f]{${count}}$`).test(written) ? written : undefined,
  )

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
  key_hash: optional(hexDigits(64, "the hash of a key: 64 lower-case hex digits")),
  /** The title or the URL of an app. */
  app: optional(searched),
  /** An end user as requests named them, or as answers do. */
  user: optional(searched),
  user_hash: optional(hexDigits(16, "the hash of a user: 16 lower-case hex digits")),
  /** Groups that are told apart. */
  limit: Schema.optionalWith(wholeNumber(1, 50), { exact: true, default: () => 10 }),
}).annotations({ parseOptions: { errors: "all" } })

export type AnalyticsQuery = typeof AnalyticsQuery.Type

const refused = (path: string, message: string) => new BadRequest({ issues: [{ path, message }] })

const mostDays = { hour: keptHoursMs / dayMs, day: 100 } as const

/** `now`: Unix milliseconds. `installation`: its id, which user names are hashed with. `own`: the only key whose requests count. */
export const questionOf = (
  query: AnalyticsQuery,
  { now, installation, own }: { readonly now: number; readonly installation: string; readonly own: KeyId | undefined },
): AnalyticsQuestion | BadRequest => {
  const { interval, model, host, provider, key_hash, app, user, user_hash } = query
  const step = intervalOf[interval]
  const asked = Math.min(query.to ?? now, now)
  const to = Math.ceil(query.to === undefined ? now / step + 1e-9 : asked / step) * step
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
  const needed = new Set([
    ...(by === "key" || by === "app" || by === "user" ? [by] : []),
    ...(filter.app === undefined ? [] : (["app"] as const)),
  ])
  if (to - from > mostDaysOfRows * dayMs + intervalOf[interval])
    return refused("from", `must be at most ${mostDaysOfRows} days before to: rows of the ledger are read for this`)
  const [needs = "host", more] = needed
  if (more !== undefined) return refused("group_by", `cannot be ${by} together with app`)
  return {
    ...{ from, to, interval, by: needs },
    ...(filter.key === undefined ? {} : { key: filter.key }),
    ...(filter.userHash === undefined ? {} : { userHash: filter.userHash }),
  }
}
