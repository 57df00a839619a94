/** `GET /auth/key` and `GET /key`: the calling key, its limits and its usage. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { inOrder } from "../../../domain/json/inOrder.ts"
import { isOwn, type KeyRecord, keyMembers } from "../../../domain/keys/key.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { nextReset, type Spend, spentInWindow } from "../../../domain/keys/limitWindows.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"
import { RequestLimits } from "../../../services/keys/RequestLimits.ts"
import { Meter } from "../../../services/money/Meter.ts"
import { unavailable } from "../../refusals.ts"
import { Authorize, CurrentKey } from "../Authorize.ts"
import { Installation } from "../Installation.ts"
import { fieldsOf, figurePlaces, figuresOf, keyFigures, LimitReset, remaining, schemasOf } from "./keyFigures.ts"

/** One limit that can block the key. */
const Budget = Schema.Struct({
  scope: Schema.String,
  guardrail_id: Schema.NullOr(Schema.String),
  budget_id: Schema.NullOr(Schema.String),
  limit_usd: Schema.Number,
  spend_usd: Schema.Number,
  remaining_usd: Schema.Number,
  exact: Schema.Struct({ limit_usd: Schema.String, spend_usd: Schema.String, remaining_usd: Schema.String }),
  reset_interval: Schema.NullOr(LimitReset),
  resets_at: Schema.NullOr(Schema.String),
  include_byok: Schema.Boolean,
}).annotations({ identifier: "Budget" })

const own = keyMembers.filter(isOwn)

export const KeyStatus = Schema.Struct(
  inOrder(
    {
      ...schemasOf(own),
      is_management_key: Schema.Boolean,
      /** The older name of `is_management_key`. */
      is_provisioning_key: Schema.Boolean,
      ...keyFigures,
      budgets: Schema.Array(Budget),
      /** The budget with the least left; `null` for a key without any limit. */
      effective_budget: Schema.NullOr(Budget),
      is_free_tier: Schema.Boolean,
      creator_user_id: Schema.String,
      organization_id: Schema.NullOr(Schema.String),
      allowed_data_regions: Schema.Array(Schema.String),
      /** On the current UTC day. Limit and remaining are -1 where the gateway has no limit. */
      free_model_daily_requests: Schema.Struct({ used: Schema.Int, limit: Schema.Int, remaining: Schema.Int }),
      /** Deprecated and without meaning: not the field of the same name. */
      rate_limit: Schema.Struct({ requests: Schema.Int, interval: Schema.String, note: Schema.String }),
    },
    {
      ...figurePlaces,
      label: ["is_management_key", "is_provisioning_key"],
      byok_usage_monthly: ["budgets", "effective_budget", "is_free_tier"],
      expires_at: ["creator_user_id", "organization_id"],
    },
  ),
).annotations({ identifier: "KeyStatus" })

const Answer = Schema.Struct({ data: KeyStatus })

export const KeyStatusGroup = HttpApiGroup.make("keyStatus")
  .add(HttpApiEndpoint.get("authKey", "/auth/key").addSuccess(Answer).addError(unavailable))
  .add(HttpApiEndpoint.get("key", "/key").addSuccess(Answer).addError(unavailable))
  .middleware(Authorize)
  .prefix("/api/v1")

export const keyStatusHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(KeyStatusGroup),
  "keyStatus",
  (handlers) =>
    Effect.gen(function* () {
      const meter = yield* Meter
      const installation = yield* Installation
      const limits = yield* RequestLimits

      const status = Effect.fnUntraced(function* () {
        const key = yield* CurrentKey
        const spend = yield* meter.spent(key.id)
        const budgets = budgetsOf(key, spend, yield* Clock.currentTimeMillis)
        const data: typeof KeyStatus.Type = {
          ...fieldsOf(key, own),
          is_management_key: key.kind === "management",
          is_provisioning_key: key.kind === "management",
          ...figuresOf(key, spend),
          budgets,
          effective_budget: budgets[0] ?? null,
          is_free_tier: false,
          creator_user_id: key.creatorUserId ?? installation,
          organization_id: null,
          allowed_data_regions: ["global"],
          free_model_daily_requests: yield* limits.freeToday(key.id),
          rate_limit: { requests: -1, interval: "10s", note: "Deprecated: no such limit is kept." },
        }
        return { data }
      })

      return handlers.handle("authKey", status).handle("key", status)
    }),
)

/** In this version only the key's own limit. */
const budgetsOf = (key: KeyRecord, spend: Spend, now: number): ReadonlyArray<typeof Budget.Type> => {
  if (key.limit === null) return []
  const resetsAt = nextReset(key.limitReset, now)
  const spent = spentInWindow(spend, key.limitReset)
  const left = remaining(key, key.limit, spend)
  return [
    {
      scope: "key_limit",
      guardrail_id: null,
      budget_id: null,
      limit_usd: toUsd(key.limit),
      spend_usd: toUsd(spent),
      remaining_usd: toUsd(left),
      exact: { limit_usd: formatUsd(key.limit), spend_usd: formatUsd(spent), remaining_usd: formatUsd(left) },
      reset_interval: key.limitReset,
      resets_at: resetsAt === null ? null : isoTime(resetsAt),
      include_byok: key.includeByokInLimit,
    },
  ]
}
