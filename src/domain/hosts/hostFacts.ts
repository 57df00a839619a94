/** What routing asks of a host again and again, derived once for each configuration. Pure. */

import type { Picodollars } from "../price/money.ts"
import { effectivePrice, type Prices, type Pricing, priceNames } from "../price/price.ts"
import { chatParameterRows } from "../request/chatParameters.ts"
import type { pricesWithCeiling } from "../request/Preferences.ts"
import type { Host, Model } from "./Host.ts"

export type Tier = "flex" | "priority"

export interface HostFacts {
  readonly host: Host
  /** In lower case. */
  readonly tag: string
  readonly provider: string
  readonly providerName: string
  /** The service tier that the host stands for: `<provider>/flex`, `<provider>/priority`; `null`: none. */
  readonly tier: Tier | null
  /** That the host supports, by all their names. Empty when nothing is known. */
  readonly parameters: ReadonlySet<string>
  /** That the host is known to refuse, by all their names. */
  readonly lacks: ReadonlySet<string>
  /** Whether every price is known to be zero. */
  readonly costsNothing: boolean
  /** What is charged for a unit: less the discount, rounded up. `null`: unknown, or not the same for every request. */
  readonly charged: Charged | null
}

export type Charged = Readonly<Record<(typeof pricesWithCeiling)[number], Picodollars>>

/** Names of one thing: a host that lists one of a group supports them all. */
const synonyms: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  Object.values(Object.groupBy(chatParameterRows, ([name, { listedWith = name }]) => listedWith)).flatMap(
    (rows = []) => {
      const group = rows.map(([name]) => name)
      return group.map((name) => [name, group] as const)
    },
  ),
)

const namesOf = (names: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(names.flatMap((name) => synonyms.get(name) ?? [name]))

const noNames: ReadonlySet<string> = new Set()

// Hosts live as long as their configuration.
const hosts = new WeakMap<Host, HostFacts>()

export const hostFacts = (host: Host): HostFacts => {
  const before = hosts.get(host)
  if (before !== undefined) return before
  const facts: HostFacts = {
    host,
    tag: host.tag.toLowerCase(),
    provider: host.provider.toLowerCase(),
    providerName: host.providerName.toLowerCase(),
    tier: tierIn(host),
    parameters: namesOf(host.supportedParameters),
    lacks: host.lacks === undefined ? noNames : namesOf(host.lacks),
    costsNothing: costsNothing(host),
    charged: host.pricing === null || host.pricing.overrides.length > 0 ? null : chargedBy(host.pricing, host.pricing),
  }
  hosts.set(host, facts)
  return facts
}

const tierIn = ({ tag, provider }: Host): Tier | null => {
  const variant = tag.slice(provider.length + 1)
  return variant === "flex" || variant === "priority" ? variant : null
}

const costsNothing = ({ pricing }: Host): boolean =>
  pricing !== null &&
  [pricing, ...pricing.overrides.map(({ prices }) => prices)].every((prices) =>
    priceNames.every((name) => (prices[name] ?? 0n) === 0n),
  )

const million = 1_000_000n

/**
 * Prices less the discount, rounded up: a price of whole picodollars is above a ceiling just when the rounded one is.
 */
export const chargedBy = (prices: Prices, { discountPpm }: Pricing): Charged => {
  const charged = (member: keyof Charged): Picodollars => {
    const price = effectivePrice(prices, member)
    return discountPpm === 0n ? price : (price * (million - discountPpm) + million - 1n) / million
  }
  return {
    prompt: charged("prompt"),
    completion: charged("completion"),
    request: charged("request"),
    image: charged("image"),
    audio: charged("audio"),
  }
}

/** Names of hosts in lower case, for lookups. */
export type Names = ReadonlySet<string>

// The lists of a request are read for each model that it wants.
const sets = new WeakMap<ReadonlyArray<string>, Names>()

export const namesIn = (list: ReadonlyArray<string>): Names => {
  const before = sets.get(list)
  if (before !== undefined) return before
  const names = new Set(list.map((name) => name.toLowerCase()))
  sets.set(list, names)
  return names
}

/**
 * Whether some name means this host: its tag, its provider's slug (then every variant), or the provider's display name.
 * Hosts of a service tier have prices of their own, so only their full tag means them.
 */
export const isNamed = (names: Names, { tag, provider, providerName, tier }: HostFacts): boolean =>
  names.has(tag) || (tier === null && (names.has(provider) || names.has(providerName)))

/**
 * The same, but a provider's name means its service tiers too: for providers to avoid, and for a tier that was asked
 * for.
 */
export const isNamedInAnyTier = (names: Names, { tag, provider, providerName }: HostFacts): boolean =>
  names.has(tag) || names.has(provider) || names.has(providerName)

/**
 * Whether the host takes a parameter. Of a host that lists nothing, anything may be true that it is not known to
 * refuse.
 */
export const maySupport = (facts: HostFacts, parameter: string): boolean =>
  facts.parameters.size === 0 ? !facts.lacks.has(parameter) : supports(facts, parameter)

/** Whether the host lists the parameter, under this name or another one for the same. */
export const supports = ({ parameters }: HostFacts, parameter: string): boolean => parameters.has(parameter)

export interface ModelFacts {
  /** In the order of the configuration. */
  readonly hosts: ReadonlyArray<HostFacts>
  readonly hasTiers: boolean
  readonly hasFlexHosts: boolean
  /** Tokens: of the host with the longest context. */
  readonly longestContext: number
}

const models = new WeakMap<Model, ModelFacts>()

export const modelFacts = (model: Model): ModelFacts => {
  const before = models.get(model)
  if (before !== undefined) return before
  const all = model.hosts.map(hostFacts)
  const facts = {
    hosts: all,
    hasTiers: all.some(({ tier }) => tier !== null),
    hasFlexHosts: all.some(({ tier }) => tier === "flex"),
    longestContext: model.hosts.reduce((most, { contextLength }) => Math.max(most, contextLength), 0),
  }
  models.set(model, facts)
  return facts
}
