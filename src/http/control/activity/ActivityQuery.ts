/** What `GET /activity` is asked for. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { BadRequest } from "../../../domain/failures/Failure.ts"
import { KeyId } from "../../../domain/ids.ts"
import { dayMs, windowStart } from "../../../domain/keys/limitWindows.ts"
import { dateOf, dayOf, daysWithToday, type SpanQuery, type SumQuery } from "../../../domain/money/activity.ts"
import { userHash } from "../../../domain/request/userHash.ts"
import { OwnWorkspace } from "../Installation.ts"
import { instant, keyHash, optional, refused, searched, word } from "../query.ts"

const dateRule = "a UTC day up to today, as YYYY-MM-DD"

/** Today or a day before it, as its first Unix millisecond. */
const KnownDay = Schema.transformOrFail(Schema.String, Schema.Number, {
  strict: true,
  decode: (written, _options, ast) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const day = dayOf(written)
      return day !== undefined && day <= windowStart("daily", now)
        ? ParseResult.succeed(day)
        : ParseResult.fail(new ParseResult.Type(ast, written))
    }),
  encode: (day) => ParseResult.succeed(dateOf(day)),
}).annotations({
  description: dateRule,
  message: () => ({ message: `expected ${dateRule}`, override: true }),
  jsonSchema: { type: "string", format: "date" },
})

/** A text that is refused with its rule. */
const matching = (pattern: RegExp, rule: string) =>
  Schema.String.pipe(
    Schema.pattern(pattern, {
      description: rule,
      message: () => ({ message: `expected ${rule}`, override: true }),
    }),
  )

export const ActivityQuery = Schema.Struct({
  date: optional(KnownDay),
  /** Requests that were admitted from then on, before then. */
  from: optional(instant),
  to: optional(instant),
  interval: optional(word(["day", "hour"])),
  api_key_hash: optional(keyHash),
  /** The creator of keys. Rows of deleted keys are nobody's. */
  user_id: optional(matching(/^.{1,200}$/su, "a text of 1 to 200 characters")),
  /** The end user that requests named. */
  user: optional(searched),
  workspace_id: optional(OwnWorkspace),
  group_by: optional(
    Schema.Literal("workspace", "api_key", "app", "user").annotations({
      message: () => ({ message: 'expected "workspace", "api_key", "app" or "user"', override: true }),
    }),
  ),
}).annotations({ parseOptions: { errors: "all" } })

export type ActivityQuery = typeof ActivityQuery.Type

export type Grouping = ActivityQuery["group_by"]

/** The longest span whose rows are read, in days. */
const mostDays = 31

const groupOf = (grouping: Grouping) => (grouping === "api_key" ? "key" : grouping === "app" ? "app" : "host")

/** Whose rows count. */
const whose = ({ api_key_hash: hash, user_id: creator }: ActivityQuery) => ({
  ...(hash === undefined ? {} : { key: KeyId.make(hash) }),
  ...(creator === undefined ? {} : { creator }),
})

/** Whether its sums are those that are kept by day; others are read from the rows of the ledger. */
export const isOfKeptDays = ({ interval = "day", from, to, user, group_by: grouping }: ActivityQuery): boolean =>
  interval === "day" && from === undefined && to === undefined && user === undefined && grouping !== "user"

/** The kept sums that it is about, in the order of their days. `now`: Unix milliseconds. */
export const daysOf = (query: ActivityQuery, now: number): ReadonlyArray<SumQuery> | BadRequest => {
  const by = groupOf(query.group_by)
  const of = whose(query)
  if (by === "app" && Object.keys(of).length > 0)
    return refused("group_by", "cannot be app together with api_key_hash or user_id")
  const days = query.date === undefined ? daysWithToday(now) : [query.date]
  // There may be many keys and apps. Between two reads the database can commit.
  const portions = by === "host" ? [days] : days.map((day) => [day])
  return portions.map((portion) => ({ days: portion, by, ...of }))
}

/** The span of time whose rows it is about. `installation`: its id, which user names are hashed with. */
export const spanOf = (query: ActivityQuery, now: number, installation: string): SpanQuery | BadRequest => {
  const { date, interval = "day" } = query
  if (date !== undefined && (query.from !== undefined || query.to !== undefined))
    return refused("date", "cannot be together with from or to")
  // Another gateway on the database may be a little ahead.
  const to = query.to ?? (date ?? Math.max(now, query.from ?? 0)) + dayMs
  const from = query.from ?? date ?? Math.min(to, now) - dayMs
  if (from >= to) return refused("to", "must be after from")
  if (Math.min(to, now) - from > mostDays * dayMs)
    return refused("from", `must be at most ${mostDays} days before to: rows of the ledger are read for this`)
  const by = query.group_by === "user" ? "user" : groupOf(query.group_by)
  const user = query.user === undefined ? {} : { userHash: userHash(installation, query.user) }
  return { from, to, interval, by, ...whose(query), ...user }
}
