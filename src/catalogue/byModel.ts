/**
 * Reads a catalogue that lists models, each with the hosts of all providers, and makes of it what each provider brings: lists of
 * `ListedModel`, by the provider's slug. Only facts that the gateway has a place for are taken over; docs/catalogue.md names the
 * others. What it makes is checked afterwards, by the schema of all models. Pure.
 */

import type { ListedHost, ListedModel, ListedPricing } from "../domain/hosts/ListedModel.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../domain/json/json.ts"
import { kindOf, type Problem } from "../domain/json/Problem.ts"
import { isSlug } from "./schema.ts"

export const isByModel = (raw: JsonObject): boolean => Array.isArray(raw["models"]) && isJsonObject(raw["providers"])

/** Entries that could not be read at all. What else is wrong is seen in what they become. */
export const shapeProblems = (raw: JsonObject): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const expected = (holds: boolean, path: string, wanted: string, value: unknown): void => {
    if (!holds) problems.push({ path, message: `expected ${wanted}, got ${kindOf(value)}` })
  }
  const models: ReadonlyArray<unknown> = Array.isArray(raw["models"]) ? raw["models"] : []
  for (const [at, model] of models.entries()) {
    const path = `models[${at}]`
    expected(isJsonObject(model), path, "an object", model)
    if (!isJsonObject(model)) continue
    const { id, hosts } = model
    expected(typeof id === "string", `${path}.id`, "text", id)
    expected(Array.isArray(hosts), `${path}.hosts`, "a list", hosts)
    const own: ReadonlyArray<unknown> = Array.isArray(hosts) ? hosts : []
    for (const [place, host] of own.entries()) {
      const provider = isJsonObject(host) ? host["provider"] : undefined
      const isNamed = typeof provider === "string" && isSlug(provider)
      expected(isNamed, `${path}.hosts[${place}].provider`, "a slug of a provider", provider)
    }
  }
  return problems
}

/** Models and hosts in the order of the catalogue. */
export const byProvider = (raw: JsonObject): ReadonlyMap<string, ReadonlyArray<ListedModel>> => {
  const facts = isJsonObject(raw["providers"]) ? raw["providers"] : {}
  const lists = new Map<string, Array<ListedModel>>()
  for (const model of objectsIn(raw["models"])) {
    // Where neither the model nor the host says how long a prompt may be, no request can be routed.
    const hosts = objectsIn(model["hosts"]).filter(
      (host) => host["status"] !== "retired" && (host["context_length"] ?? model["context_length"]) != null,
    )
    for (const [provider, own] of Map.groupBy(hosts, (host) => String(host["provider"]))) {
      const known = facts[provider]
      const caches = isJsonObject(known) && known["implicit_caching"] === true
      const list = lists.get(provider) ?? []
      list.push(
        listed(
          model,
          own,
          own.flatMap((host) => listedHosts(model, host, caches)),
        ),
      )
      lists.set(provider, list)
    }
  }
  return lists
}

const texts = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((text) => typeof text === "string") : []

// What is copied unread is checked by the schema of `ListedModel` afterwards.
const unread = <A>(value: unknown): A => value as A

/** The members that are there and not null. */
const present = (entry: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (entry[name] == null ? [] : [[name, entry[name]]])))

const listed = (model: JsonObject, own: ReadonlyArray<JsonObject>, hosts: ReadonlyArray<ListedHost>): ListedModel => {
  const id = idOf(model)
  const slug = id.slice(id.indexOf("/") + 1)
  const names = [...own.flatMap(aliasesOf), ...authorsNames(model)].filter((name) => name !== slug)
  const aliases = [...new Set(names)]
  const reasoning = reasoningOf(model)
  return {
    ...unread<{ readonly id: string }>({ id: model["id"] }),
    ...(aliases.length === 0 ? {} : { aliases }),
    ...present(model, ["canonical_slug", "name", "hugging_face_id", "created", "context_length"]),
    ...present(model, ["architecture", "knowledge_cutoff"]),
    ...(reasoning === undefined ? {} : { reasoning }),
    hosts,
  }
}

const date = /-?\d{4}-?\d{2}-?\d{2}$/

/**
 * Other names that the provider takes for its model, if they can only mean this one: of several that differ in their date each means
 * a version of its own.
 */
const aliasesOf = (host: JsonObject): ReadonlyArray<string> => unambiguousNames(texts(host["aliases"]))

const unambiguousNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const plain = names.filter((name) => !name.includes("/") && !name.includes(":"))
  const dated = Map.groupBy(
    plain.filter((name) => date.test(name)),
    (name) => name.replace(date, ""),
  )
  return plain.filter((name) => !date.test(name) || dated.get(name.replace(date, ""))?.length === 1)
}

/**
 * Providers of the authors that are named otherwise: what `authors` of their plugins says the other way round. A model's names do not
 * depend on which provider is on, so each list has those of its author's hosts.
 */
export const authorsProviders: Readonly<Record<string, ReadonlyArray<string>>> = {
  amazon: ["bedrock"],
  google: ["google-ai-studio", "google-vertex"],
  microsoft: ["azure"],
  mistralai: ["mistral"],
  qwen: ["alibaba"],
  "x-ai": ["xai"],
}

/** Names by which the author's own hosts call the model, those of hosts that were retired too: callers still have them. */
const authorsNames = (model: JsonObject): ReadonlyArray<string> => {
  const author = idOf(model).split("/", 1)[0] ?? ""
  const providers = authorsProviders[author] ?? [author]
  return objectsIn(model["hosts"])
    .filter(({ provider }) => providers.includes(String(provider)))
    .flatMap((host) => unambiguousNames([...texts([host["upstream_model_id"]]), ...aliasesOf(host)]))
}

