/**
 * Which hosts to try, in what order. Everything that decides is in the plan, so that an explanation of a plan cannot
 * differ from what is done. Filters keep a host or give a reason, and a strategy plugin orders the hosts. Nothing here
 * waits, calls or reserves.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import {
  BadRequest,
  type Exclusion,
  NoHostMatches,
  NotPermitted,
  type PaymentRequired,
  type RoutingExhausted,
} from "../domain/Failure.ts"
import { type BudgetRefusal, type BudgetSnapshot, budgetRefusal, paymentRequired } from "../domain/Hold.ts"
import type { Host, Model } from "../domain/Host.ts"
import { forbiddenBy, isRestricted, type Permissions, unrestricted } from "../domain/Permissions.ts"
import type { Plan } from "../domain/Plan.ts"
import { documentedSorts } from "../domain/Preferences.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { randomSequence } from "../domain/randomSequence.ts"
import { type Filter, hardFilters, isNamed, softFilters } from "../domain/routeFilters.ts"
import type { Candidate, Rank, RankContext } from "../plugin/Strategy.ts"
import { exhausted } from "./exhausted.ts"
import { HostHealth } from "./HostHealth.ts"
import { HostStats } from "./HostStats.ts"
import { ProviderRegistry } from "./ProviderRegistry.ts"
import { makeStepRunner } from "./Steps.ts"

/** What a plan depends on, in addition to the gateway's state. */
export type PlannedRequest = Pick<ChatRequest, "routing" | "bounds" | "maxTokens">

export interface PlanOptions {
  /** What the caller's key may use. Default: everything. */
  readonly permissions?: Permissions
}

export type PlanFailure = BadRequest | NoHostMatches | NotPermitted | PaymentRequired | RoutingExhausted

export class Router extends Context.Tag("headgate/Router")<
  Router,
  {
    /**
     * The plan for a request that `budget` pays for. Fails when a model is unknown, and when no host is left: with the
     * budget's refusal, with the shortest wait, because the key may use none, or with every exclusion and its reason.
     */
    readonly plan: (
      request: PlannedRequest,
      budget: BudgetSnapshot,
      options?: PlanOptions,
    ) => Either.Either<Plan, PlanFailure>
  }
>() {
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const stats = yield* HostStats
      const health = yield* HostHealth
      const clock = yield* Effect.clock
      const runner = makeStepRunner(yield* Effect.runtime<never>())
      // One number of Effect's random service seeds all rankings, so that a test can make plans deterministic.
      const random = randomSequence(Math.floor((yield* Random.next) * 2 ** 32))
      const faults = new StrategyFaults(
        () => clock.unsafeCurrentTimeMillis(),
        (line) => runner.effect(line, () => {}),
      )

      return {
        plan: (request, budget, { permissions = unrestricted } = {}) => {
          const { routing } = registry.current()
          const models = resolveAll(request.routing.models, registry)
          if (Either.isLeft(models)) return Either.left(models.left)
          const chosen = strategyOf(request.routing.preferences.sort, routing.strategies, routing.strategy)
          if (Either.isLeft(chosen)) return Either.left(chosen.left)
          const [strategy, rank] = chosen.right
          const context = { request, now: clock.unsafeCurrentTimeMillis(), random }
          const order = (hosts: ReadonlyArray<Host>) =>
            hosts.length < 2
              ? hosts
              : ranked(
                  rank,
                  hosts.map((host) => ({ host, stats: stats.snapshot(host) })),
                  context,
                  (fault) => faults.report(strategy, fault),
                )
          const excluded: Array<Exclusion> = []
          const states = { registry, health, budget, permissions }
          const kept = models.right.map((model) => usable(request, model, states, excluded))
          const groups = request.routing.preferences.partition === "none" ? [kept.flat()] : kept
          const ordered = groups.map((hosts) => preferred(request, order(hosts), excluded))
          const attempts = ordered.length === 1 && ordered[0] !== undefined ? ordered[0] : ordered.flat()
          return attempts.length > 0
            ? Either.right({ attempts, excluded, strategy })
            : Either.left(refusal(request, excluded, budget))
        },
      }
    }),
  )
}

