/**
 * Which hosts to try, in what order. Everything that decides is in the plan, so that an explanation of a plan cannot
 * differ from what is done. Filters keep a host or give a reason, and a strategy plugin orders the hosts. Nothing here
 * waits, calls or reserves.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import {
  type ConfigInForce,
  type Endpoints,
  type ModelNames,
  ProviderRegistry,
} from "../../catalogue/ProviderRegistry.ts"
import type { RoutingConfig } from "../../catalogue/ResolvedConfig.ts"
import type { Exclusion } from "../../domain/failures/Exclusion.ts"
import { BadRequest } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { type Permissions, unrestricted } from "../../domain/keys/Permissions.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { documentedSorts } from "../../domain/request/Preferences.ts"
import { searching } from "../../domain/request/request.ts"
import { isFastEnough, preferredSpeeds } from "../../domain/request/Thresholds.ts"
import { isListedIn, passingFirst } from "../../domain/routing/hostOrder.ts"
import { modelTurns } from "../../domain/routing/modelTurns.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { type Adjustment, adjustmentOf, type WantedModel } from "../../domain/routing/variants.ts"
import { randomSequence, seedFrom } from "../../domain/structures/randomSequence.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import {
  type Candidate,
  type Rank,
  type RankContext,
  type Reasons,
  unknownConversation,
} from "../../plugin/strategy.ts"
import { withAffordable } from "../dispatch/affordable.ts"
import { type HostAvailability, HostHealth } from "../hosts/HostHealth.ts"
import { type HostMeasurements, HostStats } from "../hosts/HostStats.ts"
import { type KeyChoice, ProviderKeys } from "../hosts/ProviderKeys.ts"
import type { Conversation } from "../request/Conversations.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import { Storage } from "../storage/Storage.ts"
import { type OrderBy, orderedGroups, strategyFor, usedStrategy } from "./groupOrder.ts"
import { type PlanFailure, type PlannedRequest, planRefusal } from "./planRefusal.ts"
import { type RankFacts, rankContext } from "./rankContext.ts"
import { ranked, StrategyFaults } from "./ranking.ts"
import { Exclusions, type States, usableHosts } from "./usableHosts.ts"
import { wantedModels } from "./wantedModels.ts"

export interface PlanOptions {
  /**
   * Repeats the random draws of an earlier plan; otherwise each plan gets a seed of its own. A 32-bit unsigned integer.
   */
  readonly seed?: number | undefined
  /** What is remembered of the conversation. Absent: nothing. */
  readonly conversation?: Conversation | undefined
  /** What the caller's key may use. Default: everything. */
  readonly permissions?: Permissions
  /** The id of the client's key, for strategies. Absent: no key. */
  readonly key?: string
  /** Who calls (`callerOf`). Absent: nobody, so a host that is out because of one caller is out. */
  readonly caller?: string
}

/** A plan with what led to it. Made like every plan, so it cannot differ from what a dispatch does. */
export interface ExplainedPlan {
  /** May have no attempts. */
  readonly plan: Plan
  /** What the caller of such a request gets; `undefined` where there is something to try. */
  readonly failure: PlanFailure | undefined
  /** The numbers that the strategy used for each host that it ordered; none where it does not explain itself. */
  readonly whys: ReadonlyMap<Host, Reasons>
  /** The attempts with another seed, and everything else as it was. */
  readonly redraw: (seed: number) => ReadonlyArray<Host>
}

/** Called for each ranking, before it, when a plan is explained. */
type OnRanking = (strategy: string, candidates: ReadonlyArray<Candidate>, context: RankContext) => void

/** A plan that may have no attempts, and then the failure of the request. */
interface Decided {
  readonly plan: Plan
  readonly failure: PlanFailure | undefined
  /** What the hosts were ordered from: the wanted models, the hosts that were left, and what the strategy is told. */
  readonly wanted: ReadonlyArray<WantedModel>
  readonly groups: ReadonlyArray<ReadonlyArray<Host>>
  readonly facts: RankFacts
}

