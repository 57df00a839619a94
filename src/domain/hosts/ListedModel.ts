/**
 * A model and its hosts as a provider's plugin lists them. It is the form of `models` in the configuration, less the
 * `provider` of each host: that is the provider which lists them. Made by `scripts/configSchema.ts` of the Schema in
 * `catalogue/schema.ts`: what is to be changed is changed there.
 */
import type { Quantization } from "../request/Preferences.ts"

/** A decimal of USD such as `"0.0000025"`: not negative, at most 1000, and not finer than 1e-12. Text keeps every digit. */
export type Usd = string | number

/** USD per unit. What is left out of a host's prices is free, or costs what the comment says. */
export interface ListedPrices {
  /** Per token of the prompt. */
  readonly prompt: Usd
  /** Per token of the output. */
  readonly completion: Usd
  /** Per request; of a rerank, per search unit where the host counts those. Default: free. */
  readonly request?: Usd
  /** Per image in the prompt. Default: free. */
  readonly image?: Usd
  /** Per web search. Default: free. */
  readonly web_search?: Usd
  /** Per token of reasoning, in place of `completion`. Default 0: reasoning costs what other output costs. */
  readonly internal_reasoning?: Usd
  /** Per token of the prompt that was read from the cache. Default: by the vendor's rule (`Provider.cacheMultipliers`), else `prompt`. */
  readonly input_cache_read?: Usd | null
  /** Per token of the prompt that was read from a cache which the caller asked for by `cache_control`, where the host tells those apart. Default: by that rule, else `input_cache_read`. */
  readonly input_cache_read_explicit?: Usd | null
  /** Per token of the prompt that was written to the cache. Default: as above. */
  readonly input_cache_write?: Usd | null
  /** The same for a cache that is kept for an hour. Default: by that rule, else `input_cache_write`. */
  readonly input_cache_write_1h?: Usd | null
  /** Per token of images in the prompt, where the host counts them; besides `image`. Default: `prompt`. */
  readonly image_token?: Usd | null
  /** Per token of audio in the prompt. Default: `prompt`. */
  readonly audio?: Usd | null
  /** Per token of audio in the prompt that was read from the cache, where the host counts them. Default: `input_cache_read`. */
  readonly input_audio_cache?: Usd | null
  /** Per token of audio in the output. Default: `completion`. */
  readonly audio_output?: Usd | null
  /** Per token of images in the output. Default: `completion`. */
  readonly image_output?: Usd | null
}

/** How a model reasons. */
export interface ListedReasoning {
  /** Whether it cannot be switched off. Default false. */
  readonly mandatory?: boolean
  /** Efforts that it knows, `none` among them where that switches it off. A request gets the nearest one. Default: unknown. */
  readonly supported_efforts?: ReadonlyArray<string> | null
  /** Whether it takes a number of tokens. Default false. */
  readonly supports_max_tokens?: boolean
}

/** Prices that replace the base once every condition holds; those left out stay. Of several the later one wins, price by price. */
export interface ListedPriceOverride {
  /** From this day on, UTC, as `2027-01-01`. Default: always. */
  readonly starts?: string
  /** From this many tokens of the prompt on, for the whole request. Default 0. */
  readonly min_prompt_tokens?: number
  /** Half-open window of the UTC day as numbers HHMM, 0 to 2400; it may wrap midnight. Default: the whole day. */
  readonly utc_start?: number
  /** The end of that window: the first minute after it. Default: the whole day. */
  readonly utc_end?: number
  /** Weekdays in UTC. Default: all. */
  readonly utc_days?: ReadonlyArray<"monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday" | "sunday">
  /** Per token of the prompt. */
  readonly prompt?: Usd
  /** Per token of the output. */
  readonly completion?: Usd
  /** Per request; of a rerank, per search unit where the host counts those. Default: free. */
  readonly request?: Usd
  /** Per image in the prompt. Default: free. */
  readonly image?: Usd
  /** Per web search. Default: free. */
  readonly web_search?: Usd
  /** Per token of reasoning, in place of `completion`. Default 0: reasoning costs what other output costs. */
  readonly internal_reasoning?: Usd
  /** Per token of the prompt that was read from the cache. Default: by the vendor's rule (`Provider.cacheMultipliers`), else `prompt`. */
  readonly input_cache_read?: Usd
  /** Per token of the prompt that was read from a cache which the caller asked for by `cache_control`, where the host tells those apart. Default: by that rule, else `input_cache_read`. */
  readonly input_cache_read_explicit?: Usd
  /** Per token of the prompt that was written to the cache. Default: as above. */
  readonly input_cache_write?: Usd
  /** The same for a cache that is kept for an hour. Default: by that rule, else `input_cache_write`. */
  readonly input_cache_write_1h?: Usd
  /** Per token of images in the prompt, where the host counts them; besides `image`. Default: `prompt`. */
  readonly image_token?: Usd
  /** Per token of audio in the prompt. Default: `prompt`. */
  readonly audio?: Usd
  /** Per token of audio in the prompt that was read from the cache, where the host counts them. Default: `input_cache_read`. */
  readonly input_audio_cache?: Usd
  /** Per token of audio in the output. Default: `completion`. */
  readonly audio_output?: Usd
  /** Per token of images in the output. Default: `completion`. */
  readonly image_output?: Usd
}

