/**
 * The schema of models, hosts and prices in the configuration and in plugins. The price fields come from the table in
 * `domain/price/price.ts`.
 */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { ListedHost, ListedModel } from "../domain/hosts/ListedModel.ts"
import { kindOf } from "../domain/json/Problem.ts"
import { hasControls } from "../domain/json/plainText.ts"
import { parseUsd, picodollarsPerUsd } from "../domain/price/money.ts"
import { type PriceName, type Prices, priceFields, priceNames, standIn } from "../domain/price/price.ts"
import { quantizations } from "../domain/request/Preferences.ts"
import { absentable, required, setting, writtenAs } from "./setting.ts"

export const wholeNumber = (least: number, most?: number) =>
  Schema.Number.pipe(
    Schema.filter((n) => Number.isSafeInteger(n) && n >= least && (most === undefined || n <= most), {
      description:
        most === undefined ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`,
    }),
  )

const tokens = wholeNumber(1, 2 ** 31)

const discount = "a share from 0 to 1 with at most 6 decimals"

const usd = 'a decimal of USD such as "0.0000025", not negative, at most 1000 and not finer than 1e-12'

/** No vendor asks for more, and what requests cost has to fit into a column of 64 bits. */
const highestPrice = 1000n * picodollarsPerUsd

/** Picodollars; `undefined` for what is no price. */
export const priceIn = (written: string | number): bigint | undefined => {
  const amount = parseUsd(written)
  return amount === undefined || amount > highestPrice ? undefined : amount
}

/** USD per unit in the file, as text or number; picodollars inside. */
const Price = Schema.transformOrFail(Schema.Union(Schema.String, Schema.Number), Schema.BigIntFromSelf, {
  strict: true,
  decode: (written, _options, ast) => {
    const amount = priceIn(written)
    return amount === undefined
      ? ParseResult.fail(new ParseResult.Type(ast, written, `expected ${usd}, got ${kindOf(written)}`))
      : ParseResult.succeed(amount)
  },
  encode: (amount, _options, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, amount, "prices are not written")),
}).annotations({
  identifier: "Usd",
  description: usd,
  documentation:
    'A decimal of USD such as `"0.0000025"`: not negative, at most 1000, and not finer than 1e-12. Text keeps every digit.',
})

/** A share of the price, 0 to 1, in the file; parts per million inside. */
const Discount = Schema.transformOrFail(Schema.Union(Schema.String, Schema.Number), Schema.BigIntFromSelf, {
  strict: true,
  decode: (written, _options, ast) => {
    // A share is parsed like USD, with a resolution of 1e-12.
    const share = parseUsd(written)
    return share === undefined || share > 1_000_000_000_000n || share % 1_000_000n !== 0n
      ? ParseResult.fail(new ParseResult.Type(ast, written, `expected ${discount}, got ${kindOf(written)}`))
      : ParseResult.succeed(share / 1_000_000n)
  },
  encode: (share, _options, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, share, "prices are not written")),
}).annotations({ identifier: "Usd", description: discount })

type Written = typeof Price.Encoded
type Fields = typeof priceFields
type Wire<N extends PriceName> = Fields[N]["wire"]

type BasePrice<N extends PriceName> = Fields[N]["otherwise"] extends "required"
  ? Schema.PropertySignature<":", Prices[N], Wire<N>, ":", Written, false>
  : Schema.PropertySignature<":", Prices[N], Wire<N>, "?:", Written | Extract<Prices[N], null> | undefined, true>

type OverridePrice<N extends PriceName> = Schema.PropertySignature<"?:", bigint, Wire<N>, "?:", Written, false>

const basePrice = (name: PriceName) => {
  const { wire, otherwise, description } = priceFields[name]
  if (otherwise === "required") return required(Price, description).pipe(Schema.fromKey(wire))
  if (standIn(name) === undefined) return setting(wire, Price, { otherwise: 0, description })
  return setting(wire, Schema.NullOr(Price), { otherwise: null, description })
}

const overridePrice = (name: PriceName) => absentable(priceFields[name].wire, Price, priceFields[name].description)

// A field for each row of the table. Object.fromEntries loses that type.
const basePrices = Object.fromEntries(priceNames.map((name) => [name, basePrice(name)])) as unknown as {
  readonly [N in keyof Fields]: BasePrice<N>
}
const overridePrices = Object.fromEntries(priceNames.map((name) => [name, overridePrice(name)])) as unknown as {
  readonly [N in keyof Fields]: OverridePrice<N>
}

export const isDay = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00:00Z`)
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(`${text}T`)
}

export const isDayOrMonth = (text: string): boolean => isDay(/^\d{4}-\d\d$/.test(text) ? `${text}-01` : text)

const day = Schema.String.pipe(Schema.filter(isDay, { description: "a day such as 2027-01-31" }))

const dayOrMonth = Schema.String.pipe(Schema.filter(isDayOrMonth, { description: "a day or a month such as 2026-05" }))

export const isClock = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= 2400 && n % 100 < 60

export const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const

const clock = Schema.Number.pipe(
  Schema.filter(isClock, {
    description: "a time of the UTC day as a number HHMM from 0 to 2400",
  }),
)

const Override = Schema.Struct({
  starts: absentable("starts", day, "From this day on, UTC, as `2027-01-01`. Default: always."),
  minPromptTokens: setting("min_prompt_tokens", wholeNumber(0, 2 ** 31), {
    otherwise: 0,
    description: "From this many tokens of the prompt on, for the whole request. Default 0.",
  }),
  utcStart: absentable(
    "utc_start",
    clock,
    "Half-open window of the UTC day as numbers HHMM, 0 to 2400; it may wrap midnight. Default: the whole day.",
  ),
  utcEnd: absentable("utc_end", clock, "The end of that window: the first minute after it. Default: the whole day."),
  utcDays: absentable("utc_days", Schema.Array(Schema.Literal(...weekdays)), "Weekdays in UTC. Default: all."),
  ...overridePrices,
}).annotations({
  identifier: "ListedPriceOverride",
  documentation:
    "Prices that replace the base once every condition holds; those left out stay. Of several the later one wins, price by price.",
})

export const PricingEntry = Schema.Struct({
  ...basePrices,
  discountPpm: setting("discount", Discount, {
    otherwise: 0,
    description: "Share taken off every price, 0 to 1. Default 0.",
  }),
  overrides: setting("overrides", Schema.Array(Override), {
    otherwise: [],
    description: "Prices that hold from a prompt size on, or at times. Default: none.",
  }),
}).annotations({
  identifier: "ListedPricing",
  documentation: "USD per unit. What is left out of a host's prices is free, or costs what the comment says.",
})

export type PricingEntry = typeof PricingEntry.Type

export const isSlug = (text: string): boolean => /^[a-z0-9][a-z0-9._-]*$/.test(text)

export const isVariant = (text: string): boolean => /^[A-Za-z0-9][\w.-]*$/.test(text)

const variant = Schema.String.pipe(
  Schema.filter(isVariant, { description: 'a variant of letters, digits, ".", "_" and "-"' }),
)

const slug = Schema.String.pipe(Schema.filter(isSlug, { description: 'a slug of a-z, 0-9, ".", "_" and "-"' }))

/** The name of a provider in the configuration, and in the tags of its hosts. */
export const ProviderSlug = slug

/** Whether `text` has the form of a model's id: `<author>/<slug>`, of characters that can be seen. */
export const isModelId = (text: string): boolean => text.length <= 256 && /^[^\s/\p{C}]+(\/[^\s/\p{C}]+)+$/u.test(text)

const isShown = { description: "a text without control and format characters" }

/** A name that is shown in terminals and tables, where hidden characters could make it look like another. */
export const ShownName = Schema.NonEmptyString.pipe(Schema.filter((text) => !hasControls(text), isShown))

const ShownText = Schema.String.pipe(Schema.filter((text) => !hasControls(text), isShown))

const names = Schema.Array(Schema.NonEmptyString)

const tag = Schema.String.pipe(
  Schema.filter((text) => text !== "" && text.length <= 64 && !hasControls(text), {
    description: "a text of 1 to 64 characters, without control and format characters",
  }),
)

/** Marks of hosts for strategies. */
export const Tags = Schema.Array(tag).pipe(
  Schema.filter((written) => written.length <= 16, { description: "a list of at most 16 tags" }),
)

const quantization = Schema.Literal(...quantizations).annotations({ identifier: "Quantization" })

const ToolChoices = Schema.Struct({
  none: required(Schema.Boolean, 'Whether `"none"` works.'),
  auto: required(Schema.Boolean, 'Whether `"auto"` works.'),
  required: required(Schema.Boolean, 'Whether `"required"` works.'),
  function: required(Schema.Boolean, "Whether naming a function works."),
})

const NativeTool = Schema.Struct({
  type: required(Schema.NonEmptyString, "What the host calls it."),
}).annotations({ identifier: "ListedTool" })

export const HostEntry = Schema.Struct({
  provider: required(slug, "Slug of one of the configured providers."),
  variant: setting("variant", Schema.NullOr(variant), {
    otherwise: null,
    description: "Distinguishes hosts of one provider: a region, a quantization, `turbo`. Default: none.",
  }),
  model: setting("model", Schema.NullOr(Schema.NonEmptyString), {
    otherwise: null,
    description: "What the host calls the model. Default: the model's id without its author.",
  }),
  baseModel: setting("base_model", Schema.NullOr(Schema.NonEmptyString), {
    otherwise: null,
    description:
      "The vendor's name of the model, where `model` is a deployment or an ARN: it is then called as that model is. What the vendor's list says of that model (prices, lengths, parameters) holds where this entry says nothing. Default: `model`.",
  }),
  api: setting("api", Schema.NullOr(Schema.NonEmptyString), {
    otherwise: null,
    description:
      "The plugin's protocol by which this model alone is called, for models that have only it. Default: the provider's.",
  }),
  quantization: setting("quantization", quantization, {
    otherwise: "unknown",
    description: "Default `unknown`.",
  }),
  tags: setting("tags", Tags, {
    otherwise: [],
    description:
      "Marks for strategies (docs/strategies.md#write), such as `eu` or `batch`: at most 16, each of 1 to 64 characters. Those of its provider are added. Default: none.",
  }),
  pricing: setting("pricing", Schema.NullOr(PricingEntry), {
    otherwise: null,
    description: "Default: unknown, which is not the same as free: see `billing.unknown_price`.",
  }),
  contextLength: setting("context_length", Schema.NullOr(tokens), {
    otherwise: null,
    description: "Tokens. Default: the model's.",
  }),
  maxCompletionTokens: setting("max_completion_tokens", Schema.NullOr(tokens), {
    otherwise: null,
    description: "Tokens. Default: the context length.",
  }),
  maxPromptTokens: setting("max_prompt_tokens", Schema.NullOr(tokens), {
    otherwise: null,
    description: "Tokens. Default: no bound but the context length.",
  }),
  supportedParameters: setting("supported_parameters", names, {
    otherwise: [],
    description: "Wire names of parameters, such as `tools`. Default: nothing is known.",
  }),
  supportsToolChoice: setting("supports_tool_choice", Schema.NullOr(ToolChoices), {
    otherwise: null,
    description: "Which values of `tool_choice` work. Default: all, unless the known parameters lack `tools`.",
  }),
  supportsImplicitCaching: setting("supports_implicit_caching", Schema.Boolean, {
    otherwise: false,
    description: "Whether the host caches prompts without `cache_control`. Default false.",
  }),
  billsAfterAbort: setting("bills_after_abort", Schema.Boolean, {
    otherwise: false,
    description:
      "Whether the host bills the whole answer even when its call is canceled. If a client leaves, the gateway reads its answer for up to 2 more minutes, to learn the cost (docs/billing.md). Default false.",
  }),
  inputModalities: setting("input_modalities", names, {
    otherwise: [],
    description: "Where the host takes or gives less than the model does. Default: those of the model's architecture.",
  }),
  outputModalities: setting("output_modalities", names, {
    otherwise: [],
    description: "The same for what it gives.",
  }),
  expirationDate: setting("expiration_date", Schema.NullOr(day), {
    otherwise: null,
    description:
      "The day after which its vendor no longer promises it, as `2027-01-31`; listed, and not acted on. Default: none is known.",
  }),
  nativeTools: setting("native_tools", Schema.Record({ key: Schema.String, value: NativeTool }), {
    otherwise: {},
    description:
      'Tools that the host itself carries out, by the names that callers know: `{ "router:web_search": { "type": "web_search" } }`. Listed only. Default: none.',
  }),
  voiceCloning: setting("supports_voice_cloning", Schema.Boolean, {
    otherwise: false,
    description: "Listed only. Default: false.",
  }),
  multipleAudioReferences: setting("supports_multiple_audio_references", Schema.Boolean, {
    otherwise: false,
    description: "Listed only. Default: false.",
  }),
  imageReference: setting("supports_image_reference", Schema.Boolean, {
    otherwise: false,
    description: "Listed only. Default: false.",
  }),
  diarization: setting("supports_diarization", Schema.Boolean, {
    otherwise: false,
    description: "Listed only. Default: false.",
  }),
})

const ReasoningEntry = Schema.Struct({
  mandatory: setting("mandatory", Schema.Boolean, {
    otherwise: false,
    description: "Whether it cannot be switched off. Default false.",
  }),
  efforts: setting("supported_efforts", Schema.NullOr(names), {
    otherwise: null,
    description:
      "Efforts that it knows, `none` among them where that switches it off. A request gets the nearest one. Default: unknown.",
  }),
  takesTokens: setting("supports_max_tokens", Schema.Boolean, {
    otherwise: false,
    description: "Whether it takes a number of tokens. Default false.",
  }),
}).annotations({ identifier: "ListedReasoning", documentation: "How a model reasons." })

const ArchitectureEntry = Schema.Struct({
  tokenizer: setting("tokenizer", Schema.String, {
    otherwise: "Other",
    description: "Default `Other`.",
  }),
  instructType: setting("instruct_type", Schema.NullOr(Schema.String), {
    otherwise: null,
    description: "Form of its instructions. Listed only. Default: none.",
  }),
  inputModalities: setting("input_modalities", names, {
    otherwise: [],
    description:
      "`text`, `image`, `audio`, `video`, `file`. Default: listed as text alone, and no request is refused for its kind.",
  }),
  outputModalities: setting("output_modalities", names, {
    otherwise: [],
    description:
      "`text`, `image`, `audio`; or `embeddings` or `rerank`, which make it a model for those. Default: text.",
  }),
})

export const ModelEntry = Schema.Struct({
  id: required(
    Schema.String.pipe(Schema.filter(isModelId, { description: "a model id <author>/<slug>" })),
    "`<author>/<slug>`, as callers ask for it.",
  ),
  aliases: setting("aliases", Schema.Array(ShownName), {
    otherwise: [],
    description: "Further names without the author that callers may use, such as one with a date. Default: none.",
  }),
  canonicalSlug: setting("canonical_slug", Schema.NullOr(ShownName), {
    otherwise: null,
    description: "The id with the model's date, which never means another model. Default: the id.",
  }),
  name: setting("name", Schema.NullOr(ShownText), {
    otherwise: null,
    description: "Display name. Default: the id.",
  }),
  huggingFaceId: setting("hugging_face_id", Schema.NullOr(Schema.NonEmptyString), {
    otherwise: null,
    description: "Of its weights, at Hugging Face.",
  }),
  description: setting("description", Schema.String, {
    otherwise: "",
    description: "What callers read of it. Default: none.",
  }),
  created: setting("created", wholeNumber(0, 2 ** 40), {
    otherwise: 0,
    description: "Unix seconds. Default 0.",
  }),
  contextLength: setting("context_length", Schema.NullOr(tokens), {
    otherwise: null,
    description: "Tokens. Default: the largest of its hosts; it has to stand here or there.",
  }),
  architecture: setting("architecture", ArchitectureEntry, {
    otherwise: {},
    description: "How it works, and what it takes and gives.",
  }),
  distillable: setting("distillable", Schema.NullOr(Schema.Boolean), {
    otherwise: null,
    description:
      "Whether the author allows to train other models on its answers. Default: unknown, which counts as no.",
  }),
  knowledgeCutoff: setting("knowledge_cutoff", Schema.NullOr(dayOrMonth), {
    otherwise: null,
    description: "Day or month up to which it was trained, as `2026-05-31`.",
  }),
  reasoning: setting("reasoning", Schema.NullOr(ReasoningEntry), {
    otherwise: null,
    description: "Default: nothing is known.",
  }),
  // Decoded one by one, so that an invalid one does not affect the others.
  hosts: setting("hosts", Schema.Array(Schema.Unknown.annotations({ [writtenAs]: () => HostEntry })), {
    otherwise: [],
    description: "In the order in which they are listed. Default: those of the plugins.",
  }),
}).annotations({ identifier: "ModelInput" })

/** What an author writes of a host in the configuration. */
export interface HostInput extends ListedHost {
  /** Slug of one of the configured providers. */
  readonly provider: string
}

/** What an author writes of a model in the configuration. */
export interface ModelInput extends Omit<ListedModel, "hosts"> {
  /** In the order in which they are listed. Default: those of the plugins. */
  readonly hosts?: ReadonlyArray<HostInput>
}
