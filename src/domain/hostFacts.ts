/** What routing asks of a host again and again, derived once for each configuration. Pure. */
import type { Host, Model } from "./Host.ts"
import { priceNames } from "./Price.ts"

export type Tier = "flex" | "priority"

export interface HostFacts {
  /** In lower case. */
  readonly tag: string
  readonly provider: string
  readonly providerName: string
  /** The service tier that the host stands for: `<provider>/flex`, `<provider>/priority`; `null`: none. */
  readonly tier: Tier | null
  /** Empty when nothing is known. */
  readonly parameters: ReadonlySet<string>
  /** Whether every price is known to be zero. */
  readonly isFree: boolean
}

// Hosts live as long as their configuration.
const hosts = new WeakMap<Host, HostFacts>()

export const hostFacts = (host: Host): HostFacts => {
  const before = hosts.get(host)
  if (before !== undefined) return before
  const facts: HostFacts = {
    tag: host.tag.toLowerCase(),
    provider: host.provider.toLowerCase(),
    providerName: host.providerName.toLowerCase(),
    tier: tierIn(host),
    parameters: new Set(host.supportedParameters),
    isFree: isFree(host),
  }
  hosts.set(host, facts)
  return facts
}

const tierIn = ({ tag, provider }: Host): Tier | null => {
  const variant = tag.slice(provider.length + 1)
  return variant === "flex" || variant === "priority" ? variant : null
}

const isFree = ({ pricing }: Host): boolean =>
  pricing !== null &&
  [pricing, ...pricing.overrides.map(({ prices }) => prices)].every((prices) =>
    priceNames.every((name) => (prices[name] ?? 0n) === 0n),
  )

/**
 * Whether a name of a list means this host: its tag, its provider's slug (then every variant), or the provider's
 * display name. Hosts of a service tier have prices of their own, so only their full tag means them.
 */
export const isNamed = (name: string, host: Host): boolean => {
  const wanted = name.toLowerCase()
  const facts = hostFacts(host)
  return wanted === facts.tag || (facts.tier === null && (wanted === facts.provider || wanted === facts.providerName))
}

/** The same for a list of providers to avoid: a provider's name means its service tiers too. */
export const isIgnored = (name: string, host: Host): boolean => {
  const wanted = name.toLowerCase()
  const { tag, provider, providerName } = hostFacts(host)
  return wanted === tag || wanted === provider || wanted === providerName
}

/** Whether the host takes a parameter. Of a host that lists nothing, anything may be true. */
export const maySupport = (host: Host, parameter: string): boolean =>
  host.supportedParameters.length === 0 || supports(host, parameter)

/** Two names of one thing: a host that lists one of a group supports them all. */
const synonyms: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  [
    ["max_tokens", "max_completion_tokens"],
    ["reasoning", "reasoning_effort", "include_reasoning"],
  ].flatMap((group) => group.map((name) => [name, group])),
)

/** Whether the host lists the parameter, under this name or another one for the same. */
export const supports = (host: Host, parameter: string): boolean => {
  const { parameters } = hostFacts(host)
  if (parameters.has(parameter)) return true
  return synonyms.get(parameter)?.some((name) => parameters.has(name)) ?? false
}

export interface ModelFacts {
  readonly hasFlexHosts: boolean
  /** Tokens: of the host with the longest context. */
  readonly longestContext: number
}

const models = new WeakMap<Model, ModelFacts>()

export const modelFacts = (model: Model): ModelFacts => {
  const before = models.get(model)
  if (before !== undefined) return before
  const facts = {
    hasFlexHosts: model.hosts.some((host) => hostFacts(host).tier === "flex"),
    longestContext: model.hosts.reduce((most, { contextLength }) => Math.max(most, contextLength), 0),
  }
  models.set(model, facts)
  return facts
}
