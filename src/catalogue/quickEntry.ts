/**
 * Reads entries of models and hosts by hand, as the schemas of `schema.ts` do but in a small part of their time: a catalogue has
 * a thousand hosts, and is read at each start. What is not plainly right is left to the schema, which knows what is wrong with
 * it. Pure.
 */
import { isJsonObject, type JsonObject } from "../domain/json/Json.ts"
import { hasControls } from "../domain/json/plainText.ts"
import { priceFields, priceNames, standIn } from "../domain/price/Price.ts"
import { quantizations } from "../domain/request/Preferences.ts"
import {
  type HostEntry,
  isClock,
  isDay,
  isDayOrMonth,
  isModelId,
  isSlug,
  isVariant,
  type ModelEntry,
  priceIn,
  weekdays,
} from "./schema.ts"

type Host = typeof HostEntry.Type
type Model = typeof ModelEntry.Type
type Pricing = NonNullable<Host["pricing"]>
type Override = Pricing["overrides"][number]

/** Thrown where an entry is left to the schema. */
const unusual = Symbol("unusual")

const leave = (): never => {
  throw unusual
}

const quickly = <A>(read: (entry: JsonObject) => A, names: ReadonlySet<string>) => {
  return (entry: unknown): A | undefined => {
    try {
      return read(objectOf(entry, names))
    } catch (cause) {
      if (cause === unusual) return undefined
      throw cause
    }
  }
}

const objectOf = (value: unknown, names: ReadonlySet<string>): JsonObject => {
  if (!isJsonObject(value)) return leave()
  for (const name in value) if (!names.has(name)) leave()
  return value
}

// --- members: each reads a value that is there

const text = (value: unknown): string => (typeof value === "string" ? value : leave())

const someText = (value: unknown): string => text(value) || leave()

const textThat = (holds: (written: string) => boolean) => (value: unknown) => {
  const written = text(value)
  return holds(written) ? written : leave()
}

const flag = (value: unknown): boolean => (typeof value === "boolean" ? value : leave())

const whole =
  (least: number, most: number) =>
  (value: unknown): number =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : leave()

const tokens = whole(1, 2 ** 31)

const texts = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(someText) : leave())

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : leave())

const price = (value: unknown): bigint =>
  (typeof value === "string" || typeof value === "number" ? priceIn(value) : undefined) ?? leave()

/** The member with its default. `or`: that default; a member that may be null has null as its default. */
const or = <A, B>(read: (value: unknown) => A, value: unknown, fallback: B): A | B =>
  value === undefined || (value === null && fallback === null) ? fallback : read(value)

// --- prices

const priceWires = priceNames.map((name) => priceFields[name].wire)
const pricingMembers = new Set([...priceWires, "discount", "overrides"])
const conditions = ["starts", "min_prompt_tokens", "utc_start", "utc_end", "utc_days"]
const overrideMembers = new Set([...priceWires, ...conditions])

const clock = (value: unknown): number => (typeof value === "number" && isClock(value) ? value : leave())

const weekday = (value: unknown): (typeof weekdays)[number] => weekdays.find((day) => day === value) ?? leave()

const overrideOf = (value: unknown): Override => {
  const entry = objectOf(value, overrideMembers)
  const { starts, utc_start: start, utc_end: end, utc_days: days } = entry
  const prices = priceNames.flatMap((name) => {
    const { wire } = priceFields[name]
    return wire in entry ? [[name, price(entry[wire])] as const] : []
  })
  return {
    ...("starts" in entry ? { starts: textThat(isDay)(starts) } : {}),
    minPromptTokens: or(whole(0, 2 ** 31), entry["min_prompt_tokens"], 0),
    ...("utc_start" in entry ? { utcStart: clock(start) } : {}),
    ...("utc_end" in entry ? { utcEnd: clock(end) } : {}),
    ...("utc_days" in entry ? { utcDays: list(days).map(weekday) } : {}),
    ...Object.fromEntries(prices),
  }
}

const pricingOf = (value: unknown): Pricing => {
  const entry = objectOf(value, pricingMembers)
  if (entry["discount"] !== undefined) return leave()
  const prices: Record<string, bigint | null> = {}
  for (const name of priceNames) {
    const { wire, otherwise } = priceFields[name]
    const written = entry[wire]
    if (otherwise === "required") prices[name] = price(written)
    else prices[name] = standIn(name) === undefined ? or(price, written, 0n) : or(price, written, null)
  }
  return {
    // Every price of the table is set. A record of names loses that type.
    ...(prices as Pick<Pricing, (typeof priceNames)[number]>),
    discountPpm: 0n,
    overrides: or(list, entry["overrides"], []).map(overrideOf),
  }
}

