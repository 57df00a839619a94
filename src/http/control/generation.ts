/**
 * `GET /generation?id=`: what the ledger has of one answer, or what is kept of a request that failed. Any key sees its own; a management key
 * sees all.
 * `GET /generation/content?id=`: prompt and answer, which are not stored.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { NotFound } from "../../domain/failures/Failure.ts"
import { requestOutcomes } from "../../domain/failures/RequestOutcome.ts"
import type { KeyId } from "../../domain/ids.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { type Billed, reprice } from "../../domain/money/Charge.ts"
import { type ChargeLine, chargeLineNames, chargeLines } from "../../domain/money/chargeLines.ts"
import { formatUsd, type Picodollars, toUsd } from "../../domain/price/money.ts"
import { pricingOf } from "../../domain/price/PriceVersion.ts"
import type { Pricing } from "../../domain/price/price.ts"
import { RequestRecords } from "../../services/records/RequestRecords.ts"
import { type LedgerRow, usageOf } from "../../services/storage/ledger.ts"
import type { ListedRequest, RequestRecord } from "../../services/storage/requests.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { orUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { badRequest, notFound, unavailable } from "../refusals.ts"
import { Authorize, CurrentKey } from "./Authorize.ts"
import { Installation } from "./Installation.ts"
import { providerNames } from "./models/providerNames.ts"
import {
  figuresOf,
  figuresOfFailed,
  ProviderResponse,
  responsesOf,
  responsesOfRow,
} from "./requests/generationFigures.ts"
import { endOf } from "./requests/requestItem.ts"
import { routeOf } from "./requests/routeOf.ts"

/** How the request was routed. With the request, strategy and seed repeat its plan. Own members of this gateway. */
const FollowedPlan = Schema.Struct({
  /** "" where the row is from before the ledger had it. */
  strategy: Schema.String,
  seed: Schema.Int,
  host: Schema.String,
  provider: Schema.String,
  /** The client's form, such as `chat`, and what was asked for. */
  form: Schema.String,
  operation: Schema.String,
  /** `finished`, or who ended the answer early. */
  outcome: Schema.String,
})

/** A part of what the key paid. */
const BillingLine = Schema.Struct({
  what: Schema.Literal(...chargeLineNames),
  /** `null`: the line has none. */
  quantity: Schema.NullOr(Schema.Number),
  /** Of the quantity: `token`, `request`, `search unit`, `search`, `image`, `percent`. */
  unit: Schema.NullOr(Schema.String),
  /** Decimal of USD, before a discount. */
  unit_price_usd: Schema.NullOr(Schema.String),
  /** Decimal of USD. Negative for what is taken off. */
  amount_usd: Schema.String,
}).annotations({ identifier: "BillingLine" })

/** What the cost was computed from. Own members of this gateway. */
const Billing = Schema.Struct({
  /** Where the price comes from: the host's own, that of another host, or none. */
  price_basis: Schema.String,
  /** Names the prices in force then; `null`: there were none. */
  price_version: Schema.NullOr(Schema.Int),
  /** Tokens were estimated, because the host reported no valid usage. */
  estimated: Schema.Boolean,
  /** Why the key paid nothing; `null`: it paid what the host charges. */
  waived: Schema.NullOr(Schema.String),
  cache_write_tokens: Schema.Int,
  web_searches: Schema.Int,
  /** The price line by line: the amounts add up to what the key paid, exactly. */
  lines: Schema.Array(BillingLine),
})

/** Why a request went where it went: what is kept of its plan. A member of this gateway alone. */
const FollowedRoute = Schema.Struct({
  /** How the hosts were ordered; `null`: there was no plan, since every host was left out. */
  strategy: Schema.NullOr(Schema.String),
  seed: Schema.NullOr(Schema.Int),
  /** In the order of the plan. */
  order: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      /** The tag of the host. */
      host: Schema.String,
      /** How its answer ended, why its call failed, `lost` where another call was faster, `skipped` or `not_called`. */
      outcome: Schema.String,
      /** What kept it from being reached, such as `dns`; `null`: nothing, or it is not known. */
      fault: Schema.NullOr(Schema.String),
    }),
  ),
  excluded: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      host: Schema.String,
      /** The rule, as in `POST /route/explain`. */
      by: Schema.String,
      /** What the rule means. */
      reason: Schema.String,
    }),
  ),
  /** Hosts are missing, since there were too many. */
  cut: Schema.Boolean,
})

/** Amounts of the same names as decimals, exact to the picodollar. */
const ExactAmounts = Schema.Struct({
  usage: Schema.String,
  total_cost: Schema.String,
  upstream_inference_cost: Schema.String,
  cache_discount: Schema.NullOr(Schema.String),
})