/** USD per unit. What is left out of a host's prices is free, or costs what the comment says. */
export interface ListedPricing {
  /** Per token of the prompt. */
  readonly prompt: Usd
  /** Per token of the output. */
  readonly completion: Usd
  /** Per request; of a rerank, per search unit where the host counts those. Default: free. */
  readonly request?: Usd
  /** Per image in the prompt. Default: free. */
  readonly image?: Usd
  /** Per web search. Default: free. */
  readonly web_search?: Usd
  /** Per token of reasoning, in place of `completion`. Default 0: reasoning costs what other output costs. */
  readonly internal_reasoning?: Usd
  /** Per token of the prompt that was read from the cache. Default: by the vendor's rule (`Provider.cacheMultipliers`), else `prompt`. */
  readonly input_cache_read?: Usd | null
  /** Per token of the prompt that was read from a cache which the caller asked for by `cache_control`, where the host tells those apart. Default: by that rule, else `input_cache_read`. */
  readonly input_cache_read_explicit?: Usd | null
  /** Per token of the prompt that was written to the cache. Default: as above. */
  readonly input_cache_write?: Usd | null
  /** The same for a cache that is kept for an hour. Default: by that rule, else `input_cache_write`. */
  readonly input_cache_write_1h?: Usd | null
  /** Per token of images in the prompt, where the host counts them; besides `image`. Default: `prompt`. */
  readonly image_token?: Usd | null
  /** Per token of audio in the prompt. Default: `prompt`. */
  readonly audio?: Usd | null
  /** Per token of audio in the prompt that was read from the cache, where the host counts them. Default: `input_cache_read`. */
  readonly input_audio_cache?: Usd | null
  /** Per token of audio in the output. Default: `completion`. */
  readonly audio_output?: Usd | null
  /** Per token of images in the output. Default: `completion`. */
  readonly image_output?: Usd | null
  /** Share taken off every price, 0 to 1. Default 0. */
  readonly discount?: Usd
  /** Prices that hold from a prompt size on, or at times. Default: none. */
  readonly overrides?: ReadonlyArray<ListedPriceOverride>
}

export interface ListedTool {
  /** What the host calls it. */
  readonly type: string
}

