/**
 * Models, hosts and prices as they are written, in the configuration and in plugins alike, and what they are in the
 * house. One bad host or model does not take the others with it. Architecture, configuration contract; reference 13.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Host, Model, Privacy } from "../domain/Host.ts"
import { HostTag, ModelId } from "../domain/Ids.ts"
import { isJsonObject } from "../domain/Json.ts"
import { parseUsd } from "../domain/Money.ts"
import { quantizations } from "../domain/Preferences.ts"
import type { Pricing } from "../domain/Price.ts"
import { hint, kindOf, type Path, type Problem, problemsOf, renderPath } from "../domain/Problem.ts"

/** Field with a default. */
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

const usd = 'a decimal of USD such as "0.0000025", not negative and not finer than 1e-12'

/** USD per unit in the file, as text or number; picodollars inside. */
const Price = Schema.transformOrFail(Schema.Union(Schema.String, Schema.Number), Schema.BigIntFromSelf, {
  strict: true,
  decode: (written, _options, ast) => {
    const amount = parseUsd(written)
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
    // A share of 1e-12 is read like a picodollar.
    const share = parseUsd(written)
    return share === undefined || share > 1_000_000_000_000n || share % 1_000_000n !== 0n
      ? ParseResult.fail(new ParseResult.Type(ast, written, `expected ${discount}, got ${kindOf(written)}`))
      : ParseResult.succeed(share / 1_000_000n)
  },
  encode: (share, _options, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, share, "prices are not written")),
}).annotations({ description: discount })

const inherited = Schema.optionalWith(Price, { exact: true })
const zero = field(Price, 0n)
const unset = field(Schema.NullOr(Price), null)

const clock = Schema.Number.pipe(
  Schema.filter((n) => Number.isInteger(n) && n >= 0 && n <= 2400 && n % 100 < 60, {
    description: "a time of the UTC day as a number HHMM from 0 to 2400",
  }),
)

/** Prices that hold instead of the base under conditions; what is absent stays as it is. */
const Override = Schema.Struct({
  /** From this many prompt tokens on, for the whole request. Default 0. */
  minPromptTokens: field(wholeNumber(0, 2 ** 31), 0).pipe(Schema.fromKey("min_prompt_tokens")),
  /** Half-open window of the UTC day, HHMM; it may wrap midnight. Default: the whole day. */
  utcStart: Schema.optionalWith(clock, { exact: true }).pipe(Schema.fromKey("utc_start")),
  utcEnd: Schema.optionalWith(clock, { exact: true }).pipe(Schema.fromKey("utc_end")),
  /** Weekdays in UTC. Default: all. */
  utcDays: Schema.optionalWith(
    Schema.Array(Schema.Literal("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")),
    { exact: true },
  ).pipe(Schema.fromKey("utc_days")),
  prompt: inherited,
  completion: inherited,
  request: inherited,
  image: inherited,
  webSearch: inherited.pipe(Schema.fromKey("web_search")),
  internalReasoning: inherited.pipe(Schema.fromKey("internal_reasoning")),
  inputCacheRead: inherited.pipe(Schema.fromKey("input_cache_read")),
  inputCacheWrite: inherited.pipe(Schema.fromKey("input_cache_write")),
  inputCacheWrite1h: inherited.pipe(Schema.fromKey("input_cache_write_1h")),
  audio: inherited,
  audioOutput: inherited.pipe(Schema.fromKey("audio_output")),
  imageOutput: inherited.pipe(Schema.fromKey("image_output")),
})

/** USD per token where nothing else is said. */
const PricingEntry = Schema.Struct({
  prompt: Price,
  completion: Price,
  /** USD per request. Default 0. */
  request: zero,
  /** USD per input image. Default 0. */
  image: zero,
  /** USD per search. Default 0. */
  webSearch: zero.pipe(Schema.fromKey("web_search")),
  /** Default 0: reasoning costs what other output costs. */
  internalReasoning: zero.pipe(Schema.fromKey("internal_reasoning")),
  /** Default: the price of the prompt. */
  inputCacheRead: unset.pipe(Schema.fromKey("input_cache_read")),
  /** Default: the price of the prompt. */
  inputCacheWrite: unset.pipe(Schema.fromKey("input_cache_write")),
  /** Default: `input_cache_write`. */
  inputCacheWrite1h: unset.pipe(Schema.fromKey("input_cache_write_1h")),
  /** Default: the price of the prompt. */
  audio: unset,
  /** Default: the price of the completion. */
  audioOutput: unset.pipe(Schema.fromKey("audio_output")),
  /** Default: the price of the completion. */
  imageOutput: unset.pipe(Schema.fromKey("image_output")),
  /** Accepted, since listings have them; no host counts what they are for. */
  imageToken: unset.pipe(Schema.fromKey("image_token")),
  inputAudioCache: unset.pipe(Schema.fromKey("input_audio_cache")),
  /** Share taken off every price, 0 to 1. Default 0. */
  discountPpm: field(Discount, 0n).pipe(Schema.fromKey("discount")),
  /** Of several that hold the later one wins, price by price. */
  overrides: field(Schema.Array(Override), []),
})

