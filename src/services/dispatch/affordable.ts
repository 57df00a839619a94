/**
 * How many output tokens a refused request could ask for, by the arithmetic of its reservation
 * (`domain/money/reservation.ts`). Run for refused requests alone: it writes the request once more for the hosts that decide.
 * See docs/guarantees.md#g1.
 */
import * as Either from "effect/Either"
import { endpointFor } from "../../catalogue/endpoints.ts"
import type { Endpoints } from "../../catalogue/ProviderRegistry.ts"
import { PaymentRequired } from "../../domain/failures/Failure.ts"
import { affordableTokens, type BudgetSnapshot } from "../../domain/money/reservation.ts"
import { type AnyRequest, isUnary } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { requestFor } from "../../domain/routing/HostRequest.ts"
import type { Unaffordable } from "../../domain/routing/Plan.ts"
import { byteLength, encodeFor } from "./encodeFor.ts"

/**
 * The same failure, with the tokens that the budget pays for where it is one of a budget that does not cover a chat. `hosts`: those that
 * it does not cover.
 */
export const withAffordable = <Failed>(
  failure: Failed,
  request: AnyRequest,
  hosts: ReadonlyArray<Unaffordable>,
  registry: Endpoints,
): Failed | PaymentRequired => {
  if (!(failure instanceof PaymentRequired) || isUnary(request)) return failure
  // Its endpoint takes no bound, so none that is lower could be asked for.
  if (request.native?.compacts === true) return failure
  const { reason, limitSource, limit, spend, reserved, required, resetsAt, retryAfterSeconds } = failure
  if (reason !== "request_exceeds_budget" && reason !== "in_flight_budget_exhausted") return failure
  const budget = { limit, spend, reserved, source: limitSource, resetsAt }
  return new PaymentRequired({
    ...budget,
    reason,
    limitSource,
    required,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    affordableTokens: mostAffordable(budget, request, hosts, registry),
    askedTokens: request.maxTokens,
  })
}

const mostAffordable = (
  budget: BudgetSnapshot,
  request: ChatRequest,
  hosts: ReadonlyArray<Unaffordable>,
  registry: Endpoints,
): number => {
  const candidates = hosts
    .map((one) => ({ one, planned: plannedTokens(budget, one) }))
    .toSorted((a, b) => b.planned - a.planned)
  let most = 0
  for (const { one, planned } of candidates) {
    if (planned <= most) break
    most = Math.max(most, Math.min(planned, sentTokens(budget, request, one, registry)))
  }
  return most
}

/** As far as the plan knows, from the size of the caller's body. */
const plannedTokens = (budget: BudgetSnapshot, { host, bounds }: Unaffordable): number =>
  bounds === undefined
    ? host.maxCompletionTokens
    : Math.min(host.maxCompletionTokens, affordableTokens(budget, { bounds, sentBytes: bounds.promptBytes }, host) ?? 0)

/** By the body that the host would be sent, in which the bound itself is written. 0: it cannot be written with so low a bound. */
const sentTokens = (
  budget: BudgetSnapshot,
  request: ChatRequest,
  { host, adjustment }: Unaffordable,
  registry: Endpoints,
): number => {
  const endpoint = registry.endpoint(host)
  const { request: asked } = requestFor(request, host, adjustment)
  if (endpoint === undefined || isUnary(asked)) return 0
  const longest = Math.min(asked.maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens)
  const sizeWith = (maxTokens: number): number | undefined => {
    const encoded = encodeFor(endpointFor(endpoint, asked), { ...asked, maxTokens }, host)
    return Either.isLeft(encoded) ? undefined : byteLength(encoded.right.body)
  }
  const tokensOf = (sentBytes: number): number =>
    Math.min(host.maxCompletionTokens, affordableTokens(budget, { bounds: asked.bounds, sentBytes }, host) ?? 0)
  const size = sizeWith(longest)
  if (size === undefined) return 0
  const digits = String(longest).length
  // A bound with fewer digits makes the body shorter, and so leaves money for more tokens: each number of digits is tried.
  for (let fewer = 0; fewer < digits; fewer++) {
    const tokens = Math.min(tokensOf(size - fewer), 10 ** (digits - fewer) - 1)
    if (tokens < 10 ** (digits - fewer - 1)) continue
    const written = sizeWith(tokens)
    if (written === undefined) return 0
    const isPaid = (bound: number): boolean => tokensOf(sizeWith(bound) ?? size) >= bound
    // Where the protocol writes more by the bound than the bound, the longer body decides, or the shorter one pays for more.
    if (written > size - fewer) return Math.min(tokens, tokensOf(written))
    return written === size - fewer ? tokens : mostPaid(tokens, Math.min(longest, tokensOf(written)), isPaid)
  }
  return 0
}

/** The most of `least` to `most` that is paid for, as `least` is. */
const mostPaid = (least: number, most: number, isPaid: (bound: number) => boolean): number => {
  let [paid, above] = [least, Math.max(least, most) + 1]
  while (above - paid > 1) {
    const middle = Math.floor((paid + above) / 2)
    if (isPaid(middle)) paid = middle
    else above = middle
  }
  return paid
}