const resolveAll = (
  names: ReadonlyArray<string>,
  registry: Context.Tag.Service<ProviderRegistry>,
): Either.Either<ReadonlyArray<Model>, BadRequest> => {
  const models: Array<Model> = []
  for (const name of names) {
    const resolved = registry.resolve(name)
    if (Either.isLeft(resolved)) return Either.left(resolved.left)
    const { model, variant } = resolved.right
    if (variant !== null) {
      const message = `the variant ":${variant}" is not available in this version yet`
      return Either.left(new BadRequest({ issues: [{ path: "model", message }] }))
    }
    if (!models.includes(model)) models.push(model)
  }
  return Either.right(models)
}

const asGiven: Rank = (candidates) => candidates

/** The strategy for a request: the one that it asks for, if it is installed, else the configured one. */
const strategyOf = (
  wanted: string | undefined,
  strategies: ReadonlyMap<string, Rank>,
  configured: string,
): Either.Either<readonly [id: string, rank: Rank], BadRequest> => {
  const own = wanted === undefined ? undefined : strategies.get(wanted)
  if (wanted !== undefined && own !== undefined) return Either.right([wanted, own])
  if (wanted !== undefined && !documentedSorts.includes(wanted)) {
    const known = [...new Set([...documentedSorts, ...strategies.keys()])].join(", ")
    return Either.left(new BadRequest({ issues: [{ path: "provider.sort", message: `must be one of ${known}` }] }))
  }
  return Either.right([configured, strategies.get(configured) ?? asGiven])
}

interface States {
  readonly registry: Context.Tag.Service<ProviderRegistry>
  readonly health: Context.Tag.Service<HostHealth>
  readonly budget: BudgetSnapshot
  readonly permissions: Permissions
}

/** Why a host may not be tried. */
type Finding = Omit<Exclusion, "host" | "model">

interface Check {
  /** Whether it has anything to do for this request. */
  readonly applies: (request: PlannedRequest, states: States) => boolean
  readonly find: (request: PlannedRequest, host: Host, states: States) => Finding | undefined
}

