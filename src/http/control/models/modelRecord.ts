/** How a model is listed. */

import * as Schema from "effect/Schema"
import type { Architecture, Host, Model } from "../../../domain/hosts/Host.ts"
import { sortPrice } from "../../../domain/price/price.ts"
import type { Prefix } from "../../Mount.ts"
import { ListedPricing, listedPricing } from "./hostListing.ts"

/** Prefix of the paths of model listings. */
export const modelsPath = "/api/v1/models"

export const ListedArchitecture = Schema.Struct({
  tokenizer: Schema.String,
  instruct_type: Schema.NullOr(Schema.String),
  /** Inputs and outputs: `text+image->text`. */
  modality: Schema.String,
  input_modalities: Schema.Array(Schema.String),
  output_modalities: Schema.Array(Schema.String),
}).annotations({ identifier: "Architecture" })

export const ListedModel = Schema.Struct({
  id: Schema.String,
  canonical_slug: Schema.String,
  name: Schema.String,
  /** Unix seconds. */
  created: Schema.Int,
  description: Schema.String,
  context_length: Schema.Int,
  architecture: ListedArchitecture,
  pricing: ListedPricing,
  top_provider: Schema.Struct({
    context_length: Schema.NullOr(Schema.Int),
    max_completion_tokens: Schema.NullOr(Schema.Int),
    is_moderated: Schema.Boolean,
  }),
  per_request_limits: Schema.Null,
  /** Union over all hosts. */
  supported_parameters: Schema.Array(Schema.String),
  default_parameters: Schema.Null,
  supported_voices: Schema.Null,
  /** Of its weights, at Hugging Face. */
  hugging_face_id: Schema.NullOr(Schema.String),
  /** A day or a month. */
  knowledge_cutoff: Schema.NullOr(Schema.String),
  /** The day after which none of its hosts is promised; null while one has no such day. */
  expiration_date: Schema.NullOr(Schema.String),
  /** Absent where nothing is known. */
  reasoning: Schema.optionalWith(
    Schema.Struct({
      mandatory: Schema.Boolean,
      supported_efforts: Schema.NullOr(Schema.Array(Schema.String)),
      supports_max_tokens: Schema.Boolean,
    }),
    { exact: true },
  ),
  links: Schema.Struct({ details: Schema.String }),
}).annotations({ identifier: "Model" })

export type ListedModel = typeof ListedModel.Type

/** What Anthropic's API says of a model beside its id. */
export const inAnthropicsWords = ({ name, created }: ListedModel) => ({
  type: "model" as const,
  display_name: name,
  created_at: new Date(created * 1000).toISOString(),
})

/** One model, as the vendors' own clients ask for it: with what OpenAI's and Anthropic's APIs say of a model. */
export const RetrievedModel = Schema.Struct({
  ...ListedModel.fields,
  object: Schema.Literal("model"),
  /** The author: the part of the id before the slash. */
  owned_by: Schema.String,
  type: Schema.Literal("model"),
  display_name: Schema.String,
  created_at: Schema.String,
}).annotations({ identifier: "RetrievedModel" })

export const retrievedModel = (record: ListedModel): typeof RetrievedModel.Type => ({
  ...record,
  object: "model",
  owned_by: record.id.split("/", 1)[0] ?? "",
  ...inAnthropicsWords(record),
})

/** `hosts`: those of the model that the list is about. */
export const listedModel = (
  model: Model,
  hosts: ReadonlyArray<Host>,
  top: Host | undefined,
  prefix: Prefix,
): ListedModel => ({
  id: model.id,
  canonical_slug: model.canonicalSlug ?? model.id,
  name: model.name,
  created: model.created,
  description: model.description,
  context_length: model.contextLength,
  architecture: listedArchitecture(model.architecture),
  pricing: listedPricing(top?.pricing ?? null),
  top_provider: {
    context_length: top?.contextLength ?? null,
    max_completion_tokens: top?.maxCompletionTokens ?? null,
    is_moderated: false,
  },
  per_request_limits: null,
  supported_parameters: [...new Set(hosts.flatMap((host) => host.supportedParameters))],
  default_parameters: null,
  supported_voices: null,
  hugging_face_id: model.huggingFaceId ?? null,
  knowledge_cutoff: model.knowledgeCutoff ?? null,
  expiration_date: lastDay(hosts),
  ...listedReasoning(model),
  links: { details: `${prefix}${modelsPath}/${pathOf(model.id)}/endpoints` },
})

const listedReasoning = ({ reasoning }: Model): Pick<ListedModel, "reasoning"> => {
  if (reasoning == null) return {}
  const { mandatory, efforts, takesTokens } = reasoning
  return { reasoning: { mandatory, supported_efforts: efforts, supports_max_tokens: takesTokens } }
}

const lastDay = (hosts: ReadonlyArray<Host>): string | null => {
  const days = hosts.map(({ listed }) => listed?.expirationDate ?? null)
  return days.includes(null) ? null : (days.toSorted().at(-1) ?? null)
}

/**
 * The host whose price is listed for the model: the cheapest by the sum of prompt and output price, of those that can be
 * called if there are any. Unknown prices come last.
 */
export const topHost = (hosts: ReadonlyArray<Host>, isCallable: (host: Host) => boolean): Host | undefined => {
  const callable = hosts.filter(isCallable)
  return (callable.length > 0 ? callable : hosts).reduce<Host | undefined>((best, host) => {
    if (best === undefined) return host
    const [lowest, price] = [sortPrice(best.pricing), sortPrice(host.pricing)]
    return price !== null && (lowest === null || price < lowest) ? host : best
  }, undefined)
}

export const listedArchitecture = (facts: Architecture): typeof ListedArchitecture.Type => ({
  tokenizer: facts.tokenizer,
  instruct_type: facts.instructType,
  modality: `${facts.inputModalities.join("+")}->${facts.outputModalities.join("+")}`,
  input_modalities: facts.inputModalities,
  output_modalities: facts.outputModalities,
})

/** An id as two segments of a path: the author, and everything after it. */
const pathOf = (id: string): string => {
  const [of = "", ...rest] = id.split("/")
  return `${encodeURI(of)}/${encodeURI(rest.join("/")).replaceAll("/", "%2F")}`
}
