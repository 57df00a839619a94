/** A key's money in USD, as key status and key management list it. */
import * as Schema from "effect/Schema"
import { type KeyRecord, limitResets, type Spend, spentInWindow } from "../../../domain/keys/Key.ts"
import { type Picodollars, toUsd } from "../../../domain/price/Money.ts"

export const LimitReset = Schema.Literal(...limitResets)

/** Members of both records. */
export const keyFigures = {
  /** `null`: none. */
  limit: Schema.NullOr(Schema.Number),
  /** What is left until the next reset, never below 0; `null`: no limit. */
  limit_remaining: Schema.NullOr(Schema.Number),
  limit_reset: Schema.NullOr(LimitReset),
  include_byok_in_limit: Schema.Boolean,
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

/** What is left of a limit. Holds of requests in flight are not spent yet. */
export const remaining = (key: KeyRecord, limit: Picodollars, spend: Spend): Picodollars => {
  const left = limit - spentInWindow(spend, key.limitReset)
  return left > 0n ? left : 0n
}

export const figuresOf = (key: KeyRecord, spend: Spend) => ({
  limit: key.limit === null ? null : toUsd(key.limit),
  limit_remaining: key.limit === null ? null : toUsd(remaining(key, key.limit, spend)),
  limit_reset: key.limitReset,
  include_byok_in_limit: key.includeByokInLimit,
  usage: toUsd(spend.total),
  usage_daily: toUsd(spend.daily),
  usage_weekly: toUsd(spend.weekly),
  usage_monthly: toUsd(spend.monthly),
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
})

/** Unix milliseconds as the API writes them. */
export const isoTime = (at: number): string => new Date(at).toISOString()