/** The members of the router that the ledger does not keep are null. */
const Generation = Schema.Struct({
  /** Of a request that failed before it had one: the id of the request. */
  id: Schema.String,
  request_id: Schema.String,
  /** The `X-Request-Id` that the caller sent; `null`: none, or one that was not recorded (`callerRequestId`). A member of this gateway alone. */
  caller_request_id: Schema.NullOr(Schema.String),
  /** `null`: it is not known which was asked for. */
  model: Schema.NullOr(Schema.String),
  /** When the request was admitted. */
  created_at: Schema.String,
  /** What the caller got; `null`: the gateway was killed before it knew. A member of this gateway alone, as the next two. */
  status: Schema.NullOr(Schema.Int),
  /** How the request ended, in one word. */
  outcome: Schema.Literal(...requestOutcomes),
  /** What else is known of why it failed. */
  why: Schema.NullOr(Schema.String),
  api_type: Schema.String,
  /** `null`: no host was called. */
  provider_name: Schema.NullOr(Schema.String),
  /** Of each call of a host, in the order in which they ended. */
  provider_responses: Schema.Array(ProviderResponse),
  streamed: Schema.Boolean,
  /** The caller left before the end. */
  cancelled: Schema.Boolean,
  finish_reason: Schema.NullOr(Schema.String),
  native_finish_reason: Schema.Null,
  tokens_prompt: Schema.Int,
  tokens_completion: Schema.Int,
  native_tokens_prompt: Schema.Int,
  native_tokens_completion: Schema.Int,
  native_tokens_reasoning: Schema.Int,
  native_tokens_cached: Schema.Int,
  native_tokens_completion_images: Schema.Int,
  /** Images in the prompt. */
  num_media_prompt: Schema.Int,
  num_media_completion: Schema.Null,
  num_input_audio_prompt: Schema.Null,
  num_search_results: Schema.Null,
  num_fetches: Schema.Null,
  /** What the key paid, in USD. */
  usage: Schema.Number,
  total_cost: Schema.Number,
  /** What the host charges the operator. */
  upstream_inference_cost: Schema.Number,
  /** What the host's prompt cache saved, in USD; negative where writing to it cost more. `null`: no price was known. */
  cache_discount: Schema.NullOr(Schema.Number),
  is_byok: Schema.Boolean,
  /** Milliseconds to the first token, and to the end. */
  latency: Schema.Number,
  generation_time: Schema.Number,
  moderation_latency: Schema.Null,
  origin: Schema.String,
  http_referer: Schema.NullOr(Schema.String),
  user_agent: Schema.Null,
  app_id: Schema.Null,
  external_user: Schema.Null,
  router: Schema.Null,
  upstream_id: Schema.Null,
  preset_id: Schema.Null,
  service_tier: Schema.Null,
  web_search_engine: Schema.Null,
  workspace_id: Schema.String,
  data_region: Schema.String,
  /** `null`: nothing was booked. */
  plan: Schema.NullOr(FollowedPlan),
  billing: Schema.NullOr(Billing),
  /** `null`: nothing is kept of it. */
  route: Schema.NullOr(FollowedRoute),
  exact: ExactAmounts,
}).annotations({ identifier: "Generation" })

const GenerationQuery = Schema.Struct({
  id: Schema.String.annotations({ description: "the id of a generation, or of a request" }),
})

/** Removes the success that HttpApi assumes: there is none. */
const neverSucceeds = (operation: JsonObject): JsonObject => {
  const { responses } = operation
  return isJsonObject(responses) ? { ...operation, responses: Struct.omit(responses, "204") } : operation
}

export const GenerationGroup = HttpApiGroup.make("generation")
  .add(
    HttpApiEndpoint.get("generation", "/generation")
      .setUrlParams(GenerationQuery)
      .addSuccess(Schema.Struct({ data: Generation }))
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "One answer of the calling key, or of any key for a management key. Of a request that failed, why.",
      ),
  )
  .add(
    HttpApiEndpoint.get("content", "/generation/content")
      .setUrlParams(GenerationQuery)
      .addError(badRequest)
      .annotate(OpenApi.Description, "Prompt and answer. This gateway stores neither, so there is none.")
      .annotate(OpenApi.Transform, neverSucceeds),
  )
  .addError(notFound)
  .addError(unavailable)
  .middleware(Authorize)
  .prefix("/api/v1")

