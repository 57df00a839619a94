/**
 * The prices of what a host says it served, where that differs from what the host stands for. Pure.
 * docs/guarantees.md#g5
 */

import { type Pricing, withTokensTimes } from "../price/price.ts"
import type { Host, Model } from "./Host.ts"
import { hostFacts, type Tier } from "./hostFacts.ts"

/** What served an answer, in the words of its host. Absent: it does not say. */
export interface Served {
  readonly servedTier?: string | undefined
  /** `fast` for more tokens per second. */
  readonly servedSpeed?: string | undefined
  /** Where the model ran. */
  readonly servedRegion?: string | undefined
}

/**
 * Vendors' words for the tiers that have prices of their own; `null`: the usual one. Other words tell nothing of the
 * price.
 */
const tierWords: ReadonlyMap<string, Tier | null> = new Map([
  ...(["flex", "priority"] as const).map((word) => [word, word] as const),
  ...["default", "standard", "on_demand"].map((word) => [word, null] as const),
])

/**
 * Words for the usual speed and region. Anthropic's `not_available` is what models and clouds without a choice say
 * (platform.claude.com, data residency, 2026-11).
 */
const usualSpeed = "standard"
const usualRegions: ReadonlySet<string> = new Set(["global", "not_available"])

const variantOf = ({ tag, provider }: Host): string => tag.slice(provider.length + 1)

const isOtherTier = (host: Host, served: string): boolean => {
  const tier = tierWords.get(served)
  return tier !== undefined && tier !== hostFacts(host).tier
}

const isOtherSpeed = (host: Host, served: string): boolean =>
  served === usualSpeed ? variantOf(host) === "fast" : served !== variantOf(host)

const isOtherRegion = (host: Host, served: string): boolean => !usualRegions.has(served) && served !== variantOf(host)

/** Whether the host's own prices are those of what it says it served. */
export const isAsPriced = (host: Host, { servedTier, servedSpeed, servedRegion }: Served): boolean =>
  (servedTier === undefined || !isOtherTier(host, servedTier)) &&
  (servedSpeed === undefined || !isOtherSpeed(host, servedSpeed)) &&
  (servedRegion === undefined || !isOtherRegion(host, servedRegion))

export interface ServedPrices {
  /** `null`: unknown. */
  readonly pricing: Pricing | null
  /** What of it has no known price, so that `pricing` is the nearest that there is. Empty: nothing. */
  readonly unpriced: ReadonlyArray<string>
}

/**
 * The prices of what was served: those of the model's host that stands for the tier or speed, times what the vendor
 * charges for the region.
 */
export const servedPrices = (
  host: Host,
  { servedTier, servedSpeed, servedRegion }: Served,
  model: Model | undefined,
): ServedPrices => {
  const unpriced: Array<string> = []
  let { pricing } = host
  if (servedTier !== undefined && isOtherTier(host, servedTier)) {
    const found = siblingOf(host, tierWords.get(servedTier) ?? "", model)
    if (found === undefined) unpriced.push(`tier ${servedTier}`)
    else pricing = found.pricing
  }
  if (servedSpeed !== undefined && isOtherSpeed(host, servedSpeed)) {
    const found = siblingOf(host, servedSpeed === usualSpeed ? "" : servedSpeed, model)
    if (found === undefined) unpriced.push(`speed ${servedSpeed}`)
    else pricing = found.pricing
  }
  if (servedRegion !== undefined && isOtherRegion(host, servedRegion)) {
    const found = pricing === host.pricing ? siblingOf(host, servedRegion, model) : undefined
    const multiplier = host.regionMultipliers?.get(servedRegion)
    if (found !== undefined) pricing = found.pricing
    else if (multiplier === undefined) unpriced.push(`region ${servedRegion}`)
    else if (pricing !== null) pricing = withTokensTimes(pricing, multiplier)
  }
  return { pricing, unpriced }
}

/** The host of the same provider and upstream model with this variant; "": with none. */
const siblingOf = (host: Host, variant: string, model: Model | undefined): Host | undefined => {
  const { provider, upstreamModel } = host
  const own = variantOf(host)
  // A variant of another kind has prices that no tier, speed or region of its provider has.
  if (own !== "" && own !== "fast" && hostFacts(host).tier === null) return undefined
  const tag = variant === "" ? provider : `${provider}/${variant}`
  return model?.hosts.find((other) => other.tag === tag && other.upstreamModel === upstreamModel)
}
