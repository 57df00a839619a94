/** What the hosts of a plan are sorted by: the caller's own order, a sort, the wanted service tier, or the configured strategy. Pure. */
import type { RoutingConfig } from "../../catalogue/ResolvedConfig.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { hostFacts } from "../../domain/hosts/hostFacts.ts"
import type { Preferences } from "../../domain/request/Preferences.ts"
import { byTier, listedFirst } from "../../domain/routing/hostOrder.ts"
import { sortOf, type WantedModel } from "../../domain/routing/variants.ts"

/** The strategy for a sort: the installed one of that name, else the configured one. */
export const strategyFor = (sort: string | undefined, { strategies, strategy }: RoutingConfig): string =>
  sort !== undefined && strategies.has(sort) ? sort : strategy

const tierSorts = { flex: "price", priority: "throughput" } as const

/** Orders hosts by the strategy for a sort. */
export type OrderBy = (hosts: ReadonlyArray<Host>, sort: string | undefined) => ReadonlyArray<Host>

/** What a group of hosts is sorted by in front: the caller's sort, a variant's, else that of the wanted service tier. */
const sortFor = (
  { sort, serviceTier }: Preferences,
  hosts: ReadonlyArray<Host>,
  wanted: WantedModel | undefined,
): string | undefined => {
  const asked = sort ?? sortOf(wanted?.variants ?? [])
  if (asked !== undefined || serviceTier === undefined || serviceTier === "default") return asked
  return hosts.some((host) => hostFacts(host).tier === serviceTier) ? tierSorts[serviceTier] : undefined
}

/**
 * The order of a group of hosts: the caller's own, which neither uses nor teaches what is remembered of conversations; else
 * that of a strategy, hosts of a wanted service tier in front.
 */
const ordering = (
  preferences: Preferences,
  hosts: ReadonlyArray<Host>,
  wanted: WantedModel | undefined,
  order: OrderBy,
): ReadonlyArray<Host> => {
  const { order: listed, sort: asked, serviceTier } = preferences
  if (listed.length > 0) return listedFirst(listed, hosts)
  const sort = sortFor(preferences, hosts, wanted)
  if (serviceTier !== "priority") return order(hosts, sort)
  const [tier, others] = byTier(hosts)
  return [...order(tier, sort), ...order(others, asked ?? sortOf(wanted?.variants ?? []))]
}

/** Each group of hosts in its order. Where every model is a group of its own, it is that of the wanted model at its place. */
export const orderedGroups = (
  preferences: Preferences,
  groups: ReadonlyArray<ReadonlyArray<Host>>,
  wanted: ReadonlyArray<WantedModel>,
  order: OrderBy,
): ReadonlyArray<ReadonlyArray<Host>> => {
  const ordered: Array<ReadonlyArray<Host>> = []
  for (let at = 0; at < groups.length; at++) ordered.push(ordering(preferences, groups[at] ?? [], wanted[at], order))
  return ordered
}

/** `Plan.strategy`: how the first group of hosts is ordered. */
export const usedStrategy = (
  preferences: Preferences,
  hosts: ReadonlyArray<Host>,
  wanted: WantedModel | undefined,
  routing: RoutingConfig,
): string => (preferences.order.length > 0 ? "order" : strategyFor(sortFor(preferences, hosts, wanted), routing))
