/** How a caller wants to be routed: the `provider` member of a request, and its service tier. */
import type { Picodollars } from "../price/money.ts"
import type { Thresholds } from "./Thresholds.ts"

export const quantizations = [
  "int4",
  "int8",
  "fp4",
  "mxfp4",
  "nvfp4",
  "fp6",
  "fp8",
  "mxfp8",
  "fp16",
  "bf16",
  "fp32",
  "unknown",
] as const

export type Quantization = (typeof quantizations)[number]

/** Values of `sort` that every caller may use. Where the strategy is not installed, the configured one is used. */
export const documentedSorts: ReadonlyArray<string> = ["price", "throughput", "latency", "exacto"]

/** The prices that a caller can put a ceiling on. */
export const pricesWithCeiling = ["prompt", "completion", "request", "image", "audio"] as const

export type MaxPrice = { readonly [Price in (typeof pricesWithCeiling)[number]]?: Picodollars }

export interface Preferences {
  /** Hosts to try first, in this order. Provider slugs, tags or display names. */
  readonly order: ReadonlyArray<string>
  /** Only these; empty: all. */
  readonly only: ReadonlyArray<string>
  readonly ignore: ReadonlyArray<string>
  /** Id of the strategy that orders the hosts; `undefined`: that of the model's variant, else the configured one. */
  readonly sort: string | undefined
  /** Whether hosts are ordered within each model, the models in the order given, or all together. */
  readonly partition: "model" | "none"
  readonly allowFallbacks: boolean
  readonly denyDataCollection: boolean
  readonly zeroDataRetention: boolean
  /** Only models whose author allows to train others on their answers. */
  readonly distillable: boolean
  /** Empty: any. */
  readonly quantizations: ReadonlyArray<string>
  /** Picodollars per token, request, image or audio token. Inclusive. */
  readonly maxPrice: MaxPrice
  readonly requireParameters: boolean
  /** Output tokens per second. Hosts that are slower come after the others. */
  readonly minThroughput: Thresholds | undefined
  /** Milliseconds to the first token. Hosts that are slower come after the others. */
  readonly maxLatencyMs: Thresholds | undefined
  /** Which hosts the caller pays for. `undefined`: those without a tier, unless the model's variant admits others. */
  readonly serviceTier: "default" | "flex" | "priority" | undefined
  /** Whether a second host may be called when the first one is slow; `undefined`: as the operator chose. */
  readonly hedge: boolean | undefined
}

export const noPreferences: Preferences = {
  order: [],
  only: [],
  ignore: [],
  sort: undefined,
  partition: "model",
  allowFallbacks: true,
  denyDataCollection: false,
  zeroDataRetention: false,
  distillable: false,
  quantizations: [],
  maxPrice: {},
  requireParameters: false,
  minThroughput: undefined,
  maxLatencyMs: undefined,
  serviceTier: undefined,
  hedge: undefined,
}
