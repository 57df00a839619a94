/** `GET /activity` and `GET /credits`: what was used, by day, and in all. Management keys only; as JSON or CSV. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { BadRequest } from "../../domain/failures/Failure.ts"
import { KeyId } from "../../domain/ids.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { windowStart } from "../../domain/keys/limitWindows.ts"
import { type DaySum, dateOf, dayOf, daysWithToday } from "../../domain/money/activity.ts"
import { formatUsd, type Picodollars, toUsd } from "../../domain/price/money.ts"
import { orUnavailable } from "../../services/storage/ledger.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { type Cell, csv, csvType, wantsCsv } from "../csv.ts"
import { badRequest, unavailable } from "../refusals.ts"
import { AuthorizeManagement } from "./Authorize.ts"
import { Installation, OwnWorkspace } from "./Installation.ts"
import { providerNames } from "./models/providerNames.ts"
import { wholeNumber } from "./query.ts"
import { amountsIn, configuredKeys, nothingSpent, ProviderKeysAnswer, SpendAnswer } from "./spendRecords.ts"

/** What was used on one UTC day of one model at one host. Amounts in USD. */
const ActivityItem = Schema.Struct({
  /** `2026-07-15`. A request counts on the day on which it was admitted. */
  date: Schema.String,
  /** Whether the day is not over, so that its sums still grow. */
  is_partial: Schema.Boolean,
  model: Schema.String,
  model_permaslug: Schema.String,
  /** The tag of the host. */
  endpoint_id: Schema.String,
  provider_name: Schema.String,
  /** What callers pay. */
  usage: Schema.Number,
  byok_usage_inference: Schema.Number,
  /** What the host charges the operator, also for what callers do not pay. */
  upstream_inference_cost: Schema.Number,
  requests: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  /** Parts of the prompt: read from a cache, written to one. */
  cached_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  /** Part of the completion. */
  reasoning_tokens: Schema.Int,
  /** Only with `group_by=workspace`. */
  workspace_id: Schema.optionalWith(Schema.String, { exact: true }),
  /** Only with `group_by=api_key`. */
  api_key_hash: Schema.optionalWith(Schema.String, { exact: true }),
  /** The last one of a deleted key; `null`: it is not known. */
  api_key_name: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true }),
  /** Only with `group_by=app`; "" where the caller gave none. */
  app_url: Schema.optionalWith(Schema.String, { exact: true }),
  app_title: Schema.optionalWith(Schema.String, { exact: true }),
}).annotations({ identifier: "ActivityItem" })

/** In USD. Nothing is paid in advance, so what was paid is what was used, and the balance is 0. */
const Credits = Schema.Struct({ total_credits: Schema.Number, total_usage: Schema.Number }).annotations({
  identifier: "Credits",
})

const SpendQuery = Schema.Struct({
  /** `next` of the page before. */
  after: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(1000)), { exact: true, default: () => "" }),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true, default: () => 1000 }),
}).annotations({ parseOptions: { errors: "all" } })

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

const optional = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

const ActivityQuery = Schema.Struct({
  date: optional(KnownDay),
  api_key_hash: optional(matching(/^[0-9a-f]{64}$/, "the hash of a key: 64 lower-case hex digits")),
  /** The creator of keys. Rows of deleted keys are nobody's. */
  user_id: optional(matching(/^.{1,200}$/su, "a text of 1 to 200 characters")),
  workspace_id: optional(OwnWorkspace),
  group_by: optional(
    Schema.Literal("workspace", "api_key", "app").annotations({
      message: () => ({ message: 'expected "workspace", "api_key" or "app"', override: true }),
    }),
  ),
}).annotations({ parseOptions: { errors: "all" } })

const Activity = Schema.Struct({ data: Schema.Array(ActivityItem) })
const CreditsAnswer = Schema.Struct({ data: Credits })

