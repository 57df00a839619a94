/** The hosts of a model that may be tried, and why the others may not. Observes only: nothing is taken or called. */
import type * as Context from "effect/Context"
import type { Exclusion } from "../domain/Exclusion.ts"
import { type BudgetSnapshot, budgetRefusal } from "../domain/Hold.ts"
import type { Host } from "../domain/Host.ts"
import { type HostFacts, modelFacts } from "../domain/hostFacts.ts"
import { isListedIn } from "../domain/hostOrder.ts"
import { forbiddenBy, isRestricted, type Permissions } from "../domain/Permissions.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { type Asked, type Excludes, type Filter, hardFilters, softFilters } from "../domain/routeFilters.ts"
import type { HostHealth } from "./HostHealth.ts"
import type { ProviderRegistry } from "./ProviderRegistry.ts"

/** What decides besides the request. */
export interface States {
  readonly registry: Context.Tag.Service<ProviderRegistry>
  readonly health: Context.Tag.Service<HostHealth>
  readonly budget: BudgetSnapshot
  readonly permissions: Permissions
  /** The bound on output tokens that hosts are sent. */
  readonly maxTokens: ChatRequest["maxTokens"]
  /** `Plan.probes`. Filled in by `usableHosts`. */
  readonly probes: Array<Host>
}

/** Why hosts are left out of a plan that is being made, model by model and host by host. */
export class Exclusions {
  readonly all: Array<Exclusion> = []
  /** The one by the last check, without which a host would have been left. */
  decisive: Exclusion | undefined
  private readonly stages: Array<number> = []
  private lastStage = -1

  /** `stage`: the place of the check among all. */
  add(exclusion: Exclusion, stage: number): void {
    this.all.push(exclusion)
    this.stages.push(stage)
    if (stage < this.lastStage) return
    this.lastStage = stage
    this.decisive = exclusion
  }

  /** Takes back the newest exclusion of the host. */
  remove({ tag, model }: Host): void {
    const at = this.all.findLastIndex((exclusion) => exclusion.host === tag && exclusion.model === model)
    const [removed] = this.all.splice(at, 1)
    this.stages.splice(at, 1)
    if (removed === this.decisive) this.decisive = this.all.at(-1)
  }

  /** One by a soft filter. It never decides, since another host is left. */
  addWorse(exclusion: Exclusion): void {
    this.all.push(exclusion)
    this.stages.push(Number.POSITIVE_INFINITY)
  }

  /** In the order of the checks. */
  byCheck(): ReadonlyArray<Exclusion> {
    return this.all
      .map((exclusion, at) => ({ exclusion, stage: this.stages[at] ?? 0 }))
      .toSorted((a, b) => (a.stage === b.stage ? 0 : a.stage - b.stage))
      .map(({ exclusion }) => exclusion)
  }
}

/** A check that needs more than the request: its finding has no host and model yet. */
interface Check {
  readonly applies: (states: States) => boolean
  readonly find: (asked: Asked, host: Host, states: States) => Omit<Exclusion, "host" | "model"> | undefined
}

/** Before the filters of the request. */
const firstCheck: Check = {
  applies: () => true,
  find: (_, host, { registry }) => {
    const reason = registry.unavailable(host)
    return reason === undefined ? undefined : { by: "provider", reason }
  },
}

/** After them, so that a host excluded here is one that only the key's lists exclude. */
const permissionCheck: Check = {
  applies: ({ permissions }) => isRestricted(permissions),
  find: (_, host, { permissions }) => {
    const by = forbiddenBy(permissions, host)
    return by === undefined ? undefined : { by, reason: "the key may not use it" }
  },
}

const healthCheck: Check = {
  applies: () => true,
  find: (_, host, { health }) => {
    const out = health.admissible(host)
    if (out === undefined) return undefined
    const { because, reason, retryAfterMs } = out
    return { by: because, reason: `left alone after a failure: ${reason}`, retryAfterMs }
  },
}

const budgetCheck: Check = {
  applies: ({ budget }) => budget.limit !== null,
  find: ({ bounds }, host, { budget, maxTokens }) => {
    const refusal = budgetRefusal(budget, { bounds, maxTokens, sentBytes: bounds.promptBytes }, host)
    return refusal === undefined ? undefined : { by: "budget", reason: refusal }
  },
}

/** After all others. */
const lastChecks: ReadonlyArray<Check> = [healthCheck, budgetCheck]

/**
 * The hosts of the wanted model that may be tried, in the order of the configuration. The others go to `excluded`, each
 * with the first check that finds something.
 */
