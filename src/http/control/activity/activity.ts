/** `GET /activity` and `GET /credits`: what was used, by day, and in all. Management keys only; as JSON or CSV. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import { KeyId } from "../../../domain/ids.ts"
import { windowStart } from "../../../domain/keys/limitWindows.ts"
import { hourOf, type SpanQuery } from "../../../domain/money/activity.ts"
import { formatUsd, toUsd } from "../../../domain/price/money.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { orUnavailable } from "../../../services/storage/StorageUnavailable.ts"
import { wantsCsv } from "../../csv.ts"
import { badRequest, unavailable } from "../../refusals.ts"
import { AuthorizeManagement } from "../Authorize.ts"
import { alsoCsv, csvAnswer, jsonAnswer } from "../csvAnswer.ts"
import { Installation } from "../Installation.ts"
import { providerNames } from "../models/providerNames.ts"
import { wholeNumber } from "../query.ts"
import { ActivityQuery, daysOf, isOfKeptDays, spanOf } from "./ActivityQuery.ts"
import { ActivityItem, amountsOf, columnsOf, type ItemContext, itemOf, type TimedSum } from "./activityItem.ts"
import { readSpan } from "./readSpan.ts"
import { amountsIn, configuredKeys, ProviderKeysAnswer, providerKeySpends, SpendAnswer } from "./spendRecords.ts"

/** In USD. Nothing is paid in advance, so what was paid is what was used, and the balance is 0. */
const Credits = Schema.Struct({
  total_credits: Schema.Number,
  total_usage: Schema.Number,
  /** The same amounts as decimal text. */
  exact: Schema.Struct({ total_credits: Schema.String, total_usage: Schema.String }),
}).annotations({ identifier: "Credits" })

const SpendQuery = Schema.Struct({
  /** `next` of the page before. */
  after: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(1000)), { exact: true, default: () => "" }),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true, default: () => 1000 }),
}).annotations({ parseOptions: { errors: "all" } })

const Activity = Schema.Struct({ data: Schema.Array(ActivityItem) })
const CreditsAnswer = Schema.Struct({ data: Credits })

export const ActivityGroup = HttpApiGroup.make("activity")
  .add(
    HttpApiEndpoint.get("activity", "/activity")
      .setUrlParams(ActivityQuery)
      .addSuccess(Activity)
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "What was used by UTC day, model and host, the newest day first: today and on the last 30 days before it, or on one day. Items of today have is_partial. With `interval=hour`, `from`, `to`, `user` or `group_by=user` the rows of the ledger are read: by default of the last 24 hours, of at most 31 days and 1,000,000 rows. CSV by Accept: text/csv.",
      )
      .annotate(OpenApi.Transform, alsoCsv),
  )
  .add(
    HttpApiEndpoint.get("credits", "/credits")
      .addSuccess(CreditsAnswer)
      .annotate(OpenApi.Description, "What all keys have used, deleted ones too. CSV by Accept: text/csv.")
      .annotate(OpenApi.Transform, alsoCsv),
  )
  .add(
    HttpApiEndpoint.get("spend", "/spend")
      .setUrlParams(SpendQuery)
      .addSuccess(SpendAnswer)
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "What each key has spent that has spent anything, deleted ones too, by ascending hash. All pages add up to total_usage of /credits.",
      ),
  )
  .add(
    HttpApiEndpoint.get("providerKeys", "/spend/provider_keys")
      .addSuccess(ProviderKeysAnswer)
      .annotate(
        OpenApi.Description,
        "What each key of a provider with several was charged by its vendor. Those of the configuration come by their place, then others that were charged something.",
      ),
  )
  .addError(unavailable)
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

export const activityHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(ActivityGroup),
  "activity",
  (handlers) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const { activity } = storage
      const reached = orUnavailable("storage", storage)
      const registry = yield* ProviderRegistry
      const workspace = yield* Installation

      /** Names of the keys of these sums, by id. */
      const namesOf = (sums: ReadonlyArray<TimedSum>) => {
        const keys = [...new Set(sums.map(({ sum }) => KeyId.make(sum.key)))]
        const portions = Array.from({ length: Math.ceil(keys.length / keysAtOnce) }, (_, at) =>
          keys.slice(at * keysAtOnce, (at + 1) * keysAtOnce),
        )
        const found = Effect.forEach(portions, (portion) => reached(activity.names(portion)))
        return Effect.map(found, (maps) => new Map<string, string>(maps.flatMap((names) => [...names])))
      }

      const keptDays = (query: ActivityQuery, now: number) =>
        Effect.gen(function* () {
          const questions = daysOf(query, now)
          if (questions instanceof BadRequest) return yield* questions
          const sums = yield* Effect.forEach(questions, (question) => reached(activity.sums(question)))
          return sums.flat().map((sum): TimedSum => ({ start: sum.day, sum }))
        })

      // Rows of the ledger are written by the thread that reads these: many readers must not keep it busy.
      const oneAtATime = yield* Effect.makeSemaphore(1)

      const readRows = (query: ActivityQuery, now: number) =>
        Effect.gen(function* () {
          const span = spanOf(query, now, storage.installation)
          if (span instanceof BadRequest) return yield* span
          const part = (of: SpanQuery, below: string) => reached(activity.spanSums(of, below))
          const sums = yield* oneAtATime.withPermits(1)(readSpan(span, part))
          return sums.map((sum): TimedSum => ({ start: sum.start, sum }))
        })

      return handlers
        .handle("activity", ({ urlParams: query, request }) =>
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const sums = yield* isOfKeptDays(query) ? keptDays(query, now) : readRows(query, now)
            const context: ItemContext = {
              query,
              providers: providerNames(registry),
              keys: query.group_by === "api_key" ? yield* namesOf(sums) : new Map<string, string>(),
              workspace,
              current: query.interval === "hour" ? hourOf(now) : windowStart("daily", now),
            }
            return wantsCsv(request.headers["accept"])
              ? csvAnswer(
                  columnsOf(query),
                  sums.map((one) => ({ item: itemOf(one, context), amounts: amountsOf(one.sum) })),
                )
              : jsonAnswer<typeof Activity.Type>({ data: sums.map((one) => itemOf(one, context)) })
          }),
        )
        .handle("spend", ({ urlParams: { after, limit } }) =>
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const found = yield* reached(activity.spenders(after, limit, now))
            const data = found.map(({ key, name, isDeleted, spend }) => ({
              hash: key,
              name,
              is_deleted: isDeleted,
              ...amountsIn(spend),
            }))
            return { data, next: found.length < limit ? null : (found.at(-1)?.key ?? null) }
          }),
        )
        .handle("providerKeys", () =>
          Effect.gen(function* () {
            const spends = yield* reached(storage.ledger.providerSpends(yield* Clock.currentTimeMillis))
            return { data: providerKeySpends(configuredKeys(registry, storage.installation), spends) }
          }),
        )
        .handle("credits", ({ request }) =>
          Effect.map(reached(activity.total()), (used) => {
            const amounts = { total_credits: used, total_usage: used }
            const item = Struct.evolve(amounts, { total_credits: toUsd, total_usage: toUsd })
            const exact = Struct.evolve(amounts, { total_credits: formatUsd, total_usage: formatUsd })
            return wantsCsv(request.headers["accept"])
              ? csvAnswer(Struct.keys(amounts), [{ item, amounts }])
              : jsonAnswer<typeof CreditsAnswer.Type>({ data: { ...item, exact } })
          }),
        )
    }),
)

/** Keys whose names are asked for in one statement. */
const keysAtOnce = 500
