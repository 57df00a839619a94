/** Which models a list has, and in which order. Pure. */
import { type Host, type Model, mayKeepPrompts } from "../../../domain/hosts/Host.ts"
import {
  type Charged,
  chargedBy,
  hostFacts,
  isNamedInAnyTier,
  namesIn,
  supports,
} from "../../../domain/hosts/hostFacts.ts"
import { dayMs } from "../../../domain/keys/limitWindows.ts"
import { type Picodollars, scaled } from "../../../domain/price/money.ts"
import { sortPrice } from "../../../domain/price/price.ts"
import type { HostSnapshot } from "../../../plugin/strategy.ts"
import type { Prefix } from "../../Mount.ts"
import type { ModelQuery, Sort } from "./ModelQuery.ts"
import { type ListedModel, listedModel, topHost } from "./modelRecord.ts"

/** A model with what is asked of it again and again. */
export interface Entry {
  readonly model: Model
  /** Those of the model that the list is about. */
  readonly hosts: ReadonlyArray<Host>
  readonly top: Host | undefined
  /** What the top host charges per token before overrides; `null`: unknown. */
  readonly charged: Charged | null
  readonly record: ListedModel
  /** The record as JSON, so that a list is not encoded anew for each request. */
  readonly text: string
  /** What a search looks at, in lower case. */
  readonly searched: string
}

export const entryOf = (
  model: Model,
  hosts: ReadonlyArray<Host>,
  isCallable: (host: Host) => boolean,
  prefix: Prefix,
): Entry => {
  const top = topHost(hosts, isCallable)
  const record = listedModel(model, hosts, top, prefix)
  return {
    model,
    hosts,
    top,
    charged: top === undefined || top.pricing === null ? null : chargedBy(top.pricing, top.pricing),
    record,
    text: JSON.stringify(record),
    searched: [model.id, model.name, ...(model.aliases ?? [])].join(" ").toLowerCase(),
  }
}

/** What is not in the configuration. */
export interface Seen {
  /** Unix milliseconds. */
  readonly now: number
  readonly stats: (host: Host) => HostSnapshot
  /** Tokens by model that were lately used, where the order needs them. */
  readonly tokens: ReadonlyMap<string, number>
}

/** Models that make one of these. Absent: text. */
export const makingAny = (
  entries: ReadonlyArray<Entry>,
  wanted: ReadonlyArray<string> = ["text"],
): ReadonlyArray<Entry> =>
  wanted.includes("all")
    ? entries
    : entries.filter(({ model }) => wanted.some((kind) => model.architecture.outputModalities.includes(kind)))

export const select = (entries: ReadonlyArray<Entry>, query: ModelQuery, seen: Seen): ReadonlyArray<Entry> => {
  const conditions = conditionsOf(query, seen)
  const chosen = makingAny(entries, query.output_modalities)
  const left = conditions.length === 0 ? chosen : chosen.filter((entry) => conditions.every((holds) => holds(entry)))
  return query.sort === undefined ? left : sorted(left, query.sort, seen)
}

type Condition = (entry: Entry) => boolean