export const usableHosts = (asked: Asked, states: States, excluded: Exclusions): ReadonlyArray<Host> => {
  const { model } = asked.wanted
  const { hosts } = modelFacts(model)
  const filters = prepared(asked)
  const checks = lastChecks.filter(({ applies }) => applies(states))
  const usable: Array<HostFacts> = []
  /** Hosts that a check after the filters excludes. */
  const refused: Array<HostFacts> = []
  for (const facts of hosts) {
    if (!passes(asked, facts, states, filters, excluded)) continue
    if (isUsable(asked, facts, states, checks, excluded)) usable.push(facts)
    else refused.push(facts)
  }
  if (usable.length === 0 && refused.length > 0) addProbe(asked, refused, states, usable, excluded)
  const { order, allowFallbacks } = asked.routing.preferences
  // Without fallbacks only the listed hosts can be called, so none of the others is better than they are.
  const isOut = order.length > 0 && !allowFallbacks ? isUnlisted(order) : undefined
  let kept: ReadonlyArray<HostFacts> = isOut === undefined ? usable : usable.filter((facts) => !isOut(facts))
  for (const filter of softFilters) kept = withoutWorse(asked, kept, filter, excluded)
  if (isOut !== undefined) kept = [...kept, ...usable.filter(isOut)]
  return kept.length === hosts.length ? model.hosts : kept.map(({ host }) => host)
}

const isUnlisted = (order: ReadonlyArray<string>) => {
  const isListed = isListedIn(order)
  return ({ host }: HostFacts): boolean => !isListed(host)
}

/** A filter that has something to do. */
interface PreparedFilter {
  readonly name: string
  readonly excludes: Excludes
  /** Its place among all checks. */
  readonly stage: number
}

const prepared = (asked: Asked): ReadonlyArray<PreparedFilter> => {
  const filters: Array<PreparedFilter> = []
  for (let at = 0; at < hardFilters.length; at++) {
    const filter = hardFilters[at]
    const excludes = filter?.prepare(asked)
    if (filter !== undefined && excludes !== undefined) filters.push({ name: filter.name, excludes, stage: 1 + at })
  }
  return filters
}

/** Whether the provider is on, no filter of the request excludes the host, and the key may use it. */
const passes = (
  asked: Asked,
  facts: HostFacts,
  states: States,
  filters: ReadonlyArray<PreparedFilter>,
  excluded: Exclusions,
): boolean => {
  const { host } = facts
  const first = firstCheck.find(asked, host, states)
  if (first !== undefined) {
    excluded.add({ host: host.tag, model: host.model, ...first }, 0)
    return false
  }
  for (const { name, excludes, stage } of filters) {
    const reason = excludes(facts)
    if (reason === undefined) continue
    excluded.add({ host: host.tag, model: host.model, by: name, reason }, stage)
    return false
  }
  const forbidden = permissionCheck.applies(states) ? permissionCheck.find(asked, host, states) : undefined
  if (forbidden === undefined) return true
  excluded.add({ host: host.tag, model: host.model, ...forbidden }, 1 + hardFilters.length)
  return false
}

const isUsable = (
  asked: Asked,
  { host }: HostFacts,
  states: States,
  checks: ReadonlyArray<Check>,
  excluded: Exclusions,
): boolean => {
  for (const check of checks) {
    const finding = check.find(asked, host, states)
    if (finding === undefined) continue
    excluded.add({ host: host.tag, model: host.model, ...finding }, 2 + hardFilters.length + lastChecks.indexOf(check))
    return false
  }
  return true
}

/** Where no host of the model may be called now, one of them may be tried all the same (`HostHealth.emergencyProbe`). */
const addProbe = (
  asked: Asked,
  refused: ReadonlyArray<HostFacts>,
  states: States,
  usable: Array<HostFacts>,
  excluded: Exclusions,
): void => {
  const { health, probes } = states
  const hosts = refused.map(({ host }) => host)
  if (hosts.some((host) => health.admissible(host) === undefined)) return
  const probe = health.emergencyProbe(hosts)
  const facts = refused.find(({ host }) => host === probe)
  if (probe === undefined || facts === undefined) return
  excluded.remove(probe)
  const checks = budgetCheck.applies(states) ? [budgetCheck] : []
  if (!isUsable(asked, facts, states, checks, excluded)) return
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
  const excludes = hosts.length < 2 ? undefined : filter.prepare(asked)
  if (excludes === undefined) return hosts
  const better = hosts.filter((facts) => excludes(facts) === undefined)
  if (better.length === 0 || better.length === hosts.length) return hosts
  for (const facts of hosts) {
    const reason = excludes(facts)
    const { tag, model } = facts.host
    if (reason !== undefined) excluded.addWorse({ host: tag, model, by: filter.name, reason })
  }
  return better
}
