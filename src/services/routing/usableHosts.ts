/** The hosts of a model that may be tried, and why the others may not. Observes only: nothing is taken or called. */
import type { Endpoints } from "../../catalogue/ProviderRegistry.ts"
import { type Exclusion, type TooLong, tooLongText } from "../../domain/failures/Exclusion.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { type HostFacts, modelFacts } from "../../domain/hosts/hostFacts.ts"
import { forbiddenBy, type Permissions } from "../../domain/keys/Permissions.ts"
import { type BudgetSnapshot, budgetRefusal, requiredAmount } from "../../domain/money/reservation.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { boundsFor } from "../../domain/routing/HostRequest.ts"
import { isListedIn } from "../../domain/routing/hostOrder.ts"
import type { Unaffordable } from "../../domain/routing/Plan.ts"
import { type Asked, type Excludes, type Filter, hardFilters, softFilters } from "../../domain/routing/routeFilters.ts"
import { adjustmentOf } from "../../domain/routing/variants.ts"
import type { HostAvailability } from "../hosts/HostHealth.ts"
import type { KeyChoice } from "../hosts/ProviderKeys.ts"

/** What decides besides the request. */
export interface States {
  readonly registry: Endpoints
  readonly health: HostAvailability
  readonly keys: KeyChoice
  readonly budget: BudgetSnapshot
  readonly permissions: Permissions
  /** `PlanOptions.caller`. */
  readonly caller: string | undefined
  /** The bound on output tokens that hosts are sent. */
  readonly maxTokens: AnyRequest["maxTokens"]
  /** `Plan.probes`. Filled in by `usableHosts`. */
  readonly probes: Array<Host>
  /** `Plan.unaffordable`. Made by `usableHosts` for the first of them. */
  unaffordable: Array<Unaffordable> | undefined
}

/** What a check finds: an exclusion without its host and model. */
type Finding = Omit<Exclusion, "host" | "model">

/** Why hosts are left out of a plan that is being made, model by model and host by host. */
export class Exclusions {
  readonly all: Array<Exclusion> = []
  /** The stage of each of them. */
  private readonly stages: Array<number> = []

  /** `stage`: the place of the check among all. Default: after all others. */
  add({ tag, model }: Host, finding: Finding, stage = Number.POSITIVE_INFINITY): void {
    this.all.push({ host: tag, model, ...finding })
    this.stages.push(stage)
  }

  /** Takes back the newest exclusion of the host. */
  remove({ tag, model }: Host): void {
    const at = this.all.findLastIndex((exclusion) => exclusion.host === tag && exclusion.model === model)
    this.all.splice(at, 1)
    this.stages.splice(at, 1)
  }

  /** In the order of the checks: without the last one a host would have been left. */
  byCheck(): ReadonlyArray<Exclusion> {
    return this.all
      .map((exclusion, at) => ({ exclusion, stage: this.stages[at] ?? 0 }))
      .toSorted((a, b) => (a.stage === b.stage ? 0 : a.stage - b.stage))
      .map(({ exclusion }) => exclusion)
  }
}

/**
 * The places of the checks among all. That of the key's lists comes after the filters of the request, so that a host that it
 * excludes is one that only those lists exclude.
 */
const stages = {
  provider: 0,
  firstFilter: 1,
  permissions: 1 + hardFilters.length,
  health: 2 + hardFilters.length,
  budget: 3 + hardFilters.length,
}

/**
 * The hosts of the wanted model that may be tried, in the order of the configuration. The others go to `excluded`, each
 * with the first check that finds something.
 */
export const usableHosts = (asked: Asked, states: States, excluded: Exclusions): ReadonlyArray<Host> => {
  const { model } = asked.wanted
  const { hosts } = modelFacts(model)
  const filters = prepared(asked)
  const usable: Array<HostFacts> = []
  /** Hosts that a check after the filters excludes. */
  const refused: Array<HostFacts> = []
  for (const facts of hosts) {
    if (!passes(facts, states, filters, excluded)) continue
    if (isHealthy(facts.host, states, excluded) && isAffordable(asked, facts.host, states, excluded)) usable.push(facts)
    else refused.push(facts)
  }
  if (usable.length === 0 && refused.length > 0) addProbe(asked, refused, states, usable, excluded)
  const { order, allowFallbacks } = asked.routing.preferences
  const kept =
    order.length > 0 && !allowFallbacks
      ? preferredListed(asked, usable, order, excluded)
      : preferred(asked, usable, excluded)
  return kept.length === hosts.length ? model.hosts : kept.map(hostOf)
}

const hostOf = ({ host }: HostFacts): Host => host

/** The hosts without those that the soft filters exclude. */
const preferred = (asked: Asked, usable: ReadonlyArray<HostFacts>, excluded: Exclusions): ReadonlyArray<HostFacts> => {
  let kept = usable
  for (const filter of softFilters) kept = withoutWorse(asked, kept, filter, excluded)
  return kept
}

