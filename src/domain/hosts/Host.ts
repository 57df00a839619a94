/** Models and the hosts that serve them: what routing, billing and listings need. */
import type { HostTag, ModelId } from "../ids.ts"
import type { Pricing } from "../price/price.ts"
import type { ToolChoiceSupport } from "../request/request.ts"

/** What a provider does with prompts. Unknown counts as true. */
export interface Privacy {
  readonly mayTrain: boolean
  readonly retainsPrompts: boolean
}

/** Whether a provider may keep prompts after the answer. One that trains on them does. */
export const mayKeepPrompts = ({ retainsPrompts, mayTrain }: Privacy): boolean => retainsPrompts || mayTrain

/** One upstream endpoint of one model. */
export interface Host {
  readonly tag: HostTag
  /** Slug of the provider in the configuration: the tag without its variant. */
  readonly provider: string
  readonly providerName: string
  readonly model: ModelId
  /** The host's own name of the model. */
  readonly upstreamModel: string
  /**
   * The vendor's name of the model behind it, where `upstreamModel` is the name of a deployment or an ARN
   * (`base_model`).
   */
  readonly baseModel?: string
  /**
   * Whether `upstreamModel` says nothing of the model, and the operator does not say it either. Absent: it says which
   * model it is.
   */
  readonly isAlias?: true
  /**
   * Whether its provider belongs to the model's author, so that `upstreamModel` is a name of the model. Absent: it does
   * not.
   */
  readonly isAuthors?: boolean
  /** Name of the protocol that it is called by for a chat. Absent: its provider's. */
  readonly api?: string
  readonly quantization: string
  /** Marks that the operator gave it or its provider (`tags`), for strategies. */
  readonly tags: ReadonlyArray<string>
  /** `null`: the price is unknown, which is not the same as free. */
  readonly pricing: Pricing | null
  /** What each token costs in regions that its answers may name, as multiples of `pricing`. Absent: unknown. */
  readonly regionMultipliers?: ReadonlyMap<string, number>
  /**
   * Of a host without prices of its own, by `billing.unknown_price`: `estimated`, `pricing` is that of another host;
   * `allowed`, every key may call it, and pays nothing. Absent: a key with a limit may not call it.
   */
  readonly unpriced?: "estimated" | "allowed"
  /** Tokens of prompt and output together. */
  readonly contextLength: number
  /**
   * Tokens that the host writes at most. Where nothing is configured it is `contextLength`, which may be more than the
   * host accepts: a protocol whose host demands a bound falls back on it where `ChatRequest.maxTokens` is absent.
   */
  readonly maxCompletionTokens: number
  /** Tokens; `null`: no bound but `contextLength`. */
  readonly maxPromptTokens: number | null
  /** Wire names of parameters; empty when nothing is known. */
  readonly supportedParameters: ReadonlyArray<string>
  /** Wire names of parameters that it refuses, also where nothing else is known. Absent: none. */
  readonly lacks?: ReadonlyArray<string>
  /**
   * `false`: with tools it answers as a whole only, and its protocol calls it so for a stream too. Absent: it streams
   * them.
   */
  readonly streamsTools?: false
  readonly supportsToolChoice: ToolChoiceSupport
  readonly supportsImplicitCaching: boolean
  /** Whether the host bills the whole answer even when its call is canceled. Absent: false. */
  readonly billsAfterAbort?: boolean
  /**
   * What it takes and gives: `text`, `image`, `audio`, `video`, `file`; gives: `embeddings`, `rerank`. Empty when
   * nothing is known.
   */
  readonly inputModalities: ReadonlyArray<string>
  readonly outputModalities: ReadonlyArray<string>
  readonly privacy: Privacy
  /** Whether the provider is on the operator's own network (`network: "private"`). */
  readonly local: boolean
  /** Reasoning efforts that the model knows. Empty or absent when nothing is known. */
  readonly efforts?: ReadonlyArray<string>
  readonly listed?: ListedFacts
  /** Whether its price list says what a web search costs. `"0"` is a price. */
  readonly pricesSearch?: boolean
  /**
   * Whether it can be asked to search the web, and has a price for that: by callers of any form, or only by those of
   * its own. Absent: it cannot.
   */
  readonly searches?: "any-form" | "own-form"
  /** The client form that it speaks itself. Absent: none but the canonical one. */
  readonly ownForm?: string
  /**
   * Client forms by which it is called for what only hosts of the form can carry, beside `ownForm`. Absent: there are
   * none.
   */
  readonly otherForms?: ReadonlyArray<string>
  /** Top-level members that the operator lets pass unread to it (`extra_members` of its provider). */
  readonly extraMembers?: ReadonlyArray<string>
}

/** The vendor's name of the model. What a model takes follows from it, and never from our own name of the model. */
export const baseModelOf = ({ baseModel, upstreamModel }: Pick<Host, "baseModel" | "upstreamModel">): string =>
  baseModel ?? upstreamModel

/** What is listed of a host, and not acted on. */
export interface ListedFacts {
  /** `YYYY-MM-DD`; `null`: none is known. */
  readonly expirationDate: string | null
  readonly nativeTools: Readonly<Record<string, { readonly type: string }>>
  readonly voiceCloning: boolean
  readonly multipleAudioReferences: boolean
  readonly imageReference: boolean
  readonly diarization: boolean
}

export interface Architecture {
  readonly tokenizer: string
  readonly instructType: string | null
  readonly inputModalities: ReadonlyArray<string>
  readonly outputModalities: ReadonlyArray<string>
}

/** How a model reasons. */
export interface ReasoningFacts {
  /** Whether it cannot be switched off. */
  readonly mandatory: boolean
  /** `null`: unknown. */
  readonly efforts: ReadonlyArray<string> | null
  /** Whether it takes a number of tokens. */
  readonly takesTokens: boolean
}

export interface Model {
  readonly id: ModelId
  /** Further names without the author. */
  readonly aliases?: ReadonlyArray<string>
  readonly canonicalSlug?: string | null
  readonly huggingFaceId?: string | null
  /** A day or a month. */
  readonly knowledgeCutoff?: string | null
  readonly reasoning?: ReasoningFacts | null
  readonly name: string
  readonly description: string
  /** Unix seconds. */
  readonly created: number
  readonly contextLength: number
  readonly architecture: Architecture
  /** Whether its author allows to train other models on its answers; `null`: unknown, which counts as no. */
  readonly distillable: boolean | null
  /** In the order of the configuration. */
  readonly hosts: ReadonlyArray<Host>
}

/** Whether nobody knows what an answer costs there. A key with a limit may not call it. */
export const isPriceUnknown = ({ pricing, unpriced }: Host): boolean => pricing === null && unpriced !== "allowed"

/** Where the price comes from that is charged at a host: its own, that of another host, or none. */
export const priceBases = ["listed", "estimated", "unknown"] as const
export type PriceBasis = (typeof priceBases)[number]

export const priceBasis = ({ pricing, unpriced }: Host): PriceBasis =>
  pricing === null ? "unknown" : unpriced === "estimated" ? "estimated" : "listed"

/** A unique name of one host of one model. The tag alone is shared by all models of the provider. */
export const endpointKey = (host: Host): string => `${host.model} ${host.tag}`