const slug = Schema.String.pipe(
  Schema.filter((text) => /^[a-z0-9][a-z0-9._-]*$/.test(text), { description: 'a slug of a-z, 0-9, ".", "_" and "-"' }),
)

/** What a provider is called in the configuration, and in the tags of its hosts. */
export const ProviderSlug = slug

/** Whether `text` has the form of a model's id: `<author>/<slug>`. */
export const isModelId = (text: string): boolean => text.length <= 256 && /^[^\s/]+(\/[^\s/]+)+$/.test(text)

const HostEntry = Schema.Struct({
  /** Slug of one of the configured providers. */
  provider: slug,
  /** Tells hosts of one provider apart: a region, a quantization, `turbo`. Default: none. */
  variant: field(
    Schema.NullOr(
      Schema.String.pipe(
        Schema.filter((text) => /^[A-Za-z0-9][\w.-]*$/.test(text), {
          description: 'a variant of letters, digits, ".", "_" and "-"',
        }),
      ),
    ),
    null,
  ),
  /** What the host calls the model. Default: the model's id without its author. */
  model: field(Schema.NullOr(Schema.NonEmptyString), null),
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
  /** Whether the host caches prompts unasked. Default false. */
  supportsImplicitCaching: field(Schema.Boolean, false).pipe(Schema.fromKey("supports_implicit_caching")),
})

const ArchitectureEntry = Schema.Struct({
  tokenizer: field(Schema.String, "Other"),
  instructType: field(Schema.NullOr(Schema.String), null).pipe(Schema.fromKey("instruct_type")),
  inputModalities: field(Schema.Array(Schema.NonEmptyString), ["text"]).pipe(Schema.fromKey("input_modalities")),
  outputModalities: field(Schema.Array(Schema.NonEmptyString), ["text"]).pipe(Schema.fromKey("output_modalities")),
})

const ModelEntry = Schema.Struct({
  id: Schema.String.pipe(Schema.filter(isModelId, { description: "a model id <author>/<slug>" })),
  /** Display name. Default: the id. */
  name: field(Schema.NullOr(Schema.String), null),
  description: field(Schema.String, ""),
  /** Unix seconds. Default 0. */
  created: field(wholeNumber(0, 2 ** 40), 0),
  /** Tokens. Default: the largest of its hosts. */
  contextLength: field(Schema.NullOr(tokens), null).pipe(Schema.fromKey("context_length")),
  architecture: Schema.optionalWith(ArchitectureEntry, { default: () => Schema.decodeSync(ArchitectureEntry)({}) }),
  // Decoded one by one, so that a bad one leaves the rest.
  hosts: field(Schema.Array(Schema.Unknown), []),
})

/** What an author writes of a host. */
export type HostInput = typeof HostEntry.Encoded

/** What an author writes of a model. */
export interface ModelInput extends Omit<typeof ModelEntry.Encoded, "hosts"> {
  /** In the order in which they are listed. Default: those that plugins bring. */
  readonly hosts?: ReadonlyArray<HostInput>
}

/** What the hosts of a provider have from it. */
export interface ProviderFacts {
  readonly name: string
  readonly privacy: Privacy
  readonly local: boolean
}

export interface DecodedModels {
  readonly models: ReadonlyArray<Model>
  readonly problems: ReadonlyArray<Problem>
}

const strictly = { errors: "all", onExcessProperty: "error" } as const
const decodeModel = ParseResult.decodeUnknownEither(ModelEntry, strictly)
const decodeHost = ParseResult.decodeUnknownEither(HostEntry, strictly)

/**
 * The models of one source: the configuration, or one provider's plugin (see `servedBy`). A model or host that is not
 * well formed, is there twice or names a provider that is not among `providers` is a problem and left out. Pure.
 */
export const decodeModels = (
  raw: ReadonlyArray<unknown>,
  providers: ReadonlyMap<string, ProviderFacts>,
  at: Path = ["models"],
): DecodedModels => {
  const problems: Array<Problem> = []
  const models = new Map<string, { readonly model: Model; readonly path: Path }>()
  for (const [index, entry] of raw.entries()) {
    const path = [...at, index]
    const decoded = decodeModel(entry)
    if (Either.isLeft(decoded)) {
      problems.push(...problemsOf(decoded.left, path))
      // Its hosts are looked at all the same, so that all problems come at once.
      const hosts = isJsonObject(entry) ? entry["hosts"] : undefined
      if (Array.isArray(hosts)) decodeHosts(hosts, "a/b", 1, providers, path, problems)
      continue
    }
    const { id, hosts: rawHosts, name, contextLength, ...facts } = decoded.right
    const before = models.get(id)
    if (before !== undefined) {
      problems.push({
        path: renderPath([...path, "id"]),
        message: `expected an id of its own, got that of ${renderPath(before.path)}`,
      })
    }
    const hosts = decodeHosts(rawHosts, id, contextLength, providers, path, problems)
    const length = contextLength ?? hosts.reduce((most, host) => Math.max(most, host.contextLength), 0)
    if (contextLength === null && rawHosts.length === 0) problems.push(noContextLength(path, "its hosts"))
    if (before !== undefined || length === 0) continue
    const model = { ...facts, id: ModelId.make(id), name: name ?? id, contextLength: length, hosts }
    models.set(id, { model, path })
  }
  return { models: Array.from(models.values(), ({ model }) => model), problems }
}

