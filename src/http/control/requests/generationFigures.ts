/** Figures of one request, under the names of the router's API. What neither the ledger nor the record has is null. */
import * as Schema from "effect/Schema"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { toUsd } from "../../../domain/price/money.ts"
import { isUnaryName } from "../../../domain/request/operations.ts"
import type { EndedCall } from "../../../domain/routing/routed.ts"
import type { LedgerRow } from "../../../services/storage/ledger.ts"
import type { RequestRecord } from "../../../services/storage/requests.ts"
import { callsOf, statusOf } from "./callsOf.ts"

/** One host's answer. */
export const ProviderResponse = Schema.Struct({
  /** `null`: there was none, or the gateway was killed before it knew. */
  status: Schema.NullOr(Schema.Int),
  provider_name: Schema.String,
  /** The tag of the host. */
  endpoint_id: Schema.String,
  is_byok: Schema.Boolean,
  /** Milliseconds to the first token; of a call that failed or lost, those that it took. 0: it was not kept. */
  latency: Schema.Number,
  model_permaslug: Schema.String,
  /** What kept the host from being reached; `null`: nothing, or it is not known. */
  fault: Schema.NullOr(Schema.String),
})

type NameOf = (provider: string) => string

/** The answers of all hosts that were called, by the row alone. */
export const responsesOfRow = (row: LedgerRow, nameOf: NameOf): ReadonlyArray<typeof ProviderResponse.Type> => {
  const { model, host, latencyMs: ms } = row
  const answer = responseOf({ model, host, status: statusOf(row), ms }, nameOf)
  return callsOf(row)?.map((call) => (call.outcome === row.outcome ? answer : responseOf(call, nameOf))) ?? [answer]
}

/** The answers of all hosts that were called. */
export const responsesOf = ({ attempts }: RequestRecord, nameOf: NameOf) =>
  attempts.map((attempt) => responseOf(attempt, nameOf))

const responseOf = (
  { host, model, status, ms, fault }: Omit<EndedCall, "outcome">,
  nameOf: NameOf,
): typeof ProviderResponse.Type => ({
  status,
  provider_name: nameOf(providerOf(host)),
  endpoint_id: host,
  is_byok: false,
  latency: ms ?? 0,
  model_permaslug: model,
  fault: fault ?? null,
})

/** The provider of a host, by its tag. */
const providerOf = (tag: string): string => tag.split("/", 1)[0] ?? tag

/** Members of which the gateway keeps nothing. */
const notKept = {
  native_finish_reason: null,
  num_media_completion: null,
  num_input_audio_prompt: null,
  num_search_results: null,
  num_fetches: null,
  is_byok: false,
  moderation_latency: null,
  user_agent: null,
  app_id: null,
  external_user: null,
  router: null,
  upstream_id: null,
  preset_id: null,
  service_tier: null,
  web_search_engine: null,
  data_region: "global",
}

const originOf = (appUrl: string) => ({ origin: appUrl, http_referer: appUrl === "" ? null : appUrl })

// The router calls a chat a completion.
const apiTypeOf = (operation: string): string => (isUnaryName(operation) ? operation : "completions")

export const figuresOf = (row: LedgerRow) => ({
  ...notKept,
  id: row.generationId,
  request_id: row.requestId,
  caller_request_id: row.callerRequestId === "" ? null : row.callerRequestId,
  model: row.model,
  created_at: isoTime(row.admittedAt),
  api_type: apiTypeOf(row.operation),
  streamed: row.streamed,
  cancelled: row.outcome === "caller-gone",
  finish_reason: row.finishReason === "" ? null : row.finishReason,
  tokens_prompt: row.promptTokens,
  tokens_completion: row.completionTokens,
  native_tokens_prompt: row.promptTokens,
  native_tokens_completion: row.completionTokens,
  native_tokens_reasoning: row.reasoningTokens,
  native_tokens_cached: row.cachedTokens,
  native_tokens_completion_images: row.rareUsage?.completionImageTokens ?? 0,
  num_media_prompt: row.rareUsage?.images ?? 0,
  usage: toUsd(row.cost),
  total_cost: toUsd(row.cost),
  upstream_inference_cost: toUsd(row.upstreamCost),
  latency: row.latencyMs,
  generation_time: row.durationMs,
  ...originOf(row.appUrl),
})

/** Figures of a request for which nothing was booked. */
export const figuresOfFailed = (record: RequestRecord, nameOf: NameOf) => ({
  ...notKept,
  id: record.generationId ?? record.requestId,
  request_id: record.requestId,
  caller_request_id: record.callerRequestId === "" ? null : record.callerRequestId,
  model: record.model,
  created_at: isoTime(record.createdAt),
  api_type: apiTypeOf(record.form ?? ""),
  provider_name: record.host === null ? null : nameOf(providerOf(record.host)),
  provider_responses: responsesOf(record, nameOf),
  streamed: record.streamed,
  cancelled: record.outcome === "caller_gone",
  finish_reason: null,
  tokens_prompt: 0,
  tokens_completion: 0,
  native_tokens_prompt: 0,
  native_tokens_completion: 0,
  native_tokens_reasoning: 0,
  native_tokens_cached: 0,
  native_tokens_completion_images: 0,
  num_media_prompt: 0,
  usage: 0,
  total_cost: 0,
  upstream_inference_cost: 0,
  cache_discount: null,
  latency: record.times.firstToken ?? 0,
  generation_time: record.durationMs,
  plan: null,
  billing: null,
  ...originOf(record.appUrl),
})
