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
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { RoutingConfig } from "../../catalogue/ResolvedConfig.ts"
import type { Exclusion } from "../../domain/failures/Exclusion.ts"
import { BadRequest } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { hostFacts } from "../../domain/hosts/hostFacts.ts"
import { type Permissions, unrestricted } from "../../domain/keys/Permissions.ts"
import type { BudgetSnapshot } from "../../domain/money/Hold.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { documentedSorts, type Preferences } from "../../domain/request/Preferences.ts"
import { searching } from "../../domain/request/Request.ts"
import { isFastEnough, preferredSpeeds } from "../../domain/request/thresholds.ts"
import { byTier, isListedIn, listedFirst, passingFirst } from "../../domain/routing/hostOrder.ts"
import { modelTurns } from "../../domain/routing/modelTurns.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import { type Adjustment, adjustmentOf, sortOf, type WantedModel } from "../../domain/routing/variants.ts"
import { randomSequence, seedFrom } from "../../domain/structures/randomSequence.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import {
  type Candidate,
  type Rank,
  type RankContext,
  type Reasons,
  unknownConversation,
} from "../../plugin/Strategy.ts"
import { withAffordable } from "../dispatch/affordable.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { HostStats } from "../hosts/HostStats.ts"
import { ProviderKeys } from "../hosts/ProviderKeys.ts"
import type { Conversation } from "../request/Conversations.ts"
import { makeStepRunner } from "../request/Steps.ts"
import { type PlanFailure, type PlannedRequest, planRefusal } from "./planRefusal.ts"
import { ranked, StrategyFaults } from "./ranking.ts"
import { Exclusions, type States, usableHosts } from "./usableHosts.ts"
import { wantedModels } from "./wantedModels.ts"

export interface PlanOptions {
  /** Repeats the random draws of an earlier plan; otherwise each plan gets a seed of its own. A 32-bit unsigned integer. */
  readonly seed?: number | undefined
  /** What is remembered of the conversation. Absent: nothing. */
  readonly conversation?: Conversation | undefined
  /** What the caller's key may use. Default: everything. */
  readonly permissions?: Permissions
  /** The id of the caller's key. Absent: of none, so that a host which one key alone put out is out. */
  readonly key?: string
}

/** A plan with what led to it. Made like every plan, so it cannot differ from what a dispatch does. */
export interface ExplainedPlan {
  /** May have no attempts. */
  readonly plan: Plan
  /** What the caller of such a request gets; `undefined` where there is something to try. */
  readonly failure: PlanFailure | undefined
  /** The numbers that the strategy used for each host that it ordered; none where it does not explain itself. */
  readonly whys: ReadonlyMap<Host, Reasons>
}

/** Called for each ranking, before it, when a plan is explained. */
type OnRanking = (strategy: string, candidates: ReadonlyArray<Candidate>, context: RankContext) => void

/** A plan that may have no attempts, and then the failure of the request. */
interface Decided {
  readonly plan: Plan
  readonly failure: PlanFailure | undefined
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
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const stats = yield* HostStats
      const health = yield* HostHealth
      const keys = yield* ProviderKeys
      const clock = yield* Effect.clock
      const runner = makeStepRunner(yield* Effect.runtime<never>())
      // One number of Effect's random service decides the seeds of all plans, so that a test can make them deterministic.
      const seeds = randomSequence(seedFrom(yield* Random.next))
      const faults = new StrategyFaults(
        () => clock.unsafeCurrentTimeMillis(),
        (line) => runner.effect(line, () => {}),
      )

      const candidateOf = (host: Host): Candidate => ({ host, stats: stats.snapshot(host) })

      const rankedBy = (
        strategy: string,
        hosts: ReadonlyArray<Host>,
        context: RankContext,
        conversation: Conversation | undefined,
        onRanking: OnRanking | undefined,
      ): ReadonlyArray<Host> => {
        const candidates = hosts.map(candidateOf)
        // What an explanation reads of the conversation must not switch stickiness off.
        onRanking?.(strategy, candidates, { ...context, conversation: conversation?.again() ?? unknownConversation })
        const rank = registry.current().routing.strategies.get(strategy) ?? asGiven
        return ranked(rank, hosts, candidates, context, strategy, faults)
      }

