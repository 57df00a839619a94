/** One request, as `GET /generation` tells of it. */
import type { Attempt } from "./types.ts"

export interface BillingLine {
  readonly what: string
  readonly quantity: number | null
  readonly unit: string | null
  readonly unit_price_usd: string | null
  readonly amount_usd: string
}

export interface RequestDetail {
  readonly id: string
  readonly request_id: string
  readonly caller_request_id: string | null
  readonly model: string | null
  readonly created_at: string
  readonly status: number | null
  readonly outcome: string
  readonly why: string | null
  readonly api_type: string
  readonly provider_name: string | null
  readonly streamed: boolean
  readonly cancelled: boolean
  readonly finish_reason: string | null
  readonly tokens_prompt: number
  readonly tokens_completion: number
  readonly native_tokens_reasoning: number
  readonly native_tokens_cached: number
  readonly exact: {
    readonly usage: string
    readonly total_cost: string
    readonly upstream_inference_cost: string
    readonly cache_discount: string | null
  }
  /** Milliseconds. */
  readonly latency: number
  readonly generation_time: number
  readonly origin: string
  readonly plan: {
    readonly strategy: string
    readonly seed: number
    readonly host: string
    readonly form: string
  } | null
  readonly route: {
    readonly strategy: string | null
    readonly seed: number | null
    readonly order: ReadonlyArray<Pick<Attempt, "model" | "host" | "outcome" | "fault">>
    readonly excluded: ReadonlyArray<{
      readonly model: string
      readonly host: string
      readonly by: string
      readonly reason: string
    }>
    readonly cut: boolean
  } | null
  readonly billing: {
    readonly price_basis: string
    readonly price_version: number | null
    readonly estimated: boolean
    readonly waived: string | null
    readonly lines: ReadonlyArray<BillingLine>
  } | null
}