/** The same without fallbacks: only the listed hosts can be called, so none of the others is better than they are. */
const preferredListed = (
  asked: Asked,
  usable: ReadonlyArray<HostFacts>,
  order: ReadonlyArray<string>,
  excluded: Exclusions,
): ReadonlyArray<HostFacts> => {
  const isListed = isListedIn(order)
  const listed = usable.filter(({ host }) => isListed(host))
  const others = usable.filter(({ host }) => !isListed(host))
  return [...preferred(asked, listed, excluded), ...others]
}

/** A filter that has something to do. */
interface PreparedFilter {
  readonly name: string
  readonly excludes: Excludes
  /** `Exclusion.need`. */
  readonly need: Exclusion["need"]
  /** Its place among all checks. */
  readonly stage: number
}

const prepared = (asked: Asked): ReadonlyArray<PreparedFilter> => {
  const filters: Array<PreparedFilter> = []
  for (let at = 0; at < hardFilters.length; at++) {
    const filter = hardFilters[at]
    if (filter?.applies(asked) !== true) continue
    const { name, prepare, need } = filter
    filters.push({ name, excludes: prepare(asked), need: need?.(asked), stage: stages.firstFilter + at })
  }
  return filters
}

const findingOf = (by: string, found: string | TooLong): Finding =>
  typeof found === "string" ? { by, reason: found } : { by, reason: `the ${tooLongText(found)}`, tooLong: found }

/** Whether the provider is on, no filter of the request excludes the host, and the key may use it. */
const passes = (
  facts: HostFacts,
  states: States,
  filters: ReadonlyArray<PreparedFilter>,
  excluded: Exclusions,
): boolean => {
  const { host } = facts
  const { registry, permissions } = states
  const unavailable = registry.unavailable(host)
  if (unavailable !== undefined) {
    excluded.add(host, { by: "provider", reason: unavailable }, stages.provider)
    return false
  }
  for (const { name, excludes, need, stage } of filters) {
    const found = excludes(facts)
    if (found === undefined) continue
    const finding = findingOf(name, found)
    excluded.add(host, need === undefined ? finding : { ...finding, need }, stage)
    return false
  }
  const list = forbiddenBy(permissions, host)
  if (list === undefined) return true
  excluded.add(host, { by: list, reason: "the key may not use it" }, stages.permissions)
  return false
}

const isHealthy = (host: Host, { health, keys, caller }: States, excluded: Exclusions): boolean => {
  const withoutKey = keys.refusal(host)
  if (withoutKey !== undefined) {
    const { because, reason, retryAfterMs, isRateLimit } = withoutKey
    const finding = { by: because, reason: `none of its keys may be used: ${reason}`, isRateLimit }
    excluded.add(host, retryAfterMs === undefined ? finding : { ...finding, retryAfterMs }, stages.health)
    return false
  }
  const out = health.admissible(host, caller)
  if (out === undefined) return true
  const { because, reason, retryAfterMs, isRateLimit } = out
  const finding = { by: because, reason: `left alone after a failure: ${reason}`, retryAfterMs, isRateLimit }
  excluded.add(host, finding, stages.health)
  return false
}

const isAffordable = (asked: Asked, host: Host, states: States, excluded: Exclusions): boolean => {
  const { budget, maxTokens } = states
  if (budget.limit === null) return true
  const bounds = boundsFor(asked.routing.needs, asked.bounds, host)
  const request = { bounds, maxTokens, sentBytes: bounds.promptBytes }
  const reason = budgetRefusal(budget, request, host)
  if (reason === undefined) return true
  states.unaffordable ??= []
  states.unaffordable.push({ host, adjustment: adjustmentOf(asked.wanted.variants), bounds })
  excluded.add(host, { by: "budget", reason, required: requiredAmount(request, host) }, stages.budget)
  return false
}

/** Where no host of the model may be called now, one of them may be tried all the same (`HostHealth.emergencyProbe`). */
const addProbe = (
  asked: Asked,
  refused: ReadonlyArray<HostFacts>,
  states: States,
  usable: Array<HostFacts>,
  excluded: Exclusions,
): void => {
  const { health, keys, caller, probes } = states
  const hosts = refused.flatMap(({ host }) => (keys.refusal(host) === undefined ? host : []))
  if (hosts.some((host) => health.admissible(host, caller) === undefined)) return
  const probe = health.emergencyProbe(hosts)
  const facts = refused.find(({ host }) => host === probe)
  if (probe === undefined || facts === undefined) return
  excluded.remove(probe)
  if (!isAffordable(asked, probe, states, excluded)) return
  probes.push(probe)
  usable.push(facts)
}

/** Leaves out the hosts that a soft filter excludes, unless that would be all of them. */
const withoutWorse = (
  asked: Asked,
  hosts: ReadonlyArray<HostFacts>,
  filter: Filter,
  excluded: Exclusions,
): ReadonlyArray<HostFacts> => {
  if (hosts.length < 2 || !filter.applies(asked)) return hosts
  const excludes = filter.prepare(asked)
  const better: Array<HostFacts> = []
  for (const facts of hosts) if (excludes(facts) === undefined) better.push(facts)
  if (better.length === 0 || better.length === hosts.length) return hosts
  for (const facts of hosts) {
    const found = excludes(facts)
    if (found !== undefined) excluded.add(facts.host, findingOf(filter.name, found))
  }
  return better
}