/** Adds to an operation's description that it also answers as CSV. HttpApi describes one content type for a status. */
const alsoCsv = (operation: JsonObject): JsonObject => {
  const { responses } = operation
  const ok = isJsonObject(responses) ? responses["200"] : undefined
  if (!isJsonObject(responses) || !isJsonObject(ok) || !isJsonObject(ok["content"])) return operation
  const table = { schema: { type: "string", description: "The same with a line of names first. Amounts are exact." } }
  return {
    ...operation,
    responses: { ...responses, "200": { ...ok, content: { ...ok["content"], [csvType]: table } } },
  }
}

export const ActivityGroup = HttpApiGroup.make("activity")
  .add(
    HttpApiEndpoint.get("activity", "/activity")
      .setUrlParams(ActivityQuery)
      .addSuccess(Activity)
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "What was used by UTC day, model and host, the newest day first: today and on the last 30 days before it, or on one day. Items of today have is_partial. CSV by Accept: text/csv.",
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
      const namesOf = (sums: ReadonlyArray<DaySum>) => {
        const keys = [...new Set(sums.map(({ key }) => KeyId.make(key)))]
        const portions = Array.from({ length: Math.ceil(keys.length / keysAtOnce) }, (_, at) =>
          keys.slice(at * keysAtOnce, (at + 1) * keysAtOnce),
        )
        const found = Effect.forEach(portions, (portion) => reached(activity.names(portion)))
        return Effect.map(found, (maps) => new Map<string, string>(maps.flatMap((names) => [...names])))
      }

      return handlers
        .handle("activity", ({ urlParams, request }) =>
          Effect.gen(function* () {
            const { date, group_by: grouping, api_key_hash: hash, user_id: creator } = urlParams
            if (grouping === "app" && (hash !== undefined || creator !== undefined)) return yield* noAppsOfKeys
            const now = yield* Clock.currentTimeMillis
            const today = windowStart("daily", now)
            const days = date === undefined ? daysWithToday(now) : [date]
            const by = grouping === "api_key" ? "key" : grouping === "app" ? "app" : "host"
            // There may be many keys and apps. Between two reads the database can commit.
            const portions = by === "host" ? [days] : days.map((day) => [day])
            const sums = yield* Effect.forEach(portions, (portion) =>
              reached(
                activity.sums({
                  days: portion,
                  by,
                  ...(hash === undefined ? {} : { key: KeyId.make(hash) }),
                  ...(creator === undefined ? {} : { creator }),
                }),
              ),
            )
            const names = providerNames(registry)
            const keyNames = by === "key" ? yield* namesOf(sums.flat()) : new Map<string, string>()
            const itemOf = (sum: DaySum): typeof ActivityItem.Type => ({
              ...figuresOf(sum, names.get(sum.provider) ?? sum.provider, today),
              ...(grouping === "workspace" ? { workspace_id: workspace } : {}),
              ...(grouping === "api_key" ? { api_key_hash: sum.key, api_key_name: keyNames.get(sum.key) ?? null } : {}),
              ...(grouping === "app" ? { app_url: sum.appUrl, app_title: sum.appTitle } : {}),
            })
            return wantsCsv(request.headers["accept"])
              ? csvAnswer(
                  columnsOf(grouping),
                  sums.flat().map((sum) => ({ item: itemOf(sum), amounts: amountsOf(sum) })),
                )
              : jsonAnswer<typeof Activity.Type>({ data: sums.flat().map(itemOf) })
          }),
        )
        .handle("spend", ({ urlParams: { after, limit } }) =>
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const found = yield* reached(activity.spenders(after, limit, now))
            const data = found.map(({ key, name, isDeleted, spend }) => ({
              ...{ hash: key, name, is_deleted: isDeleted },
              ...amountsIn(spend),
            }))
            return { data, next: found.length < limit ? null : (found.at(-1)?.key ?? null) }
          }),
        )
        .handle("providerKeys", () =>
          Effect.gen(function* () {
            const spends = yield* reached(storage.ledger.providerSpends(yield* Clock.currentTimeMillis))
            const left = new Map(spends.map(({ providerKey, spend }) => [providerKey, spend]))
            const data = configuredKeys(registry, storage.installation).map(({ provider, label, id }) => {
              const spend = left.get(id) ?? nothingSpent
              left.delete(id)
              return { ...{ provider, api_key: label, id }, ...amountsIn(spend) }
            })
            const others = [...left].map(([id, spend]) => ({
              ...{ provider: id.slice(0, id.lastIndexOf("/")), api_key: null, id },
              ...amountsIn(spend),
            }))
            return { data: [...data, ...others] }
          }),
        )
        .handle("credits", ({ request }) =>
          Effect.map(reached(activity.total()), (used) => {
            const amounts = { total_credits: used, total_usage: used }
            const data = Struct.evolve(amounts, { total_credits: toUsd, total_usage: toUsd })
            return wantsCsv(request.headers["accept"])
              ? csvAnswer(Struct.keys(Credits.fields), [{ item: data, amounts }])
              : jsonAnswer<typeof CreditsAnswer.Type>({ data })
          }),
        )
    }),
)