// --- hosts and models

const tiers: ReadonlySet<unknown> = new Set(quantizations)
const isQuantization = (value: unknown): value is Host["quantization"] => tiers.has(value)
const quantizationOf = (value: unknown): Host["quantization"] => (isQuantization(value) ? value : leave())

const toolChoiceMembers = new Set(["none", "auto", "required", "function"])

const toolChoiceOf = (value: unknown): NonNullable<Host["supportsToolChoice"]> => {
  const { none, auto, required, function: named } = objectOf(value, toolChoiceMembers)
  return { none: flag(none), auto: flag(auto), required: flag(required), function: flag(named) }
}

const hostMembers = new Set([
  ...["provider", "variant", "model", "api", "quantization", "pricing", "context_length", "max_completion_tokens"],
  ...["max_prompt_tokens", "supported_parameters", "supports_tool_choice", "supports_implicit_caching"],
  ...["input_modalities", "output_modalities", "expiration_date"],
])

export const quickHost: (entry: unknown) => Host | undefined = quickly((entry) => {
  return {
    provider: textThat(isSlug)(entry["provider"]),
    variant: or(textThat(isVariant), entry["variant"], null),
    model: or(someText, entry["model"], null),
    api: or(someText, entry["api"], null),
    quantization: or(quantizationOf, entry["quantization"], "unknown"),
    pricing: or(pricingOf, entry["pricing"], null),
    contextLength: or(tokens, entry["context_length"], null),
    maxCompletionTokens: or(tokens, entry["max_completion_tokens"], null),
    maxPromptTokens: or(tokens, entry["max_prompt_tokens"], null),
    supportedParameters: or(texts, entry["supported_parameters"], []),
    supportsToolChoice: or(toolChoiceOf, entry["supports_tool_choice"], null),
    supportsImplicitCaching: or(flag, entry["supports_implicit_caching"], false),
    inputModalities: or(texts, entry["input_modalities"], []),
    outputModalities: or(texts, entry["output_modalities"], []),
    expirationDate: or(textThat(isDay), entry["expiration_date"], null),
    nativeTools: {},
    voiceCloning: false,
    multipleAudioReferences: false,
    imageReference: false,
    diarization: false,
  }
}, hostMembers)

const architectureMembers = new Set(["tokenizer", "instruct_type", "input_modalities", "output_modalities"])

const architectureOf = (value: unknown): Model["architecture"] => {
  const entry = objectOf(value, architectureMembers)
  return {
    tokenizer: or(text, entry["tokenizer"], "Other"),
    instructType: or(text, entry["instruct_type"], null),
    inputModalities: or(texts, entry["input_modalities"], []),
    outputModalities: or(texts, entry["output_modalities"], []),
  }
}

const reasoningMembers = new Set(["mandatory", "supported_efforts", "supports_max_tokens"])

const reasoningOf = (value: unknown): NonNullable<Model["reasoning"]> => {
  const entry = objectOf(value, reasoningMembers)
  return {
    mandatory: or(flag, entry["mandatory"], false),
    efforts: or(texts, entry["supported_efforts"], null),
    takesTokens: or(flag, entry["supports_max_tokens"], false),
  }
}

const isShown = (written: string): boolean => !hasControls(written)
const shownName = textThat((written) => written !== "" && isShown(written))

const modelMembers = new Set([
  ...["id", "aliases", "canonical_slug", "name", "hugging_face_id", "description", "created", "context_length"],
  ...["architecture", "distillable", "knowledge_cutoff", "reasoning", "hosts"],
])

export const quickModel: (entry: unknown) => Model | undefined = quickly((entry) => {
  return {
    id: textThat(isModelId)(entry["id"]),
    aliases: or((written) => list(written).map(shownName), entry["aliases"], []),
    canonicalSlug: or(shownName, entry["canonical_slug"], null),
    name: or(textThat(isShown), entry["name"], null),
    huggingFaceId: or(someText, entry["hugging_face_id"], null),
    description: or(text, entry["description"], ""),
    created: or(whole(0, 2 ** 40), entry["created"], 0),
    contextLength: or(tokens, entry["context_length"], null),
    architecture: or(architectureOf, entry["architecture"], architectureOf({})),
    distillable: or(flag, entry["distillable"], null),
    knowledgeCutoff: or(textThat(isDayOrMonth), entry["knowledge_cutoff"], null),
    reasoning: or(reasoningOf, entry["reasoning"], null),
    hosts: or(list, entry["hosts"], []),
  }
}, modelMembers)
