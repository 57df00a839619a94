/** Suffixes of a model's name that say how to serve it: `acme/small:nitro`. Pure. */
import type { Model } from "../hosts/Host.ts"
import type { Tier } from "../hosts/hostFacts.ts"
import type { Preferences } from "../request/Preferences.ts"

export const variants = ["nitro", "floor", "free", "exacto", "extended", "thinking", "online"] as const

export type Variant = (typeof variants)[number]

/** The strategy that a variant asks for. */
const sorts: { readonly [V in Variant]?: string } = { nitro: "throughput", floor: "price", exacto: "exacto" }

/** The tier whose hosts a variant admits, among the others. */
const tiers: { readonly [V in Variant]?: Tier } = { nitro: "priority", floor: "flex" }

/** A model that a request asks for, by one of its names. */
export interface WantedModel {
  readonly model: Model
  /** In the order written, each once, and at most one that sorts. */
  readonly variants: ReadonlyArray<Variant>
}

/** Whether variants can be written together. */
export const areCompatible = (written: ReadonlyArray<Variant>): boolean =>
  new Set(written).size === written.length && written.filter((variant) => sorts[variant] !== undefined).length < 2

/** The strategy that the variants ask for; `undefined`: none. */
export const sortOf = (written: ReadonlyArray<Variant>): string | undefined => {
  for (const variant of written) {
    if (sorts[variant] !== undefined) return sorts[variant]
  }
  return undefined
}

/**
 * The service tier whose hosts may be tried besides those without a tier. A caller who says `order` or `service_tier`
 * knows better than the variant.
 */
export const admittedTier = (
  written: ReadonlyArray<Variant>,
  { serviceTier, order }: Pick<Preferences, "serviceTier" | "order">,
): Tier | undefined => {
  if (serviceTier !== undefined) return serviceTier === "default" ? undefined : serviceTier
  if (order.length > 0) return undefined
  for (const variant of written) {
    if (tiers[variant] !== undefined) return tiers[variant]
  }
  return undefined
}

/** What a variant changes in the request that is sent to a host. */
export interface Adjustment {
  /** Reasoning is on unless the caller said otherwise. */
  readonly thinks: boolean
  /** The host searches the web. */
  readonly searches: boolean
}

export const adjustmentOf = (written: ReadonlyArray<Variant>): Adjustment | undefined => {
  if (written.length === 0) return undefined
  const adjustment = { thinks: written.includes("thinking"), searches: written.includes("online") }
  return adjustment.thinks || adjustment.searches ? adjustment : undefined
}