const checkOf = ({ name, applies, excludes }: Filter): Check => ({
  applies,
  find: (request, host) => {
    const reason = excludes(request, host)
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
  // After the filters of the request, so that a host excluded here is one that only the key's lists exclude.
  {
    applies: (_, { permissions }) => isRestricted(permissions),
    find: (_, host, { permissions }) => {
      const by = forbiddenBy(permissions, host)
      return by === undefined ? undefined : { by, reason: "the key may not use it" }
    },
  },
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
    find: ({ bounds, maxTokens }, host, { budget }) => {
      const refusal = budgetRefusal(budget, { bounds, maxTokens, sentBytes: bounds.promptBytes }, host)
      return refusal === undefined ? undefined : { by: "budget", reason: refusal }
    },
  },
]

/** The hosts of a model that may be tried; why the others may not goes to `excluded`. */
const usable = (
  request: PlannedRequest,
  model: Model,
  states: States,
  excluded: Array<Exclusion>,
): ReadonlyArray<Host> => {
  let kept = model.hosts
  for (const check of checks) {
    if (!check.applies(request, states)) continue
    kept = passing(kept, (host) => {
      const finding = check.find(request, host, states)
      if (finding !== undefined) excluded.push({ host: host.tag, model: model.id, ...finding })
      return finding === undefined
    })
  }
  for (const filter of softFilters) kept = withoutWorse(request, kept, filter)
  return kept
}

/** Like `filter`, but returns the same list when every host passes, as usual. */
const passing = (hosts: ReadonlyArray<Host>, passes: (host: Host) => boolean): ReadonlyArray<Host> => {
  let all = true
  const results = hosts.map((host) => {
    const one = passes(host)
    all &&= one
    return one
  })
  return all ? hosts : hosts.filter((_, at) => results[at])
}

/** Leaves out the hosts that a soft filter excludes, unless that would be all of them. */
const withoutWorse = (request: PlannedRequest, hosts: ReadonlyArray<Host>, filter: Filter): ReadonlyArray<Host> => {
  if (hosts.length < 2 || !filter.applies(request)) return hosts
  const better = hosts.filter((host) => filter.excludes(request, host) === undefined)
  return better.length > 0 ? better : hosts
}

/** Orders hosts by a strategy. When the strategy throws, or loses or adds a host, the given order is kept. */
const ranked = (
  rank: Rank,
  candidates: ReadonlyArray<Candidate>,
  context: RankContext,
  onFault: (fault: unknown) => void,
): ReadonlyArray<Host> => {
  const given = candidates.map(({ host }) => host)
  try {
    const hosts = rank(candidates, context).map(({ host }) => host)
    if (hosts.length === given.length && given.every((host) => hosts.includes(host))) return hosts
    onFault(new Error("it must return every host that it was given, each once"))
  } catch (fault) {
    onFault(fault)
  }
  return given
}

/** Faults of strategies: counted, and logged once a minute for each strategy. */
class StrategyFaults {
  private readonly counts = new Map<string, { faults: number; logAgainAt: number }>()
  private readonly now: () => number
  private readonly log: (line: Effect.Effect<void>) => void

  constructor(now: () => number, log: (line: Effect.Effect<void>) => void) {
    this.now = now
    this.log = log
  }

  report(strategy: string, fault: unknown): void {
    const count = this.counts.get(strategy) ?? { faults: 0, logAgainAt: Number.NEGATIVE_INFINITY }
    this.counts.set(strategy, count)
    count.faults += 1
    if (this.now() < count.logAgainAt) return
    count.logAgainAt = this.now() + 60_000
    const facts = { strategy, faults: count.faults }
    this.log(Effect.logError("a strategy failed, the configured order was used", facts, Cause.die(fault)))
  }
}

/** The hosts of `order` first, as they are listed; then the others, if fallbacks are allowed. */
const preferred = (
  request: PlannedRequest,
  ranked: ReadonlyArray<Host>,
  excluded: Array<Exclusion>,
): ReadonlyArray<Host> => {
  const { order, allowFallbacks } = request.routing.preferences
  if (order.length === 0 && allowFallbacks) return ranked
  const listed = [...new Set(order.flatMap((name) => ranked.filter((host) => isNamed(name, host))))]
  const others = ranked.filter((host) => !listed.includes(host))
  const all = [...listed, ...others]
  if (allowFallbacks) return all
  const allowed = order.length > 0 ? listed : all.slice(0, 1)
  for (const host of all) {
    if (allowed.includes(host)) continue
    excluded.push({ host: host.tag, model: host.model, by: "allow_fallbacks", reason: "fallbacks are not allowed" })
  }
  return allowed
}

const notAllowed = (models: ReadonlyArray<string>, forbidden: ReadonlyArray<Exclusion>): string => {
  const lists = [...new Set(forbidden.map(({ by }) => by))].join(" and ")
  return `This key may not use ${models.join(", ")}: excluded by its ${lists}.`
}

/**
 * The failure of a plan without hosts, by what the caller can do: pay, wait, take another key, shorten the prompt, or
 * ask for other hosts.
 */
const refusal = (request: PlannedRequest, excluded: ReadonlyArray<Exclusion>, budget: BudgetSnapshot): PlanFailure => {
  const [first] = excluded
  const unaffordable = excluded.findLast(({ by }) => by === "budget")
  // The reason of an exclusion by `budget` is the budget's refusal.
  if (unaffordable !== undefined) return paymentRequired(budget, unaffordable.reason as BudgetRefusal)
  const waits = excluded.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
  if (waits.length > 0) return exhausted([], Math.min(...waits))
  const forbidden = excluded.filter(({ by }) => by === "allowed_models" || by === "allowed_providers")
  if (forbidden.length > 0) return new NotPermitted({ rule: notAllowed(request.routing.models, forbidden) })
  if (first !== undefined && excluded.every(({ by }) => by === "context_length")) {
    return new BadRequest({ kind: "context_length_exceeded", issues: [{ path: "messages", message: first.reason }] })
  }
  return new NoHostMatches({ models: request.routing.models, excluded })
}
