/** What answers say of a key: fields of the table of keys, and its money in USD. */
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import {
  type KeyFields,
  type KeyMember,
  type KeyRecord,
  keyFields,
  kindOf,
  type WireOf,
} from "../../../domain/keys/key.ts"
import { limitResets, type Spend, spentInWindow } from "../../../domain/keys/limitWindows.ts"
import { formatUsd, type Picodollars, toUsd } from "../../../domain/price/money.ts"

export const LimitReset = Schema.Literal(...limitResets)

/** The schemas of these fields in an answer. */
export const schemasOf = <M extends KeyMember>(members: ReadonlyArray<M>) =>
  // A member for each of them. Object.fromEntries loses that type.
  Object.fromEntries(members.map((member) => [keyFields[member].wire, kindOf(member).answer])) as unknown as {
    readonly [N in M as KeyFields[N]["wire"]]: Schema.Schema<WireOf<N>>
  }

/** These fields of a key, as an answer has them. */
export const fieldsOf = <M extends KeyMember>(key: KeyRecord, members: ReadonlyArray<M>) =>
  Object.fromEntries(members.map((member) => [keyFields[member].wire, kindOf(member).written(key[member])])) as {
    readonly [N in M as KeyFields[N]["wire"]]: WireOf<N>
  }

/** In total, and in the current UTC day, week (from Monday) and month. */
const usageMembers = [
  ...(["usage", "usage_daily", "usage_weekly", "usage_monthly"] as const),
  ...(["byok_usage", "byok_usage_daily", "byok_usage_weekly", "byok_usage_monthly"] as const),
] as const

type UsageMember = (typeof usageMembers)[number]

const usageFields = <A>(schema: A) =>
  // A member for each of them. Object.fromEntries loses that type.
  Object.fromEntries(usageMembers.map((member) => [member, schema])) as Readonly<Record<UsageMember, A>>

/** What a key has spent, and what is left. */
export const keyFigures = {
  /** What is left until the next reset, never below 0; `null`: no limit. */
  limit_remaining: Schema.NullOr(Schema.Number),
  ...usageFields(Schema.Number),
  /** The amounts again, as decimals of USD that are exact to the picodollar. */
  exact: Schema.Struct({
    limit: Schema.NullOr(Schema.String),
    limit_remaining: Schema.NullOr(Schema.String),
    ...usageFields(Schema.String),
  }),
}

/** Where they stand among the fields. */
export const figurePlaces = {
  limit: ["limit_remaining"],
  include_byok_in_limit: [...usageMembers, "exact"],
} as const

/** What is left of a limit. Reservations of requests in flight are not spent yet. */
export const remaining = (key: KeyRecord, limit: Picodollars, spend: Spend): Picodollars => {
  const left = limit - spentInWindow(spend, key.limitReset)
  return left > 0n ? left : 0n
}

export const figuresOf = (key: KeyRecord, spend: Spend) => {
  const left = key.limit === null ? null : remaining(key, key.limit, spend)
  const usage: Readonly<Record<UsageMember, Picodollars>> = {
    ...usageFields(0n),
    usage: spend.total,
    usage_daily: spend.daily,
    usage_weekly: spend.weekly,
    usage_monthly: spend.monthly,
  }
  return {
    limit_remaining: left === null ? null : toUsd(left),
    ...Records.map(usage, toUsd),
    exact: {
      limit: key.limit === null ? null : formatUsd(key.limit),
      limit_remaining: left === null ? null : formatUsd(left),
      ...Records.map(usage, formatUsd),
    },
  }
}
