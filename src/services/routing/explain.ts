/**
 * Explains how a request would be routed: the plan of the router, and what each host of it would be sent. Calls nobody and
 * holds nothing.
 */
import type * as Context from "effect/Context"
import * as Either from "effect/Either"
import { endpointFor } from "../../catalogue/endpoints.ts"
import type { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { Exclusion } from "../../domain/failures/Exclusion.ts"
import { type BadRequest, type FailedAttempt, HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { expectedCost } from "../../domain/money/ExpectedCost.ts"
import { type BudgetSnapshot, budgetRefusal, paymentRequired, requiredAmount } from "../../domain/money/Hold.ts"
import type { Picodollars } from "../../domain/price/Money.ts"
import { joinedNames } from "../../domain/request/droppedNames.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import { requestFor } from "../../domain/routing/hostRequest.ts"
import type { Unaffordable } from "../../domain/routing/Plan.ts"
import type { Reasons } from "../../plugin/Strategy.ts"
import { withAffordable } from "../dispatch/affordable.ts"
import type { Skipped } from "../dispatch/beginAttempt.ts"
import { byteLength } from "../dispatch/byteLength.ts"
import { encodeFor } from "../dispatch/encodeFor.ts"
import { type DispatchFailure, outcomeOf } from "../dispatch/tryHosts.ts"
import type { ProviderKeys } from "../hosts/ProviderKeys.ts"
import type { PlanFailure } from "./planRefusal.ts"
import type { PlanOptions, Router } from "./Router.ts"

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
}

export type Explain = (
  request: AnyRequest,
  budget: BudgetSnapshot,
  options?: PlanOptions,
) => Either.Either<Explanation, BadRequest>

/** `now`: Unix milliseconds, for prices that depend on the time. */
export const makeExplain =
  (
    router: Context.Tag.Service<Router>,
    registry: Context.Tag.Service<ProviderRegistry>,
    keys: Context.Tag.Service<ProviderKeys>,
    now: () => number,
  ): Explain =>
  (request, budget, options) =>
    Either.map(router.explain(request, budget, options), ({ plan, whys, failure }) => {
      const at = now()
      const attempts: Array<ExplainedAttempt> = []
      const excluded = [...plan.excluded]
      const failed: Array<FailedAttempt> = []
      const skipped: Array<Skipped> = []
      const unaffordable: Array<Unaffordable> = [...(plan.unaffordable ?? [])]
      const exclude = ({ tag, model }: Host, by: string, reason: string) =>
        excluded.push({ host: tag, model, by, reason })
      for (const host of plan.attempts) {
        const endpoint = registry.endpoint(host)
        // For the type alone: a host that cannot be called is in no plan, and this plan was made just now.
        if (endpoint === undefined) continue
        const sent = requestFor(request, host, plan.adjustments?.get(host))
        const encoded = encodeFor(endpointFor(endpoint, request), sent.request, host)
        if (Either.isLeft(encoded)) {
          const { left } = encoded
          if (left instanceof HostFailed) {
            failed.push({ provider: host.providerName, host: host.tag, model: host.model, failure: left })
            exclude(host, "plugin", "its plugin could not write the request")
          } else {
            skipped.push(left)
            exclude(host, "protocol", `${left.path}: ${left.reason}`)
          }
          continue
        }
        const { dropped: untranslated = [], body } = encoded.right
        const dropped = joinedNames(sent.dropped, untranslated)
        // The plan knows only the size of the caller's body. A hold is made for the bytes that are sent.
        const ask = { ...sent.request, sentBytes: byteLength(body) }
        const refused = budgetRefusal(budget, ask, host)
        if (refused === undefined) {
          const chosen = endpoint.keys && keys.choose(endpoint.keys, { seed: plan.seed, triedKeys: [] })
          attempts.push({
            host,
            expectedCost: expectedCost(request, host, at),
            why: whys.get(host) ?? null,
            dropped,
            key: chosen !== undefined && "key" in chosen ? chosen.key.label : undefined,
          })
        } else {
          skipped.push(paymentRequired(budget, refused, requiredAmount(ask, host)))
          unaffordable.push({ host, adjustment: plan.adjustments?.get(host) })
          exclude(host, "budget", refused)
        }
      }
      const { strategy, seed } = plan
      const outcome = attempts.length > 0 ? undefined : outcomeOf(failed, skipped, plan)
      const refusal = failure ?? withAffordable(outcome, request, unaffordable, registry)
      return { strategy, seed, attempts, excluded, failure: refusal }
    })
