/** The hosts of a model that may be tried, and why the others may not. Observes only: nothing is taken or called. */
import type * as Context from "effect/Context"
import type { Exclusion } from "../domain/Exclusion.ts"
import { type BudgetSnapshot, budgetRefusal } from "../domain/Hold.ts"
import type { Host } from "../domain/Host.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { type Asked, type Filter, hardFilters, softFilters } from "../domain/routeFilters.ts"
import type { HostHealth } from "./HostHealth.ts"
import type { ProviderRegistry } from "./ProviderRegistry.ts"

/** What decides besides the request. */
export interface States {
  readonly registry: Context.Tag.Service<ProviderRegistry>
  readonly health: Context.Tag.Service<HostHealth>
  readonly budget: BudgetSnapshot
  /** The bound on output tokens that hosts are sent. */
  readonly maxTokens: ChatRequest["maxTokens"]
}

/** Why hosts are left out of a plan that is being made. */
export class Exclusions {
  readonly all: Array<Exclusion> = []
  /** The one by the last check, without which a host would have been left. */
  decisive: Exclusion | undefined
  private lastStage = -1

  /** `stage`: the place of the check among all. */
  add(exclusion: Exclusion, stage: number): void {
    this.all.push(exclusion)
    if (stage < this.lastStage) return
    this.lastStage = stage
    this.decisive = exclusion
  }
}

/** Why a host may not be tried. */
type Finding = Omit<Exclusion, "host" | "model">

interface Check {
  readonly applies: (asked: Asked, states: States) => boolean
  readonly find: (asked: Asked, host: Host, states: States) => Finding | undefined
}

const checkOf = ({ name, applies, excludes }: Filter): Check => ({
  applies,
  find: (asked, host) => {
    const reason = excludes(asked, host)
    return reason === undefined ? undefined : { by: name, reason }
  },
})

/** All checks of a host, in their order. The first one that finds something excludes the host. */
const checks: ReadonlyArray<Check> = [
  {
    applies: () => true,
    find: (_, host, { registry }) => {
      const reason = registry.unavailable(host)
      return reason === undefined ? undefined : { by: "provider", reason }
    },
  },
  ...hardFilters.map(checkOf),
  {
    applies: () => true,
    find: (_, host, { health }) => {
      const inadmissible = health.admissible(host)
      if (inadmissible === undefined) return undefined
      const { reason, retryAfterMs } = inadmissible
      return { by: "cooldown", reason: `left alone after a failure: ${reason}`, retryAfterMs }
    },
  },
  {
    applies: (_, { budget }) => budget.limit !== null,
    find: ({ bounds }, host, { budget, maxTokens }) => {
      const refusal = budgetRefusal(budget, { bounds, maxTokens, sentBytes: bounds.promptBytes }, host)
      return refusal === undefined ? undefined : { by: "budget", reason: refusal }
    },
  },
]

/** The hosts of the wanted model that may be tried, in the order of the configuration; the others go to `excluded`. */
export const usableHosts = (asked: Asked, states: States, excluded: Exclusions): ReadonlyArray<Host> => {
  const { model } = asked.wanted
  const active = checks.map((check) => (check.applies(asked, states) ? check : undefined))
  const isUsable = (host: Host): boolean => {
    for (let stage = 0; stage < active.length; stage++) {
      const finding = active[stage]?.find(asked, host, states)
      if (finding === undefined) continue
      excluded.add({ host: host.tag, model: model.id, ...finding }, stage)
      return false
    }
    return true
  }
  let kept = model.hosts.filter(isUsable)
  for (const filter of softFilters) kept = withoutWorse(asked, kept, filter, excluded)
  return kept
}

/** Leaves out the hosts that a soft filter excludes, unless that would be all of them. */
const withoutWorse = (asked: Asked, hosts: Array<Host>, filter: Filter, excluded: Exclusions): Array<Host> => {
  if (hosts.length < 2 || !filter.applies(asked)) return hosts
  const reasons = hosts.map((host) => filter.excludes(asked, host))
  if (!reasons.includes(undefined)) return hosts
  return hosts.filter((host, at) => {
    const reason = reasons[at]
    if (reason === undefined) return true
    // Another host is left, so these never decide.
    excluded.all.push({ host: host.tag, model: host.model, by: filter.name, reason })
    return false
  })
}
