/**
 * The schema of models, hosts and prices in the configuration and in plugins. The price fields come from the table in
 * `domain/price/Price.ts`.
 */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { ListedHost, ListedModel } from "../domain/hosts/ListedModel.ts"
import { kindOf } from "../domain/json/Problem.ts"
import { hasControls } from "../domain/json/plainText.ts"
import { parseUsd, picodollarsPerUsd } from "../domain/price/Money.ts"
import { type PriceName, type Prices, priceFields, priceNames, standIn } from "../domain/price/Price.ts"
import { quantizations } from "../domain/request/Preferences.ts"

/** A field with a default. */
export const field = <A, I>(schema: Schema.Schema<A, I>, fallback: A) =>
  Schema.optionalWith(schema, { default: () => fallback })

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
}).annotations({ description: usd })

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
}).annotations({ description: discount })

type Written = typeof Price.Encoded
type Fields = typeof priceFields
type Wire<N extends PriceName> = Fields[N]["wire"]

type BasePrice<N extends PriceName> = Fields[N]["otherwise"] extends "required"
  ? Schema.PropertySignature<":", Prices[N], Wire<N>, ":", Written, false>
  : Schema.PropertySignature<":", Prices[N], Wire<N>, "?:", Written | Extract<Prices[N], null> | undefined, true>

type OverridePrice<N extends PriceName> = Schema.PropertySignature<"?:", bigint, Wire<N>, "?:", Written, false>

const basePrice = (name: PriceName) => {
  const { wire, otherwise } = priceFields[name]
  if (otherwise === "required") return Schema.propertySignature(Price).pipe(Schema.fromKey(wire))
  if (standIn(name) === undefined) return field(Price, 0n).pipe(Schema.fromKey(wire))
  return field(Schema.NullOr(Price), null).pipe(Schema.fromKey(wire))
}

const overridePrice = (name: PriceName) =>
  Schema.optionalWith(Price, { exact: true }).pipe(Schema.fromKey(priceFields[name].wire))

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

export const isClock = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= 2400 && n % 100 < 60

export const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const

const clock = Schema.Number.pipe(
  Schema.filter(isClock, {
    description: "a time of the UTC day as a number HHMM from 0 to 2400",
  }),
)

/** Prices that replace the base under conditions. Absent prices keep the base. */
const Override = Schema.Struct({
  /** From this day on, UTC. Default: always. */
  starts: Schema.optionalWith(day, { exact: true }),
  /** From this many prompt tokens on, for the whole request. Default 0. */
  minPromptTokens: field(wholeNumber(0, 2 ** 31), 0).pipe(Schema.fromKey("min_prompt_tokens")),
  /** Half-open window of the UTC day, HHMM; it may wrap midnight. Default: the whole day. */
  utcStart: Schema.optionalWith(clock, { exact: true }).pipe(Schema.fromKey("utc_start")),
  utcEnd: Schema.optionalWith(clock, { exact: true }).pipe(Schema.fromKey("utc_end")),
  /** Weekdays in UTC. Default: all. */
  utcDays: Schema.optionalWith(Schema.Array(Schema.Literal(...weekdays)), { exact: true }).pipe(
    Schema.fromKey("utc_days"),
  ),
  ...overridePrices,
})

/** USD per token, unless the field says otherwise. */
const PricingEntry = Schema.Struct({
  ...basePrices,
  /** Share taken off every price, 0 to 1. Default 0. */
  discountPpm: field(Discount, 0n).pipe(Schema.fromKey("discount")),
  /** When several apply, the later one wins, price by price. */
  overrides: field(Schema.Array(Override), []),
})

export type PricingEntry = typeof PricingEntry.Type

export const isSlug = (text: string): boolean => /^[a-z0-9][a-z0-9._-]*$/.test(text)

export const isVariant = (text: string): boolean => /^[A-Za-z0-9][\w.-]*$/.test(text)

const slug = Schema.String.pipe(Schema.filter(isSlug, { description: 'a slug of a-z, 0-9, ".", "_" and "-"' }))

/** The name of a provider in the configuration, and in the tags of its hosts. */
export const ProviderSlug = slug

/** Whether `text` has the form of a model's id: `<author>/<slug>`, of characters that can be seen. */
export const isModelId = (text: string): boolean => text.length <= 256 && /^[^\s/\p{C}]+(\/[^\s/\p{C}]+)+$/u.test(text)

const isShown = { description: "a text without control and format characters" }

/** A name that is shown in terminals and tables, where hidden characters could make it look like another. */
export const ShownName = Schema.NonEmptyString.pipe(Schema.filter((text) => !hasControls(text), isShown))

const ShownText = Schema.String.pipe(Schema.filter((text) => !hasControls(text), isShown))

const modalities = field(Schema.Array(Schema.NonEmptyString), [])