export interface ListedHost {
  /** Distinguishes hosts of one provider: a region, a quantization, `turbo`. Default: none. */
  readonly variant?: string | null
  /** What the host calls the model. Default: the model's id without its author. */
  readonly model?: string | null
  /** The vendor's name of the model, where `model` is a deployment or an ARN: it is then called as that model is. What the vendor's list says of that model (prices, lengths, parameters) holds where this entry says nothing. Default: `model`. */
  readonly base_model?: string | null
  /** The plugin's protocol by which this model alone is called, for models that have only it. Default: the provider's. */
  readonly api?: string | null
  /** Default `unknown`. */
  readonly quantization?: Quantization
  /** Marks for strategies (docs/strategies.md#write), such as `eu` or `batch`: at most 16, each of 1 to 64 characters. Those of its provider are added. Default: none. */
  readonly tags?: ReadonlyArray<string>
  /** Default: unknown, which is not the same as free: see `billing.unknown_price`. */
  readonly pricing?: ListedPricing | null
  /** Tokens. Default: the model's. */
  readonly context_length?: number | null
  /** Tokens. Default: the context length. */
  readonly max_completion_tokens?: number | null
  /** Tokens. Default: no bound but the context length. */
  readonly max_prompt_tokens?: number | null
  /** Wire names of parameters, such as `tools`. Default: nothing is known. */
  readonly supported_parameters?: ReadonlyArray<string>
  /** Which values of `tool_choice` work. Default: all, unless the known parameters lack `tools`. */
  readonly supports_tool_choice?: {
    /** Whether `"none"` works. */
    readonly none: boolean
    /** Whether `"auto"` works. */
    readonly auto: boolean
    /** Whether `"required"` works. */
    readonly required: boolean
    /** Whether naming a function works. */
    readonly function: boolean
  } | null
  /** Whether the host caches prompts without `cache_control`. Default false. */
  readonly supports_implicit_caching?: boolean
  /** Whether the host bills the whole answer even when its call is canceled. If a client leaves, the gateway reads its answer for up to 2 more minutes, to learn the cost (docs/billing.md). Default false. */
  readonly bills_after_abort?: boolean
  /** Where the host takes or gives less than the model does. Default: those of the model's architecture. */
  readonly input_modalities?: ReadonlyArray<string>
  /** The same for what it gives. */
  readonly output_modalities?: ReadonlyArray<string>
  /** The day after which its vendor no longer promises it, as `2027-01-31`; listed, and not acted on. Default: none is known. */
  readonly expiration_date?: string | null
  /** Tools that the host itself carries out, by the names that callers know: `{ "router:web_search": { "type": "web_search" } }`. Listed only. Default: none. */
  readonly native_tools?: Readonly<Record<string, ListedTool>>
  /** Listed only. Default: false. */
  readonly supports_voice_cloning?: boolean
  /** Listed only. Default: false. */
  readonly supports_multiple_audio_references?: boolean
  /** Listed only. Default: false. */
  readonly supports_image_reference?: boolean
  /** Listed only. Default: false. */
  readonly supports_diarization?: boolean
}

export interface ListedModel {
  /** `<author>/<slug>`, as callers ask for it. */
  readonly id: string
  /** Further names without the author that callers may use, such as one with a date. Default: none. */
  readonly aliases?: ReadonlyArray<string>
  /** The id with the model's date, which never means another model. Default: the id. */
  readonly canonical_slug?: string | null
  /** Display name. Default: the id. */
  readonly name?: string | null
  /** Of its weights, at Hugging Face. */
  readonly hugging_face_id?: string | null
  /** What callers read of it. Default: none. */
  readonly description?: string
  /** Unix seconds. Default 0. */
  readonly created?: number
  /** Tokens. Default: the largest of its hosts; it has to stand here or there. */
  readonly context_length?: number | null
  /** How it works, and what it takes and gives. */
  readonly architecture?: {
    /** Default `Other`. */
    readonly tokenizer?: string
    /** Form of its instructions. Listed only. Default: none. */
    readonly instruct_type?: string | null
    /** `text`, `image`, `audio`, `video`, `file`. Default: listed as text alone, and no request is refused for its kind. */
    readonly input_modalities?: ReadonlyArray<string>
    /** `text`, `image`, `audio`; or `embeddings` or `rerank`, which make it a model for those. Default: text. */
    readonly output_modalities?: ReadonlyArray<string>
  }
  /** Whether the author allows to train other models on its answers. Default: unknown, which counts as no. */
  readonly distillable?: boolean | null
  /** Day or month up to which it was trained, as `2026-05-31`. */
  readonly knowledge_cutoff?: string | null
  /** Default: nothing is known. */
  readonly reasoning?: ListedReasoning | null
  /** In the order in which they are listed. Default: one host, without a known price. */
  readonly hosts?: ReadonlyArray<ListedHost>
}
