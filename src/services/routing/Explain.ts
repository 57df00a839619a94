/**
 * Explains how a request would be routed: the plan of the router, and what each host of it would be sent. Calls nobody
 * and reserves nothing.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type Endpoint, endpointFor } from "../../catalogue/endpoints.ts"
import { type Endpoints, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { Exclusion } from "../../domain/failures/Exclusion.ts"
import { type BadRequest, type FailedAttempt, HostFailed, type Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { expectedCost } from "../../domain/money/expectedCost.ts"
import { type BudgetSnapshot, budgetRefusal, paymentRequired, requiredAmount } from "../../domain/money/reservation.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { joinedNames } from "../../domain/request/droppedNames.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { requestFor } from "../../domain/routing/HostRequest.ts"
import type { Unaffordable } from "../../domain/routing/Plan.ts"
import { randomSequence, seedFrom } from "../../domain/structures/randomSequence.ts"
import type { Reasons } from "../../plugin/strategy.ts"
import type { Skipped } from "../dispatch/AttemptStart.ts"
import { withAffordable } from "../dispatch/affordable.ts"
import { byteLength, encodeFor } from "../dispatch/encodeFor.ts"
import { type DispatchFailure, outcomeOf } from "../dispatch/outcomeOf.ts"
import { type KeyChoice, ProviderKeys } from "../hosts/ProviderKeys.ts"
import type { ConversationRecord } from "../request/Conversations.ts"
import { otherWorkFirst } from "../request/otherWorkFirst.ts"
import type { PlanFailure } from "./planRefusal.ts"
import { type ExplainedPlan, type PlanOptions, Router } from "./Router.ts"

export interface ExplainedAttempt {
  readonly host: Host
  /** `null`: the host's price is unknown. */
  readonly expectedCost: Picodollars | null
  /** `null`: the strategy does not explain itself. */
  readonly why: Reasons | null
  /** Members of the request that the host would not be sent. */
  readonly dropped: ReadonlyArray<string>
  /** The key that would be used, by its label; `undefined`: the provider has no several. */
  readonly key: string | undefined
}

export interface Explanation {
  readonly strategy: string
  readonly seed: number
  /** In the order in which they would be tried. */
  readonly attempts: ReadonlyArray<ExplainedAttempt>
  readonly excluded: ReadonlyArray<Exclusion>
  /** What the caller would get now, where there is nothing to try. */
  readonly failure: PlanFailure | DispatchFailure | undefined
  /** The draws of the strategy with other seeds, so many at most. Lets other work of the event loop go first. */
  readonly draws: (count: number) => Effect.Effect<Draws>
}

/** How often each host of a plan is the first one. */
export interface Draws {
  /** Fewer than were asked for, where they took too long. */
  readonly count: number
  /** Most first; then in the order of the plan. */
  readonly firsts: ReadonlyArray<{ readonly host: Host; readonly times: number }>
}

export type Explain = (
  request: AnyRequest,
  budget: BudgetSnapshot,
  options?: PlanOptions,
) => Either.Either<Explanation, BadRequest>

/** Explains by the services of a gateway. */
export const makeExplain: Effect.Effect<Explain, never, Router | ProviderRegistry | ProviderKeys> = Effect.gen(
  function* () {
    const router = yield* Router
    const registry = yield* ProviderRegistry
    const keys = yield* ProviderKeys
    const clock = yield* Effect.clock
    // Many that draw side by side would hold the event loop for so many times as long.
    const oneAtATime = yield* Effect.makeSemaphore(1)
    return (request, budget, options) =>
      Either.map(router.explain(request, budget, options), (explained) => {
        const explaining = new Explaining(registry, keys, request, budget, explained, options?.conversation?.record())
        const made = explaining.at(clock.unsafeCurrentTimeMillis())
        return { ...made, draws: (count: number) => oneAtATime.withPermits(1)(made.draws(count)) }
      })
  },
)

/**
 * Milliseconds: for so long the event loop is held at a time, and draws are made in all. A strategy of a plugin may be
 * slow.
 */
const heldMs = 5
const drawingMs = 2000

