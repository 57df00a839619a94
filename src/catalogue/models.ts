/**
 * Decodes models from the configuration and from plugins. An invalid host or model does not affect the others. Pure.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Host, Model, Privacy } from "../domain/hosts/Host.ts"
import { HostTag, ModelId } from "../domain/ids.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { hint, type Path, type Problem, problemsOf, renderPath } from "../domain/json/Problem.ts"
import type { Pricing } from "../domain/price/price.ts"
import { quickReader } from "./quickReader.ts"
import { HostEntry, ModelEntry, type PricingEntry } from "./schema.ts"

/** What the hosts of a provider inherit from it. */
export interface ProviderFacts {
  readonly name: string
  readonly privacy: Privacy
  readonly local: boolean
  /** Whose models it serves as their author: the part of a model's id before the slash. Absent: nobody's. */
  readonly authors?: ReadonlyArray<string>
  /** Of all its hosts, for strategies. Absent: none. */
  readonly tags?: ReadonlyArray<string>
}

export interface DecodedModels {
  readonly models: ReadonlyArray<Model>
  readonly problems: ReadonlyArray<Problem>
}

/** Decodes entries of a schema; what is plainly right, by a quicker way. */
const decoderOf = <A extends object, I>(schema: Schema.Schema<A, I>) => {
  const read = quickReader(schema)
  const decode = ParseResult.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
  return (entry: unknown): Either.Either<A, ParseResult.ParseIssue> => {
    const quick = read(entry)
    return quick === undefined ? decode(entry) : Either.right(quick)
  }
}

const decodeModel = decoderOf(ModelEntry)
const decodeHost = decoderOf(HostEntry)

/**
 * The models of one source: the configuration, or one provider's plugin (see `servedBy`). A model or host that is
 * invalid, a duplicate, or of a provider that is not among `providers` is reported as a problem and left out.
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
      // Its hosts are checked too, so that all problems are reported at once. They are not kept: any model's id and
      // length do.
      const hosts = isJsonObject(entry) ? entry["hosts"] : undefined
      if (Array.isArray(hosts)) decodeHosts(hosts, "a/b", 1, providers, path, problems)
      continue
    }
    const { id, hosts: rawHosts, name, contextLength, architecture: known, ...facts } = decoded.right
    const before = models.get(id)
    if (before !== undefined) {
      problems.push({
        path: renderPath([...path, "id"]),
        message: `expected an id of its own, got that of ${renderPath(before.path)}`,
      })
    }
    const inherited = { ...known, efforts: facts.reasoning?.efforts ?? [] }
    const hosts = decodeHosts(rawHosts, id, contextLength, providers, path, problems, inherited)
    const length = contextLength ?? hosts.reduce((most, host) => Math.max(most, host.contextLength), 0)
    if (contextLength === null && rawHosts.length === 0) problems.push(noContextLength(path, "its hosts"))
    if (before !== undefined || length === 0) continue
    const architecture = {
      ...known,
      inputModalities: orText(known.inputModalities),
      outputModalities: orText(known.outputModalities),
    }
    const model = {
      ...facts,
      architecture,
      id: ModelId.make(id, checked),
      name: name ?? id,
      contextLength: length,
      hosts,
    }
    models.set(id, { model, path })
  }
  return { models: Array.from(models.values(), ({ model }) => model), problems }
}

/** What is listed of a model of which nothing is known. */
const orText = (kinds: ReadonlyArray<string>): ReadonlyArray<string> => (kinds.length === 0 ? ["text"] : kinds)

const noContextLength = (path: Path, orAt: string): Problem => ({
  path: renderPath([...path, "context_length"]),
  message: `expected a number of tokens here or at ${orAt}, got nothing`,
})

/** What hosts have of their model. */
type Inherited = Pick<Host, "inputModalities" | "outputModalities" | "efforts">

const nothingKnown: Inherited = { inputModalities: [], outputModalities: [], efforts: [] }

const decodeHosts = (
  raw: ReadonlyArray<unknown>,
  id: string,
  contextLength: number | null,
  providers: ReadonlyMap<string, ProviderFacts>,
  model: Path,
  problems: Array<Problem>,
  inherited: Inherited = nothingKnown,
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
    const host = hostOf(written, id, tag, length, facts, inherited)
    hosts.set(tag, { host: pricesSearch(entry) ? { ...host, pricesSearch: true } : host, index })
  }
  return Array.from(hosts.values(), ({ host }) => host)
}

/** Whether an entry that was decoded has a price for searches: decoded, no price looks like 0. */
const pricesSearch = (entry: unknown): boolean =>
  isJsonObject(entry) && isJsonObject(entry["pricing"]) && entry["pricing"]["web_search"] != null

/** The schema of the entry knows the form of ids and slugs. */
const checked = { disableValidation: true }

