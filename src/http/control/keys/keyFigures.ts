/** What answers say of a key: fields of the table of keys, and its money in USD. */
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import {
  type KeyFields,
  type KeyMember,
  type KeyRecord,
  keyFields,
  kindOf,
  type WireOf,
} from "../../../domain/keys/key.ts"
import { limitResets, type Spend, spentInWindow } from "../../../domain/keys/limitWindows.ts"
import { type Picodollars, toUsd } from "../../../domain/price/money.ts"

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

const usage = {
  /** In total, and in the current UTC day, week (from Monday) and month. */
  usage: Schema.Number,
  usage_daily: Schema.Number,
  usage_weekly: Schema.Number,
  usage_monthly: Schema.Number,
  byok_usage: Schema.Number,
  byok_usage_daily: Schema.Number,
  byok_usage_weekly: Schema.Number,
  byok_usage_monthly: Schema.Number,
}

/** What a key has spent, and what is left. */
export const keyFigures = {
  /** What is left until the next reset, never below 0; `null`: no limit. */
  limit_remaining: Schema.NullOr(Schema.Number),
  ...usage,
}

/** Where they stand among the fields. */
export const figurePlaces = { limit: ["limit_remaining"], include_byok_in_limit: Struct.keys(usage) } as const

/** What is left of a limit. Holds of requests in flight are not spent yet. */
export const remaining = (key: KeyRecord, limit: Picodollars, spend: Spend): Picodollars => {
  const left = limit - spentInWindow(spend, key.limitReset)
  return left > 0n ? left : 0n
}

export const figuresOf = (key: KeyRecord, spend: Spend) => ({
  limit_remaining: key.limit === null ? null : toUsd(remaining(key, key.limit, spend)),
  usage: toUsd(spend.total),
  usage_daily: toUsd(spend.daily),
  usage_weekly: toUsd(spend.weekly),
  usage_monthly: toUsd(spend.monthly),
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
})
