/** `GET /generation?id=`: what the ledger has of one answer. Any key sees its own; a management key sees all. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NotFound } from "../../domain/Failure.ts"
import { toUsd } from "../../domain/Money.ts"
import { type LedgerRow, orUnavailable } from "../../services/ledger.ts"
import { ProviderRegistry } from "../../services/ProviderRegistry.ts"
import { Storage } from "../../services/Storage.ts"
import { badRequest, notFound, unavailable } from "../refusals.ts"
import { Authorize, CurrentKey } from "./authorize.ts"
import { Installation } from "./Installation.ts"
import { isoTime } from "./keyFigures.ts"
import { providerNames } from "./providerNames.ts"

/** The members of the router that the ledger does not keep are null. */
const Generation = Schema.Struct({
  id: Schema.String,
  request_id: Schema.String,
  model: Schema.String,
  /** When the request was admitted. */
  created_at: Schema.String,
  api_type: Schema.String,
  provider_name: Schema.String,
  provider_responses: Schema.Null,
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
  native_tokens_completion_images: Schema.Null,
  num_media_prompt: Schema.Null,
  num_media_completion: Schema.Null,
  num_input_audio_prompt: Schema.Null,
  num_search_results: Schema.Null,
  num_fetches: Schema.Null,
  /** What the key paid, in USD. */
  usage: Schema.Number,
  total_cost: Schema.Number,
  /** What the host charges the operator. */
  upstream_inference_cost: Schema.Number,
  cache_discount: Schema.Null,
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
}).annotations({ identifier: "Generation" })

export const GenerationGroup = HttpApiGroup.make("generation")
  .add(
    HttpApiEndpoint.get("generation", "/generation")
      .setUrlParams(Schema.Struct({ id: Schema.String.annotations({ description: "the id of a generation" }) }))
      .addSuccess(Schema.Struct({ data: Generation }))
      .addError(badRequest)
      .annotate(OpenApi.Description, "One answer of the calling key, or of any key for a management key."),
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
      const { ledger } = yield* Storage
      const registry = yield* ProviderRegistry
      const workspace = yield* Installation
      return handlers.handle("generation", ({ urlParams }) =>
        Effect.gen(function* () {
          const key = yield* CurrentKey
          const row = yield* orUnavailable("storage")(ledger.generation(urlParams.id))
          // Another key's answer is as unknown as one that never was.
          if (row === undefined || (key.kind !== "management" && row.key !== key.id)) return yield* unknown
          const provider = providerNames(registry).get(row.provider) ?? row.provider
          return { data: { ...figuresOf(row), provider_name: provider, workspace_id: workspace } }
        }),
      )
    }),
)

const unknown = new NotFound({ what: "This generation" })

const figuresOf = (row: LedgerRow) => ({
  id: row.generationId,
  request_id: row.requestId,
  model: row.model,
  created_at: isoTime(row.admittedAt),
  api_type: row.operation === "embeddings" || row.operation === "rerank" ? row.operation : "completions",
  provider_responses: null,
  streamed: row.streamed,
  cancelled: row.outcome === "caller-gone",
  finish_reason: row.finishReason === "" ? null : row.finishReason,
  native_finish_reason: null,
  tokens_prompt: row.promptTokens,
  tokens_completion: row.completionTokens,
  native_tokens_prompt: row.promptTokens,
  native_tokens_completion: row.completionTokens,
  native_tokens_reasoning: row.reasoningTokens,
  native_tokens_cached: row.cachedTokens,
  native_tokens_completion_images: null,
  num_media_prompt: null,
  num_media_completion: null,
  num_input_audio_prompt: null,
  num_search_results: null,
  num_fetches: null,
  usage: toUsd(row.cost),
  total_cost: toUsd(row.cost),
  upstream_inference_cost: toUsd(row.upstreamCost),
  cache_discount: null,
  is_byok: false,
  latency: row.latencyMs,
  generation_time: row.durationMs,
  moderation_latency: null,
  origin: row.appUrl,
  http_referer: row.appUrl === "" ? null : row.appUrl,
  user_agent: null,
  app_id: null,
  external_user: null,
  router: null,
  upstream_id: null,
  preset_id: null,
  service_tier: null,
  web_search_engine: null,
  data_region: "global",
})