export class Router extends Context.Tag("headgate/Router")<
  Router,
  {
    /**
     * The plan for a request that `budget` pays for. Fails when a model is unknown, and when no host is left: with the
     * budget's refusal, with the shortest wait, because the key may use none, or with every exclusion and its reason.
     */
    readonly plan: (
      request: AnyRequest,
      budget: BudgetSnapshot,
      options?: PlanOptions,
    ) => Either.Either<Plan, PlanFailure>
    /** The same plan, explained. Fails only where the request itself is at fault. */
    readonly explain: (
      request: AnyRequest,
      budget: BudgetSnapshot,
      options?: PlanOptions,
    ) => Either.Either<ExplainedPlan, BadRequest>
  }
>() {
  static readonly layer: Layer.Layer<
    Router,
    never,
    HostHealth | HostStats | ProviderKeys | ProviderRegistry | Storage
  > = Layer.effect(
    Router,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()
  const { installation } = yield* Storage
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const planner = new Planner({
    registry: yield* ProviderRegistry,
    stats: yield* HostStats,
    health: yield* HostHealth,
    keys: yield* ProviderKeys,
    now,
    installation,
    // One number of Effect's random service decides the seeds of all plans, so that a test can make them deterministic.
    seeds: randomSequence(seedFrom(yield* Random.next)),
    faults: new StrategyFaults(monotonic(clock), (line) => runner.run(line, () => {})),
  })
  return Router.of({
    plan: (request, budget, options) => planner.plan(request, budget, options),
    explain: (request, budget, options) => planner.explain(request, budget, options),
  })
})

/** What plans are made with. A plan only asks, so each service is what is asked of it. */
interface PlanServices {
  readonly registry: ConfigInForce & Endpoints & ModelNames
  readonly stats: HostMeasurements
  readonly health: HostAvailability
  readonly keys: KeyChoice
  /** Unix milliseconds. */
  readonly now: () => number
  /** The installation's id, for hashes that stay the same within it. */
  readonly installation: string
  readonly seeds: () => number
  readonly faults: StrategyFaults
}

class Planner {
  private readonly services: PlanServices

  constructor(services: PlanServices) {
    this.services = services
  }

  plan(
    request: AnyRequest,
    budget: BudgetSnapshot,
    options: PlanOptions | undefined,
  ): Either.Either<Plan, PlanFailure> {
    const decided = this.decide(request, budget, options)
    if (Either.isLeft(decided)) return Either.left(decided.left)
    const { plan, failure } = decided.right
    return failure === undefined ? Either.right(plan) : Either.left(failure)
  }

  explain(
    request: AnyRequest,
    budget: BudgetSnapshot,
    options: PlanOptions | undefined,
  ): Either.Either<ExplainedPlan, BadRequest> {
    const whys = new Map<Host, Reasons>()
    const decided = this.decide(request, budget, options, (strategy, candidates, context) => {
      for (const candidate of candidates) {
        const reasons = this.reasonsFor(strategy, candidate, context)
        if (reasons !== undefined) whys.set(candidate.host, reasons)
      }
    })
    return Either.map(decided, ({ plan, failure, wanted, groups, facts }) => {
      // A copy, since what the plan has asked of the conversation decides whether it is sticky.
      const conversation = options?.conversation?.again()
      const redraw = (seed: number) =>
        this.drawn({ ...facts, seed, conversation }, wanted, groups, new Exclusions(), undefined)
      return { plan, failure, whys, redraw }
    })
  }

