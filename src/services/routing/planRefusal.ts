/** The failure of a request whose plan has no attempts. */
import type { Exclusion, TooLong } from "../../domain/failures/Exclusion.ts"
import {
  type BadRequest,
  NoHostMatches,
  NotPermitted,
  type PaymentRequired,
  promptTooLong,
  type RoutingExhausted,
} from "../../domain/failures/Failure.ts"
import { type BudgetRefusal, type BudgetSnapshot, paymentRequired } from "../../domain/money/reservation.ts"
import { type AnyRequest, operations } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { exhausted } from "../dispatch/exhausted.ts"
import type { Exclusions } from "./usableHosts.ts"

/** What a plan depends on, in addition to the gateway's state. */
export type PlannedRequest = Pick<AnyRequest, "operation" | "routing" | "bounds" | "maxTokens"> &
  Partial<Pick<ChatRequest, "native">>

export type PlanFailure = BadRequest | NoHostMatches | NotPermitted | PaymentRequired | RoutingExhausted

const notAllowed = (models: ReadonlyArray<string>, forbidden: ReadonlyArray<Exclusion>): string => {
  const lists = [...new Set(forbidden.map(({ by }) => by))].join(" and ")
  return `This key may not use ${models.join(", ")}: excluded by its ${lists}.`
}

/** The one whose host needs the least; one with an unknown price only where there is no other. */
const cheapest = (excluded: ReadonlyArray<Exclusion>): Exclusion | undefined => {
  let [least] = excluded
  for (const one of excluded) {
    if (one.required === undefined) continue
    if (least?.required === undefined || one.required < least.required) least = one
  }
  return least
}

/** Of the contexts that the prompt exceeds, the one to shorten it for. */
const longer = (longest: TooLong, { tooLong }: Exclusion): TooLong =>
  tooLong !== undefined && tooLong.maximum > longest.maximum ? tooLong : longest

/**
 * The failure of a plan without hosts, by what the caller can do: pay, wait, take another key, shorten the prompt, or
 * ask for other hosts.
 */
export const planRefusal = (
  { operation, routing, native }: PlannedRequest,
  exclusions: Exclusions,
  budget: BudgetSnapshot,
): PlanFailure => {
  const excluded = exclusions.byCheck()
  const { models, preferences } = routing
  const unaffordable = cheapest(excluded.filter(({ by }) => by === "budget"))
  // The reason of an exclusion by `budget` is the budget's refusal.
  if (unaffordable !== undefined)
    return paymentRequired(budget, unaffordable.reason as BudgetRefusal, unaffordable.required)
  const waits = excluded.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
  const waiting = excluded.filter(({ retryAfterMs }) => retryAfterMs !== undefined)
  const isRateLimited = waiting.every(({ isRateLimit }) => isRateLimit === true)
  if (waits.length > 0) return exhausted([], Math.min(...waits), { models, waiting, isRateLimited })
  const forbidden = excluded.filter(({ by }) => by === "allowed_models" || by === "allowed_providers")
  if (forbidden.length > 0) return new NotPermitted({ rule: notAllowed(models, forbidden) })
  const last = excluded.at(-1)
  if (last?.tooLong !== undefined) {
    const path = native?.pathOf("messages") ?? operations[operation].promptMember
    return promptTooLong(path, excluded.reduce(longer, last.tooLong), models)
  }
  return new NoHostMatches({ models, excluded, requestedProviders: preferences.only })
}