export const HostEntry = Schema.Struct({
  /** Slug of one of the configured providers. */
  provider: slug,
  /** Distinguishes hosts of one provider: a region, a quantization, `turbo`. Default: none. */
  variant: field(
    Schema.NullOr(
      Schema.String.pipe(
        Schema.filter(isVariant, {
          description: 'a variant of letters, digits, ".", "_" and "-"',
        }),
      ),
    ),
    null,
  ),
  /** The host's own name of the model. Default: the model's id without its author. */
  model: field(Schema.NullOr(Schema.NonEmptyString), null),
  /** The protocol that this host is called by for a chat. Default: its provider's. */
  api: field(Schema.NullOr(Schema.NonEmptyString), null),
  quantization: field(Schema.Literal(...quantizations), "unknown"),
  /** Default: unknown, which is not free (`billing.unknown_price`). */
  pricing: field(Schema.NullOr(PricingEntry), null),
  /** Tokens. Default: the model's. */
  contextLength: field(Schema.NullOr(tokens), null).pipe(Schema.fromKey("context_length")),
  /** Tokens. Default: the context length. */
  maxCompletionTokens: field(Schema.NullOr(tokens), null).pipe(Schema.fromKey("max_completion_tokens")),
  /** Tokens. Default: no bound but the context length. */
  maxPromptTokens: field(Schema.NullOr(tokens), null).pipe(Schema.fromKey("max_prompt_tokens")),
  /** Wire names of parameters. Default: nothing is known. */
  supportedParameters: field(Schema.Array(Schema.NonEmptyString), []).pipe(Schema.fromKey("supported_parameters")),
  /** Which values of `tool_choice` work. Default: all, unless the known parameters lack `tools`. */
  supportsToolChoice: field(
    Schema.NullOr(
      Schema.Struct({ none: Schema.Boolean, auto: Schema.Boolean, required: Schema.Boolean, function: Schema.Boolean }),
    ),
    null,
  ).pipe(Schema.fromKey("supports_tool_choice")),
  /** Whether the host caches prompts without `cache_control`. Default false. */
  supportsImplicitCaching: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_implicit_caching")),
  /** Where the host takes or gives less than the model does. Default: those of the model's architecture. */
  inputModalities: modalities.pipe(Schema.fromKey("input_modalities")),
  outputModalities: modalities.pipe(Schema.fromKey("output_modalities")),
  /** The day after which its vendor no longer promises it. Default: none is known. */
  expirationDate: field(Schema.NullOr(day), null).pipe(Schema.fromKey("expiration_date")),
  /** What the host carries out itself, by the names that callers know. Default: nothing. */
  nativeTools: field(
    Schema.Record({ key: Schema.String, value: Schema.Struct({ type: Schema.NonEmptyString }) }),
    {},
  ).pipe(Schema.fromKey("native_tools")),
  voiceCloning: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_voice_cloning")),
  multipleAudioReferences: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_multiple_audio_references")),
  imageReference: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_image_reference")),
  diarization: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_diarization")),
})

const ReasoningEntry = Schema.Struct({
  /** Whether it cannot be switched off. Default false. */
  mandatory: field(Schema.Boolean, false),
  /** Efforts that it knows. Default: unknown. */
  efforts: field(Schema.NullOr(Schema.Array(Schema.NonEmptyString)), null).pipe(Schema.fromKey("supported_efforts")),
  /** Whether it takes a number of tokens. Default false. */
  takesTokens: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_max_tokens")),
})

const ArchitectureEntry = Schema.Struct({
  tokenizer: field(Schema.String, "Other"),
  instructType: field(Schema.NullOr(Schema.String), null).pipe(Schema.fromKey("instruct_type")),
  /** `text`, `image`, `audio`, `video`, `file`. Default: listed as text alone, and no request is refused for its kind. */
  inputModalities: modalities.pipe(Schema.fromKey("input_modalities")),
  outputModalities: modalities.pipe(Schema.fromKey("output_modalities")),
})

const unknownArchitecture = Schema.decodeSync(ArchitectureEntry)({})

export const ModelEntry = Schema.Struct({
  id: Schema.String.pipe(Schema.filter(isModelId, { description: "a model id <author>/<slug>" })),
  /** Further names, without the author. Default: none. */
  aliases: field(Schema.Array(ShownName), []),
  /** The id with the model's date. Default: the id. */
  canonicalSlug: field(Schema.NullOr(ShownName), null).pipe(Schema.fromKey("canonical_slug")),
  /** Display name. Default: the id. */
  name: field(Schema.NullOr(ShownText), null),
  huggingFaceId: field(Schema.NullOr(Schema.NonEmptyString), null).pipe(Schema.fromKey("hugging_face_id")),
  description: field(Schema.String, ""),
  /** Unix seconds. Default 0. */
  created: field(wholeNumber(0, 2 ** 40), 0),
  /** Tokens. Default: the largest of its hosts. */
  contextLength: field(Schema.NullOr(tokens), null).pipe(Schema.fromKey("context_length")),
  architecture: Schema.optionalWith(ArchitectureEntry, { default: () => unknownArchitecture }),
  /** Whether the author allows to train other models on its answers. Default: unknown, which counts as no. */
  distillable: field(Schema.NullOr(Schema.Boolean), null),
  /** A day or a month. */
  knowledgeCutoff: field(
    Schema.NullOr(Schema.String.pipe(Schema.filter(isDayOrMonth, { description: "a day or a month such as 2026-05" }))),
    null,
  ).pipe(Schema.fromKey("knowledge_cutoff")),
  /** Default: nothing is known. */
  reasoning: field(Schema.NullOr(ReasoningEntry), null),
  // Decoded one by one, so that an invalid one does not affect the others.
  hosts: field(Schema.Array(Schema.Unknown), []),
})

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