  private decide(
    request: AnyRequest,
    budget: BudgetSnapshot,
    options: PlanOptions = {},
    onRanking?: OnRanking,
  ): Either.Either<Decided, BadRequest> {
    const { registry } = this.services
    const { models: names, preferences } = request.routing
    const { routing } = registry.current()
    const named = wantedModels(request.operation, names, registry)
    if (Either.isLeft(named)) return Either.left(named.left)
    const wanted = named.right
    const unknown = unknownSort(preferences.sort, routing)
    if (unknown !== undefined) return Either.left(unknown)
    const now = this.services.now()
    const seed = options.seed ?? seedFrom(this.services.seeds())
    const { conversation, key } = options
    const facts = { request, budget, now, seed, key, conversation, installation: this.services.installation }
    const excluded = new Exclusions()
    const states = this.states(request, budget, options)
    const kept = keptHosts(request, wanted, now, states, excluded)
    // A model may be wanted twice, by names with and without a variant.
    const groups = preferences.partition === "none" && kept.length > 1 ? [[...new Set(kept.flat())]] : kept
    const attempts = this.drawn(facts, wanted, groups, excluded, onRanking)
    const plan: Plan = {
      attempts,
      excluded: repeats(wanted) ? leftOut(excluded.all, attempts) : excluded.all,
      strategy: usedStrategy(preferences, groups[0] ?? [], wanted[0], routing),
      seed,
      probes: states.probes,
      requested: names,
      ...adjustments(wanted, kept),
      unaffordable: states.unaffordable,
    }
    const failure =
      attempts.length > 0
        ? undefined
        : withAffordable(planRefusal(request, excluded, budget), request, states.unaffordable ?? [], registry)
    return Either.right({ plan, failure, wanted, groups, facts })
  }

  /** The hosts in the order in which they are tried. What `allow_fallbacks` leaves out goes to `excluded`. */
  private drawn(
    facts: RankFacts,
    wanted: ReadonlyArray<WantedModel>,
    groups: ReadonlyArray<ReadonlyArray<Host>>,
    excluded: Exclusions,
    onRanking: OnRanking | undefined,
  ): ReadonlyArray<Host> {
    const { request, conversation } = facts
    const { preferences } = request.routing
    const context = rankContext(facts)
    const order = this.orderBy(wanted, context, conversation, onRanking)
    const ordered = orderedGroups(preferences, groups, wanted, order)
    const tried = withoutFallbacks(request, ordered, this.services.stats, excluded)
    // Where nothing was ranked, the conversation may still have a key.
    if (conversation !== undefined && tried.some((host) => this.services.registry.endpoint(host)?.keys !== undefined))
      conversation.recall(tried)
    return wanted.length === 1 ? tried : modelTurns(tried, isListedIn(preferences.order))
  }

  private states(
    { maxTokens }: AnyRequest,
    budget: BudgetSnapshot,
    { permissions = unrestricted, caller }: PlanOptions,
  ): States {
    const { registry, health, keys } = this.services
    return { registry, health, keys, budget, maxTokens, permissions, caller, probes: [], unaffordable: undefined }
  }

  /** How the hosts of the wanted models are ordered: not at all where there is one, unless the plan is explained. */
  private orderBy(
    wanted: ReadonlyArray<WantedModel>,
    context: RankContext,
    conversation: Conversation | undefined,
    onRanking: OnRanking | undefined,
  ): OrderBy {
    const { routing } = this.services.registry.current()
    const hasChoice = wanted.length > 1 || (wanted[0]?.model.hosts.length ?? 0) > 1
    const isRanked = hasChoice || onRanking !== undefined
    // Where only one is left of several, the ranking may still want the conversation to be remembered.
    return (hosts, sort) => {
      if (hosts.length === 0 || !isRanked) return hosts
      const ranked = this.rankedBy(strategyFor(sort, routing), hosts, context, conversation, onRanking)
      return conversation !== undefined && hasChoice ? conversation.stickyFirst(ranked) : ranked
    }
  }

  private rankedBy(
    strategy: string,
    hosts: ReadonlyArray<Host>,
    context: RankContext,
    conversation: Conversation | undefined,
    onRanking: OnRanking | undefined,
  ): ReadonlyArray<Host> {
    const { registry, stats, faults } = this.services
    const candidates: Array<Candidate> = []
    for (const host of hosts) candidates.push({ host, stats: stats.snapshot(host) })
    // What an explanation reads of the conversation must not switch stickiness off.
    onRanking?.(strategy, candidates, { ...context, conversation: conversation?.again() ?? unknownConversation })
    const rank = registry.current().routing.strategies.get(strategy) ?? asGiven
    return ranked(rank, hosts, candidates, context, strategy, faults)
  }

  private reasonsFor(strategy: string, candidate: Candidate, context: RankContext): Reasons | undefined {
    const { registry, faults } = this.services
    const reasons = registry.current().routing.whys.get(strategy)?.(candidate, context)
    if (!(reasons instanceof PluginFault)) return reasons
    faults.report(strategy, reasons, "strategy_unexplained")
    return undefined
  }
}