const reasoningOf = (model: JsonObject): ListedModel["reasoning"] => {
  const options = model["reasoning_options"]
  if (!isJsonObject(options)) return undefined
  const efforts = texts(options["efforts"])
  const budget = isJsonObject(options["budget"]) ? options["budget"] : undefined
  // A number of tokens with a least and a greatest value cannot be left out; otherwise there is no reasoning without it.
  const isOptional = budget !== undefined && (budget["min"] === undefined || budget["max"] === undefined)
  const canStop =
    options["toggle"] === true || efforts.includes("none") || isOptional || claudeThatStops.test(idOf(model))
  return {
    ...(canStop ? {} : { mandatory: true }),
    ...(efforts.length === 0 ? {} : { supported_efforts: efforts }),
    ...(budget === undefined ? {} : { supports_max_tokens: true }),
  }
}

const idOf = ({ id }: JsonObject): string => (typeof id === "string" ? id : "")

/** The host, and one more for each service tier whose prices are known. */
const listedHosts = (model: JsonObject, host: JsonObject, caches: boolean): ReadonlyArray<ListedHost> => {
  const provider = String(host["provider"])
  const tag = typeof host["tag"] === "string" ? host["tag"] : provider
  const variant = tag.slice(provider.length + 1)
  const isChat = !texts(isJsonObject(model["architecture"]) ? model["architecture"]["output_modalities"] : []).includes(
    "embeddings",
  )
  const plain: ListedHost = {
    ...(variant === "" ? {} : { variant }),
    ...unread<ListedHost>({ model: host["upstream_model_id"] }),
    ...(provider === "openai" && onlyResponses.test(idOf(model)) ? { api: "responses" } : {}),
    ...(host["quantization"] === "unknown" ? {} : present(host, ["quantization"])),
    ...(host["price_status"] === "unpriced" ? {} : unread<ListedHost>({ pricing: pricingOf(host) })),
    ...present(host, ["context_length", "max_completion_tokens", "max_prompt_tokens", "input_modalities"]),
    ...unread<ListedHost>({ supported_parameters: parametersOf(model, host) }),
    ...(refusesForcedTools.test(idOf(model)) ? { supports_tool_choice: unforced } : {}),
    ...(caches && isChat ? { supports_implicit_caching: true } : {}),
    ...(host["deprecation_date"] == null ? {} : unread<ListedHost>({ expiration_date: host["deprecation_date"] })),
  }
  const { service_tiers: tiers } = host
  if (!tierProviders.has(provider) || !isJsonObject(tiers) || variant !== "") return [plain]
  return [
    plain,
    ...Object.entries(tiers).map(([tier, prices]) => ofTier(plain, tier, isJsonObject(prices) ? prices : {})),
  ]
}

/** Prices that are announced for a day become an override that starts on it. */
const pricingOf = (host: JsonObject): unknown => {
  const { pricing, scheduled_pricing: announced } = host
  if (!isJsonObject(pricing) || !isJsonObject(announced)) return pricing
  const { effective: starts, ...prices } = announced
  const overrides = Array.isArray(pricing["overrides"]) ? pricing["overrides"] : []
  return { ...pricing, overrides: [...overrides, { starts, ...prices }] }
}

/** Providers whose plugin asks for the tier (`service_tier`); elsewhere the host would not know that it was meant. */
const tierProviders: ReadonlySet<string> = new Set(["openai"])

/** A tier has no known price for long prompts where the host has one of its own for them, so it takes only shorter ones. */
const ofTier = (host: ListedHost, variant: string, prices: JsonObject): ListedHost => {
  const { overrides = [], ...base } = host.pricing ?? {}
  const short = overrides.flatMap(({ min_prompt_tokens: from = 0 }) => (from > 0 ? [from - 1] : []))
  const most = Math.min(host.max_prompt_tokens ?? Number.POSITIVE_INFINITY, ...short)
  return {
    ...host,
    variant,
    pricing: unread<ListedPricing>({ ...base, ...prices }),
    ...(Number.isFinite(most) ? { max_prompt_tokens: most } : {}),
  }
}

// From OpenAI's model pages, read in 2026-11: its -pro, Codex and deep-research models do not have chat completions.
const onlyResponses = /^openai\/(?:o\d(?:-mini)?-(?:pro|deep-research)|gpt-5(?:\.\d)?-pro|.*codex)/

// From Anthropic's migration guides, read in 2026-11: what lists of models derive from flags, and get wrong. Thinking can be
// switched off for Opus 4.7 to 5, Sonnet 5 and Haiku 5.5. The 5.5 models, Fable and Mythos refuse a tool choice that forces a call,
// since they always think. From Opus 4.7 on no model takes parameters of sampling.
const claudeThatStops = /^anthropic\/claude-(?:opus-(?:4|5$)|sonnet-5$|haiku-)/
const refusesForcedTools = /^anthropic\/claude-(?:fable|mythos|[a-z]+-5\.5)/
const refusesSampling = /^anthropic\/claude-(?:fable|mythos|opus-4\.[7-9]|[a-z]+-5)/

const sampling: ReadonlySet<string> = new Set(["temperature", "top_k", "top_p"])
const unforced = { none: true, auto: true, required: false, function: false }

const parametersOf = (model: JsonObject, host: JsonObject): unknown => {
  const parameters = host["supported_parameters"]
  return refusesSampling.test(idOf(model)) ? texts(parameters).filter((name) => !sampling.has(name)) : parameters
}