const hostOf = (
  written: typeof HostEntry.Type,
  id: string,
  tag: string,
  contextLength: number,
  facts: ProviderFacts,
  { efforts, ...modalities }: Inherited,
): Host => {
  const { variant: _, model, baseModel, api, pricing, supportsToolChoice, ...more } = written
  const { expirationDate, nativeTools, voiceCloning, multipleAudioReferences, imageReference, diarization, ...rest } =
    more
  const tools = rest.supportedParameters.length === 0 || rest.supportedParameters.includes("tools")
  return {
    ...rest,
    tag: HostTag.make(tag, checked),
    providerName: facts.name,
    model: ModelId.make(id, checked),
    ...(api === null ? {} : { api }),
    ...(baseModel === null ? {} : { baseModel }),
    upstreamModel: model ?? id.slice(id.indexOf("/") + 1),
    ...(facts.authors?.includes(id.slice(0, id.indexOf("/"))) === true ? { isAuthors: true } : {}),
    pricing: pricing === null ? null : pricingOf(pricing),
    contextLength,
    maxCompletionTokens: rest.maxCompletionTokens ?? contextLength,
    supportsToolChoice: supportsToolChoice ?? { none: tools, auto: tools, required: tools, function: tools },
    inputModalities: rest.inputModalities.length > 0 ? rest.inputModalities : modalities.inputModalities,
    outputModalities: rest.outputModalities.length > 0 ? rest.outputModalities : modalities.outputModalities,
    privacy: facts.privacy,
    local: facts.local,
    tags: facts.tags === undefined ? rest.tags : [...new Set([...facts.tags, ...rest.tags])],
    ...(efforts === undefined ? {} : { efforts }),
    listed: { expirationDate, nativeTools, voiceCloning, multipleAudioReferences, imageReference, diarization },
  }
}

const conditions = ["starts", "minPromptTokens", "utcStart", "utcEnd", "utcDays"] as const

const pricingOf = (written: PricingEntry): Pricing => ({
  ...written,
  overrides: written.overrides.map((entry) => ({
    ...Struct.pick(entry, ...conditions),
    prices: Struct.omit(entry, ...conditions),
  })),
})

/**
 * A plugin's entries in the form of the configuration: each host gets the plugin's provider, and an entry without hosts
 * gets one host.
 */
export const servedBy = (entries: ReadonlyArray<unknown>, provider: string): ReadonlyArray<unknown> =>
  entries.map((entry) => {
    if (!isJsonObject(entry)) return entry
    const { hosts = [{}] } = entry
    return {
      ...entry,
      hosts: Array.isArray(hosts) ? hosts.map((host) => (isJsonObject(host) ? { ...host, provider } : host)) : hosts,
    }
  })

/** What an operator's model, and its host, have of the listed ones where they say nothing themselves. */
const ofBaseModel = ["context_length", "architecture", "reasoning"] as const
const ofBaseHost = [
  ...[
    "pricing",
    "quantization",
    "context_length",
    "max_completion_tokens",
    "max_prompt_tokens",
    "supported_parameters",
  ],
  ...["supports_tool_choice", "supports_implicit_caching", "bills_after_abort", "input_modalities"],
  ...["output_modalities", "expiration_date"],
] as const

/**
 * Models of the configuration with what providers list of the models that their hosts name as `base_model`. `listed`:
 * the entries of each provider that is on.
 */
export const withBaseModels = (
  entries: ReadonlyArray<unknown>,
  listed: ReadonlyMap<string, ReadonlyArray<unknown>>,
): ReadonlyArray<unknown> =>
  entries.map((entry) => {
    if (!isJsonObject(entry) || !Array.isArray(entry["hosts"])) return entry
    let model: JsonObject = {}
    const hosts = entry["hosts"].map((host: unknown) => {
      if (!isJsonObject(host) || typeof host["base_model"] !== "string") return host
      const entries = listed.get(String(host["provider"]))
      // Nothing is known of a provider that is off, and nobody calls its hosts.
      if (entries === undefined) return { context_length: 1, ...host }
      const base = listedAs(host["base_model"], entries)
      if (base === undefined) return host
      model = { ...present(base.model, ofBaseModel), ...model }
      return { ...present(base.model, ["context_length"]), ...present(base.host, ofBaseHost), ...host }
    })
    return { ...model, ...entry, hosts }
  })

const listedAs = (name: string, entries: ReadonlyArray<unknown>) => {
  for (const model of entries) {
    if (!isJsonObject(model)) continue
    const { id, hosts = [{}] } = model
    for (const host of Array.isArray(hosts) ? hosts : [])
      if (isJsonObject(host) && (host["model"] ?? String(id).slice(String(id).indexOf("/") + 1)) === name)
        return { model, host }
  }
  return undefined
}

const present = (object: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])))

/**
 * Merges the models of several sources. For a model, or a host with the same tag, the earlier source wins; later ones
 * add hosts and names, and those facts of the model that the earlier ones do not know. The configuration comes first.
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
    merged.set(model.id, {
      ...before,
      ...firstKnown(before, model),
      hosts: [...before.hosts, ...model.hosts.filter((host) => !tags.has(host.tag))],
    })
  }
  return [...merged.values()]
}

const firstKnown = (before: Model, after: Model): Partial<Model> => ({
  aliases: [...new Set([...(before.aliases ?? []), ...(after.aliases ?? [])])],
  canonicalSlug: before.canonicalSlug ?? after.canonicalSlug ?? null,
  huggingFaceId: before.huggingFaceId ?? after.huggingFaceId ?? null,
  description: before.description === "" ? after.description : before.description,
  distillable: before.distillable ?? after.distillable,
  knowledgeCutoff: before.knowledgeCutoff ?? after.knowledgeCutoff ?? null,
  reasoning: before.reasoning ?? after.reasoning ?? null,
})