const asGiven: Rank = (candidates) => candidates

const unknownSort = (sort: string | undefined, { strategies }: RoutingConfig): BadRequest | undefined => {
  if (sort === undefined || strategies.has(sort) || documentedSorts.includes(sort)) return undefined
  const known = [...new Set([...documentedSorts, ...strategies.keys()])].join(", ")
  return new BadRequest({ issues: [{ path: "provider.sort", message: `must be one of ${known}` }] })
}

/** The usable hosts of each wanted model. */
const keptHosts = (
  { routing, bounds }: PlannedRequest,
  wanted: ReadonlyArray<WantedModel>,
  now: number,
  states: States,
  excluded: Exclusions,
): ReadonlyArray<ReadonlyArray<Host>> => {
  const kept: Array<ReadonlyArray<Host>> = []
  for (const one of wanted) {
    const bounded = one.variants.includes("online") ? searching(bounds) : bounds
    kept.push(usableHosts({ routing, bounds: bounded, wanted: one, now }, states, excluded))
  }
  return kept
}

/**
 * All hosts in the order in which they are tried, of one model after the other. Without fallbacks only those that the
 * caller listed, or else the first of each model.
 */
const withoutFallbacks = (
  { routing: { preferences } }: PlannedRequest,
  groups: ReadonlyArray<ReadonlyArray<Host>>,
  stats: HostMeasurements,
  excluded: Exclusions,
): ReadonlyArray<Host> => {
  const { order, allowFallbacks } = preferences
  const speeds = preferredSpeeds(preferences)
  const [first = []] = groups
  // A model may be wanted twice, by names with and without a variant.
  const all = groups.length === 1 ? first : [...new Set(groups.flat())]
  if (allowFallbacks && speeds.length === 0) return all
  const preferred = (hosts: ReadonlyArray<Host>) =>
    speeds.length > 0 ? passingFirst(hosts, (host) => isFastEnough(speeds, stats.snapshot(host))) : hosts
  if (allowFallbacks) return preferred(all)
  const allowed = preferred(order.length > 0 ? all.filter(isListedIn(order)) : firstOfEach(groups.flatMap(preferred)))
  for (const host of all) {
    if (allowed.includes(host)) continue
    excluded.add(host, { by: "allow_fallbacks", reason: "fallbacks are not allowed" })
  }
  return allowed
}

/** The first host of each model. */
const firstOfEach = (hosts: ReadonlyArray<Host>): ReadonlyArray<Host> => {
  const seen = new Set<string>()
  return hosts.filter(({ model }) => !seen.has(model) && seen.add(model))
}

/** Whether a model is wanted more than once. */
const repeats = (wanted: ReadonlyArray<WantedModel>): boolean =>
  wanted.length > 1 && new Set(wanted.map(({ model }) => model)).size < wanted.length

/** The exclusions of hosts that no name of their model let in, one for each host. */
const leftOut = (excluded: ReadonlyArray<Exclusion>, attempts: ReadonlyArray<Host>): ReadonlyArray<Exclusion> => {
  const key = (model: string, tag: string) => `${model} ${tag}`
  const seen = new Set(attempts.map(({ model, tag }) => key(model, tag)))
  return excluded.filter(({ model, host }) => !seen.has(key(model, host)) && seen.add(key(model, host)))
}

const unadjusted = {}

const isAdjusting = ({ variants }: WantedModel): boolean => adjustmentOf(variants) !== undefined

/** What variants change, by host. A host that several names let in is called as the first of them says. */
const adjustments = (
  wanted: ReadonlyArray<WantedModel>,
  kept: ReadonlyArray<ReadonlyArray<Host>>,
): Pick<Plan, "adjustments"> => {
  if (!wanted.some(isAdjusting)) return unadjusted
  const byHost = new Map<Host, Adjustment | undefined>()
  for (const [at, { variants }] of wanted.entries()) {
    for (const host of kept[at] ?? []) {
      if (!byHost.has(host)) byHost.set(host, adjustmentOf(variants))
    }
  }
  return { adjustments: byHost }
}
