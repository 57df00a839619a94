/** How a caller wants to be routed: the `provider` member of a request. Spec 2.1, reference 6.3. */
import type { Picodollars } from "./Money.ts"

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

export const sorts = ["price", "throughput", "latency", "exacto"] as const

export interface Preferences {
  /** Hosts to try first, in this order. Provider slugs, tags or display names. */
  readonly order: ReadonlyArray<string>
  /** Only these; empty: all. */
  readonly only: ReadonlyArray<string>
  readonly ignore: ReadonlyArray<string>
  /** Id of the strategy that orders the hosts; `undefined`: the configured one. */
  readonly sort: string | undefined
  readonly allowFallbacks: boolean
  readonly denyDataCollection: boolean
  readonly zeroDataRetention: boolean
  /** Empty: any. */
  readonly quantizations: ReadonlyArray<string>
  /** Picodollars per token. Inclusive. */
  readonly maxPrice: { readonly prompt?: Picodollars; readonly completion?: Picodollars }
  readonly requireParameters: boolean
}

export const noPreferences: Preferences = {
  order: [],
  only: [],
  ignore: [],
  sort: undefined,
  allowFallbacks: true,
  denyDataCollection: false,
  zeroDataRetention: false,
  quantizations: [],
  maxPrice: {},
  requireParameters: false,
}