export const generationHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(GenerationGroup),
  "generation",
  (handlers) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const { ledger, prices, requests } = storage
      const { flush } = yield* RequestRecords
      const reached = orUnavailable("storage", storage)
      const registry = yield* ProviderRegistry
      const workspace = yield* Installation

      /** The request with this id, or with that of its generation, which this key may see. Another key's is as unknown as one that never was. */
      const requestOf = Effect.fnUntraced(function* (id: string) {
        const key = yield* CurrentKey
        yield* flush
        const row = yield* reached(requestIdForm.test(id) ? ledger.find(id) : ledger.generation(id))
        const found = listedOf(yield* reached(requests.find(id)), row)
        if (found === undefined || (key.kind !== "management" && ownerOf(found) !== key.id)) return yield* unknown
        return found
      })

      /** The prices that the row was computed with; `undefined`: none were known, or their version cannot be read. */
      const pricingFor = ({ priceVersion: id }: LedgerRow) =>
        id === null
          ? Effect.succeed(undefined)
          : Effect.map(reached(prices.list(id - 1, 1)), ([version]) =>
              version?.id === id ? pricingOf(version) : undefined,
            )

      return handlers
        .handle("generation", ({ urlParams }) =>
          Effect.gen(function* () {
            const found = yield* requestOf(urlParams.id)
            const names = providerNames(registry)
            const nameOf = (provider: string) => names.get(provider) ?? provider
            const own = { ...endOf(found), workspace_id: workspace }
            const { row, record } = found
            if (row === null) {
              if (record === null) return yield* unknown
              const route = routeOf(record, null)
              return { data: { ...figuresOfFailed(record, nameOf), ...own, route, exact: exactly(0n, 0n, null) } }
            }
            const pricing = yield* pricingFor(row)
            const saved = pricing === undefined ? null : savedByCache(row, pricing)
            const data: typeof Generation.Type = {
              ...figuresOf(row),
              ...own,
              provider_name: nameOf(row.provider),
              provider_responses: record === null ? responsesOfRow(row, nameOf) : responsesOf(record, nameOf),
              cache_discount: saved === null ? null : toUsd(saved),
              plan: planOf(row),
              billing: billingOf(row, pricing),
              route: routeOf(record, row),
              exact: exactly(row.cost, row.upstreamCost, saved),
            }
            return { data }
          }),
        )
        .handle("content", ({ urlParams }) => Effect.zipRight(requestOf(urlParams.id), Effect.fail(noContent)))
    }),
)

const requestIdForm = /^req_[0-9A-Za-z]{24}$/

const listedOf = (record: RequestRecord | undefined, row: LedgerRow | undefined): ListedRequest | undefined => {
  if (record !== undefined) return { record, row: row ?? null }
  return row && { record: null, row }
}

const ownerOf = ({ record, row }: ListedRequest): KeyId => (record ?? row).key

const unknown = new NotFound({ what: "This generation" })
const noContent = new NotFound({ what: "A stored prompt or answer of this generation" })

const billedOf = (row: LedgerRow): Billed => {
  const { admittedAt, waived } = row
  return { usage: usageOf(row), images: row.rareUsage?.images ?? 0, admittedAt, waived }
}

/** What the prompt would have cost without a cache, less what it cost. Nothing where the key paid nothing. */
const savedByCache = (row: LedgerRow, pricing: Pricing): Picodollars => {
  const billed = billedOf(row)
  const { usage } = billed
  const uncached = {
    ...usage,
    ...{ cachedTokens: 0, cachedExplicitTokens: 0, cachedAudioTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
  }
  return reprice({ ...billed, usage: uncached }, pricing).cost.total - reprice(billed, pricing).cost.total
}

const planOf = (row: LedgerRow): typeof FollowedPlan.Type =>
  Struct.pick(row, "strategy", "seed", "host", "provider", "form", "operation", "outcome")

const exactly = (cost: Picodollars, upstream: Picodollars, saved: Picodollars | null): typeof ExactAmounts.Type => ({
  usage: formatUsd(cost),
  total_cost: formatUsd(cost),
  upstream_inference_cost: formatUsd(upstream),
  cache_discount: saved === null ? null : formatUsd(saved),
})

const lineOf = ({ what, quantity, unit, price, amount }: ChargeLine): typeof BillingLine.Type => ({
  ...{ what, quantity, unit },
  unit_price_usd: price === null ? null : formatUsd(price),
  amount_usd: formatUsd(amount),
})

const billingOf = (row: LedgerRow, pricing: Pricing | undefined): typeof Billing.Type => ({
  price_basis: row.priceBasis,
  price_version: row.priceVersion,
  estimated: row.estimated,
  waived: row.waived,
  cache_write_tokens: row.cacheWriteTokens,
  web_searches: row.rareUsage?.webSearches ?? 0,
  lines: chargeLines(billedOf(row), pricing, row.cost).map(lineOf),
})