/** The seeds follow from that of the plan, so that the same seed gives the same shares. */
const drawn = (
  { plan, redraw }: ExplainedPlan,
  attempts: ReadonlyArray<ExplainedAttempt>,
  most: number,
): Effect.Effect<Draws> =>
  Effect.gen(function* () {
    const seeds = randomSequence(plan.seed)
    const times = new Map(attempts.map(({ host }) => [host, 0]))
    const began = performance.now()
    let heldSince = began
    let count = 0
    while (count < most && times.size > 0) {
      const first = redraw(seedFrom(seeds())).find((host) => times.has(host))
      if (first !== undefined) times.set(first, (times.get(first) ?? 0) + 1)
      count += 1
      const now = performance.now()
      if (now - began >= drawingMs) break
      if (now - heldSince < heldMs) continue
      yield* otherWorkFirst
      heldSince = performance.now()
    }
    const firsts = Array.from(times, ([host, n]) => ({ host, times: n }))
    return { count, firsts: firsts.toSorted((a, b) => b.times - a.times) }
  })

/** One explanation: what each host of a plan would be sent, and what became of it. */
class Explaining {
  private readonly registry: Endpoints
  private readonly keys: KeyChoice
  private readonly request: AnyRequest
  private readonly budget: BudgetSnapshot
  private readonly explained: ExplainedPlan
  private readonly conversation: ConversationRecord | undefined
  private readonly attempts: Array<ExplainedAttempt> = []
  private readonly excluded: Array<Exclusion>
  private readonly failed: Array<FailedAttempt> = []
  private readonly skipped: Array<Skipped> = []
  private readonly unaffordable: Array<Unaffordable>

  constructor(
    registry: Endpoints,
    keys: KeyChoice,
    request: AnyRequest,
    budget: BudgetSnapshot,
    explained: ExplainedPlan,
    conversation: ConversationRecord | undefined,
  ) {
    this.registry = registry
    this.keys = keys
    this.request = request
    this.budget = budget
    this.explained = explained
    this.conversation = conversation
    this.excluded = [...explained.plan.excluded]
    this.unaffordable = [...(explained.plan.unaffordable ?? [])]
  }

  /** `now`: Unix milliseconds, for prices that depend on the time. */
  at(now: number): Explanation {
    const { plan, failure } = this.explained
    for (const host of plan.attempts) {
      const endpoint = this.registry.endpoint(host)
      // For the type alone: a host that cannot be called is in no plan, and this plan was made just now.
      if (endpoint !== undefined) this.add(host, endpoint, now)
    }
    const { strategy, seed } = plan
    const { attempts, excluded } = this
    const draws = (count: number) => drawn(this.explained, attempts, count)
    const outcome = attempts.length > 0 ? undefined : outcomeOf(this.failed, this.skipped, plan)
    const refusal = failure ?? withAffordable(outcome, this.request, this.unaffordable, this.registry)
    return { strategy, seed, attempts, excluded, failure: refusal, draws }
  }

  private add(host: Host, endpoint: Endpoint, now: number): void {
    const { request, budget } = this
    const { plan, whys } = this.explained
    const sent = requestFor(request, host, plan.adjustments?.get(host))
    const encoded = encodeFor(endpointFor(endpoint, request), sent.request, host)
    if (Either.isLeft(encoded)) {
      this.notWritten(host, encoded.left)
      return
    }
    const { dropped: untranslated = [], body } = encoded.right
    // The plan knows only the size of the caller's body. A reservation is made for the bytes that are sent.
    const ask = { ...sent.request, sentBytes: byteLength(body) }
    const refused = budgetRefusal(budget, ask, host)
    if (refused !== undefined) {
      this.skipped.push(paymentRequired(budget, refused, requiredAmount(ask, host)))
      this.unaffordable.push({ host, adjustment: plan.adjustments?.get(host) })
      this.exclude(host, "budget", refused)
      return
    }
    const choosing = { seed: plan.seed, triedKeys: [], conversation: this.conversation }
    const chosen = endpoint.keys && this.keys.choose(endpoint.keys, choosing)
    this.attempts.push({
      host,
      expectedCost: expectedCost(request, host, now),
      why: whys.get(host) ?? null,
      dropped: joinedNames(sent.dropped, untranslated),
      key: chosen !== undefined && "key" in chosen ? chosen.key.label : undefined,
    })
  }

  private notWritten(host: Host, why: HostFailed | Unsupported): void {
    if (why instanceof HostFailed) {
      const { providerName: provider, tag, model } = host
      this.failed.push({ provider, host: tag, model, failure: why, durationMs: null })
      this.exclude(host, "plugin", "its plugin could not write the request")
    } else {
      this.skipped.push(why)
      this.exclude(host, "protocol", `${why.path}: ${why.reason}`)
    }
  }

  private exclude({ tag, model }: Host, by: string, reason: string): void {
    this.excluded.push({ host: tag, model, by, reason })
  }
}