/** Keys whose names are asked for in one statement. */
const keysAtOnce = 500

const noAppsOfKeys = new BadRequest({
  issues: [{ path: "group_by", message: "cannot be app together with api_key_hash or user_id" }],
})

const amountsOf = (sum: DaySum) => ({
  usage: sum.cost,
  byok_usage_inference: 0n,
  upstream_inference_cost: sum.upstreamCost,
})

/** `today`: its first Unix millisecond. */
const figuresOf = (sum: DaySum, providerName: string, today: number): typeof ActivityItem.Type => ({
  date: dateOf(sum.day),
  is_partial: sum.day >= today,
  model: sum.model,
  model_permaslug: sum.model,
  endpoint_id: sum.host,
  provider_name: providerName,
  ...Struct.evolve(amountsOf(sum), { usage: toUsd, byok_usage_inference: toUsd, upstream_inference_cost: toUsd }),
  requests: sum.requests,
  prompt_tokens: sum.promptTokens,
  completion_tokens: sum.completionTokens,
  cached_tokens: sum.cachedTokens,
  cache_write_tokens: sum.cacheWriteTokens,
  reasoning_tokens: sum.reasoningTokens,
})

const groupingOf: { readonly [name in keyof typeof ActivityItem.fields]?: typeof ActivityQuery.Type.group_by } = {
  workspace_id: "workspace",
  api_key_hash: "api_key",
  api_key_name: "api_key",
  app_url: "app",
  app_title: "app",
}

const columnsOf = (grouping: typeof ActivityQuery.Type.group_by) =>
  Struct.keys(ActivityItem.fields).filter((name) => name in groupingOf === false || groupingOf[name] === grouping)

// The answer depends on what the caller accepts.
const headers = { vary: "accept" }

const jsonAnswer = <A>(body: A) => HttpServerResponse.unsafeJson(body, { headers })

interface Row<Name extends string> {
  readonly item: { readonly [N in Name]?: string | number | boolean | null }
  /** Members of it that are money: exact in CSV, where JSON has the nearest number. */
  readonly amounts: { readonly [N in Name]?: Picodollars }
}

const csvAnswer = <Name extends string>(names: ReadonlyArray<Name>, rows: ReadonlyArray<Row<Name>>) => {
  const cell = ({ item, amounts }: Row<Name>, name: Name): Cell => {
    const money = amounts[name]
    if (money !== undefined) return { amount: formatUsd(money) }
    const value = item[name] ?? ""
    return typeof value === "number" ? { amount: value } : String(value)
  }
  const text = csv(
    names,
    rows.map((row) => names.map((name) => cell(row, name))),
  )
  return HttpServerResponse.text(text, { contentType: `${csvType}; charset=utf-8; header=present`, headers })
}