      const decide = (
        request: AnyRequest,
        budget: BudgetSnapshot,
        options: PlanOptions | undefined,
        onRanking?: OnRanking,
      ): Either.Either<Decided, BadRequest> => {
        const { models: names, preferences } = request.routing
        const { routing } = registry.current()
        const named = wantedModels(request.operation, names, registry)
        if (Either.isLeft(named)) return Either.left(named.left)
        const wanted = named.right
        const unknown = unknownSort(preferences.sort, routing)
        if (unknown !== undefined) return Either.left(unknown)
        const now = clock.unsafeCurrentTimeMillis()
        const seed = options?.seed ?? seedFrom(seeds())
        const { conversation, permissions = unrestricted, key } = options ?? {}
        const random = randomSequence(seed)
        const context = { request, now, random, conversation: conversation ?? unknownConversation }
        const hasChoice = wanted.length > 1 || (wanted[0]?.model.hosts.length ?? 0) > 1
        const isRanked = hasChoice || onRanking !== undefined
        // Where only one is left of several, the ranking may still want the conversation to be remembered.
        const order: OrderBy = (hosts, sort) => {
          if (hosts.length === 0 || !isRanked) return hosts
          const ranked = rankedBy(strategyFor(sort, routing), hosts, context, conversation, onRanking)
          return conversation !== undefined && hasChoice ? conversation.stickyFirst(ranked) : ranked
        }

        const excluded = new Exclusions()
        const { maxTokens } = request
        const states: States = {
          registry,
          health,
          keys,
          budget,
          maxTokens,
          permissions,
          key,
          probes: [],
          unaffordable: undefined,
        }
        const kept = keptHosts(request, wanted, now, states, excluded)
        // A model may be wanted twice, by names with and without a variant.
        const groups = preferences.partition === "none" && kept.length > 1 ? [[...new Set(kept.flat())]] : kept
        const ordered = orderedGroups(preferences, groups, wanted, order)
        const tried = withoutFallbacks(request, ordered, stats, excluded)
        const attempts = wanted.length === 1 ? tried : modelTurns(tried, isListedIn(preferences.order))
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
        return Either.right({ plan, failure })
      }

      const reasonsFor = (strategy: string, candidate: Candidate, context: RankContext): Reasons | undefined => {
        const reasons = registry.current().routing.whys.get(strategy)?.(candidate, context)
        if (!(reasons instanceof PluginFault)) return reasons
        faults.report(strategy, reasons, "a strategy failed to explain its order")
        return undefined
      }

      return {
        plan: (request, budget, options) => {
          const decided = decide(request, budget, options)
          if (Either.isLeft(decided)) return Either.left(decided.left)
          const { plan, failure } = decided.right
          return failure === undefined ? Either.right(plan) : Either.left(failure)
        },
        explain: (request, budget, options) => {
          const whys = new Map<Host, Reasons>()
          const decided = decide(request, budget, options, (strategy, candidates, context) => {
            for (const candidate of candidates) {
              const reasons = reasonsFor(strategy, candidate, context)
              if (reasons !== undefined) whys.set(candidate.host, reasons)
            }
          })
          return Either.map(decided, ({ plan, failure }) => ({ plan, failure, whys }))
        },
      }
    }),
  )
}

const asGiven: Rank = (candidates) => candidates

/** The strategy for a sort: the installed one of that name, else the configured one. */
const strategyFor = (sort: string | undefined, { strategies, strategy }: RoutingConfig): string =>
  sort !== undefined && strategies.has(sort) ? sort : strategy

const unknownSort = (sort: string | undefined, { strategies }: RoutingConfig): BadRequest | undefined => {
  if (sort === undefined || strategies.has(sort) || documentedSorts.includes(sort)) return undefined
  const known = [...new Set([...documentedSorts, ...strategies.keys()])].join(", ")
  return new BadRequest({ issues: [{ path: "provider.sort", message: `must be one of ${known}` }] })
}

const tierSorts = { flex: "price", priority: "throughput" } as const

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

/** Orders hosts by the strategy for a sort. */
type OrderBy = (hosts: ReadonlyArray<Host>, sort: string | undefined) => ReadonlyArray<Host>

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

const orderedGroups = (
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
const usedStrategy = (
  preferences: Preferences,
  hosts: ReadonlyArray<Host>,
  wanted: WantedModel | undefined,
  routing: RoutingConfig,
): string => (preferences.order.length > 0 ? "order" : strategyFor(sortFor(preferences, hosts, wanted), routing))

/**
 * All hosts in the order in which they are tried, of one model after the other. Without fallbacks only those that the
 * caller listed, or else the first of each model.
 */
const withoutFallbacks = (
  { routing: { preferences } }: PlannedRequest,
  groups: ReadonlyArray<ReadonlyArray<Host>>,
  stats: Context.Tag.Service<HostStats>,
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
