/** Models and their hosts, as the listings have them. Prices are decimal strings of USD for one token, or for one of what they name. */

export type Pricing = Readonly<Record<string, unknown>> & {
  readonly discount: number
  readonly overrides: ReadonlyArray<Readonly<Record<string, unknown>>>
}

export interface Model {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly context_length: number
  readonly architecture: {
    readonly modality: string
    readonly input_modalities: ReadonlyArray<string>
    readonly output_modalities: ReadonlyArray<string>
  }
  readonly pricing: Pricing
  readonly supported_parameters: ReadonlyArray<string>
  readonly expiration_date: string | null
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

export interface Host {
  readonly name: string
  readonly context_length: number
  readonly pricing: Pricing
  readonly provider_name: string
  readonly tag: string
  readonly quantization: string
  readonly max_completion_tokens: number
  readonly max_prompt_tokens: number | null
  readonly supported_parameters: ReadonlyArray<string>
  readonly status: number
  readonly uptime_last_30m: number | null
  readonly uptime_last_5m: number | null
  readonly uptime_last_1d: number | null
  readonly supports_implicit_caching: boolean
  /** Milliseconds. */
  readonly latency_last_30m: Percentiles | null
  /** Output tokens per second. */
  readonly throughput_last_30m: Percentiles | null
}

export interface HostListing {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly architecture: Model["architecture"]
  readonly endpoints: ReadonlyArray<Host>
}