const noContextLength = (path: Path, orAt: string): Problem => ({
  path: renderPath([...path, "context_length"]),
  message: `expected a number of tokens here or at ${orAt}, got nothing`,
})

const decodeHosts = (
  raw: ReadonlyArray<unknown>,
  id: string,
  contextLength: number | null,
  providers: ReadonlyMap<string, ProviderFacts>,
  model: Path,
  problems: Array<Problem>,
): ReadonlyArray<Host> => {
  const hosts = new Map<string, { readonly host: Host; readonly index: number }>()
  for (const [index, entry] of raw.entries()) {
    const path = [...model, "hosts", index]
    const decoded = decodeHost(entry)
    if (Either.isLeft(decoded)) {
      problems.push(...problemsOf(decoded.left, path))
      continue
    }
    const written = decoded.right
    const length = written.contextLength ?? contextLength
    if (length === null) problems.push(noContextLength(path, "the model"))
    const facts = providers.get(written.provider)
    if (facts === undefined) {
      const message = `expected the slug of a configured provider, got string${hint(written.provider, providers.keys())}`
      problems.push({ path: renderPath([...path, "provider"]), message })
    }
    const tag = written.variant === null ? written.provider : `${written.provider}/${written.variant}`
    const before = hosts.get(tag)
    if (before !== undefined) {
      const message = `expected a host with a tag of its own (its "variant" makes one), got the tag of hosts[${before.index}]`
      problems.push({ path: renderPath(path), message })
    }
    if (length === null || facts === undefined || before !== undefined) continue
    hosts.set(tag, { host: hostOf(written, id, tag, length, facts), index })
  }
  return Array.from(hosts.values(), ({ host }) => host)
}

const hostOf = (
  written: typeof HostEntry.Type,
  id: string,
  tag: string,
  contextLength: number,
  facts: ProviderFacts,
): Host => {
  const { variant: _, model, pricing, supportsToolChoice, ...rest } = written
  const tools = rest.supportedParameters.length === 0 || rest.supportedParameters.includes("tools")
  return {
    ...rest,
    tag: HostTag.make(tag),
    providerName: facts.name,
    model: ModelId.make(id),
    upstreamModel: model ?? id.slice(id.indexOf("/") + 1),
    pricing: pricing === null ? null : pricingOf(pricing),
    contextLength,
    maxCompletionTokens: rest.maxCompletionTokens ?? contextLength,
    supportsToolChoice: supportsToolChoice ?? { none: tools, auto: tools, required: tools, function: tools },
    privacy: facts.privacy,
    local: facts.local,
  }
}

const conditions = ["minPromptTokens", "utcStart", "utcEnd", "utcDays"] as const

const pricingOf = ({ imageToken: _, inputAudioCache: __, ...written }: typeof PricingEntry.Type): Pricing => ({
  ...written,
  overrides: written.overrides.map((entry) => ({
    ...Struct.pick(entry, ...conditions),
    prices: Struct.omit(entry, ...conditions),
  })),
})

/** A plugin's entries in the form of the configuration: each host gets the provider that brings it; an entry without hosts gets one. */
export const servedBy = (entries: ReadonlyArray<unknown>, provider: string): ReadonlyArray<unknown> =>
  entries.map((entry) => {
    if (!isJsonObject(entry)) return entry
    const { hosts = [{}] } = entry
    return {
      ...entry,
      hosts: Array.isArray(hosts) ? hosts.map((host) => (isJsonObject(host) ? { ...host, provider } : host)) : hosts,
    }
  })

/**
 * The models of several sources as one catalogue. What an earlier source says of a model, or of a host with the same
 * tag, holds; later ones add hosts. The configuration comes first.
 */
export const mergeModels = (sources: ReadonlyArray<ReadonlyArray<Model>>): ReadonlyArray<Model> => {
  const merged = new Map<string, Model>()
  for (const model of sources.flat()) {
    const before = merged.get(model.id)
    if (before === undefined) {
      merged.set(model.id, model)
      continue
    }
    const tags = new Set(before.hosts.map((host) => host.tag))
    merged.set(model.id, { ...before, hosts: [...before.hosts, ...model.hosts.filter((host) => !tags.has(host.tag))] })
  }
  return [...merged.values()]
}