const conditionsOf = (query: ModelQuery, seen: Seen): ReadonlyArray<Condition> => {
  const conditions: Array<Condition> = []
  const when = <A>(asked: A | undefined, condition: (asked: A) => Condition) => {
    if (asked !== undefined) conditions.push(condition(asked))
  }
  const lower = (texts: ReadonlyArray<string>) => texts.map((text) => text.toLowerCase())

  when(query.input_modalities, (kinds) => ({ model }) => {
    const taken = model.architecture.inputModalities
    return kinds.every((kind) => taken.includes(kind))
  })
  when(query.supported_parameters, (names) => ({ hosts }) => {
    return lower(names).every((name) => hosts.some((host) => supports(hostFacts(host), name)))
  })
  when(query.q, (text) => {
    const words = text.toLowerCase().trim().split(/\s+/)
    return ({ searched }) => words.every((word) => searched.includes(word))
  })
  when(
    query.context,
    (least) =>
      ({ model }) =>
        model.contextLength >= least,
  )
  when(query.arch, (names) => {
    const tokenizers = lower(names)
    return ({ model }) => tokenizers.includes(model.architecture.tokenizer.toLowerCase())
  })
  when(query.model_authors, (names) => {
    const authors = lower(names)
    return ({ model }) => authors.includes((model.id.split("/", 1)[0] ?? "").toLowerCase())
  })
  if (query.providers !== undefined || query.zdr !== undefined) {
    const names = query.providers === undefined ? undefined : namesIn(query.providers)
    const fits = (host: Host) =>
      (names === undefined || isNamedInAnyTier(names, hostFacts(host))) &&
      (query.zdr === undefined || !mayKeepPrompts(host.privacy))
    conditions.push(({ hosts }) => hosts.some(fits))
  }
  when(
    query.distillable,
    (asked) =>
      ({ model }) =>
        (model.distillable === true) === (asked === "true"),
  )

  const isWithin = (least: number | undefined, most: number | undefined, of: (entry: Entry) => number | null) => {
    if (least === undefined && most === undefined) return
    conditions.push((entry) => {
      const value = of(entry)
      return value !== null && (least === undefined || value >= least) && (most === undefined || value <= most)
    })
  }
  // Picodollars per token: small enough for a number.
  const amount = (price: Picodollars | undefined) => (price === undefined ? null : Number(price))
  isWithin(perToken(query.min_price), perToken(query.max_price), ({ charged }) => amount(charged?.prompt))
  isWithin(perToken(query.min_output_price), perToken(query.max_output_price), ({ charged }) =>
    amount(charged?.completion),
  )
  // Nothing is known of the age of a model without a date.
  isWithin(query.min_age_days, query.max_age_days, ({ model: { created } }) =>
    created === 0 ? null : (seen.now - created * 1000) / dayMs,
  )
  isWithin(query.min_tool_success_rate, query.max_tool_success_rate, best(seen, "toolSuccess", Math.max))
  return conditions
}

/** USD per 1M tokens as picodollars per token. */
const perToken = (usd: number | undefined): number | undefined =>
  usd === undefined ? undefined : Number(scaled(usd, 6)?.value ?? 0n)

/** A figure of the model's best host; `null`: nothing was seen of any. */
const best =
  ({ stats }: Seen, figure: "latencyMs" | "throughput" | "toolSuccess", better: (...of: Array<number>) => number) =>
  ({ hosts }: Entry): number | null => {
    const known = hosts.flatMap((host) => stats(host)[figure] ?? [])
    return known.length === 0 ? null : better(...known)
  }

/** Entries of which nothing is known come last. Equals stay in the order of the configuration. */
const sorted = (entries: ReadonlyArray<Entry>, sort: Sort, seen: Seen): ReadonlyArray<Entry> => {
  const [of, direction] = orders[sort](seen)
  return entries
    .map((entry) => ({ entry, value: of(entry) }))
    .toSorted((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null)
      return direction * (a.value - b.value)
    })
    .map(({ entry }) => entry)
}

type Order = (seen: Seen) => readonly [of: (entry: Entry) => number | null, direction: 1 | -1]

const rising = 1
const falling = -1

const priceOf = ({ top }: Entry): number | null => {
  const price = sortPrice(top?.pricing ?? null)
  return price === null ? null : Number(price)
}
const byTokens: Order = ({ tokens }) => [({ model }) => tokens.get(model.id) ?? 0, falling]

const orders: Readonly<Record<Sort, Order>> = {
  "most-popular": byTokens,
  "top-weekly": byTokens,
  newest: () => [({ model: { created } }) => (created === 0 ? null : created), falling],
  "pricing-low-to-high": () => [priceOf, rising],
  "pricing-high-to-low": () => [priceOf, falling],
  "context-high-to-low": () => [({ model }) => model.contextLength, falling],
  "throughput-high-to-low": (seen) => [best(seen, "throughput", Math.max), falling],
  "latency-low-to-high": (seen) => [best(seen, "latencyMs", Math.min), rising],
}

/** Over how many completed days the tokens are counted that an order goes by; `undefined`: it goes by something else. */
export const popularityDays = (sort: Sort | undefined): number | undefined =>
  sort === "most-popular" ? 30 : sort === "top-weekly" ? 7 : undefined
