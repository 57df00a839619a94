/** The most that a request can cost at a host, computed before its answer is known. Pure. See docs/guarantees.md#g1. */
import * as BigInteger from "effect/BigInt"
import { PaymentRequired } from "../failures/Failure.ts"
import { type Host, isPriceUnknown } from "../hosts/Host.ts"
import { hostFacts, maySupport, supports } from "../hosts/hostFacts.ts"
import type { Picodollars } from "../price/money.ts"
import { type MaximumPrices, maximumPrices, type Pricing } from "../price/price.ts"
import { noUsage, type Usage } from "../price/Usage.ts"
import type { Bounds, ChatRequest } from "../request/request.ts"

/** What an account can still pay at one moment. */
export interface BudgetSnapshot {
  /** `null`: no limit. */
  readonly limit: Picodollars | null
  /** Spent in the current window of the limit. */
  readonly spend: Picodollars
  /** Reserved by requests in flight. */
  readonly reserved: Picodollars
  /** Which limit it is, for the caller: `daily`, `weekly`, `monthly` or `total`. */
  readonly source: string
  /** Unix milliseconds; `null`: the limit never resets. */
  readonly resetsAt: number | null
}

/** Why a budget does not allow a request. */
export type BudgetRefusal = PaymentRequired["reason"]

/** What the size of a reservation follows from. */
export interface ReservationBasis {
  readonly bounds: Bounds
  /** The caller's bound on output tokens. */
  readonly maxTokens: number | undefined
  /** UTF-8 bytes of the body that this host is sent. */
  readonly sentBytes: number
  /** `canGrow`; absent: it cannot. Makes no difference to whether the budget allows the request. */
  readonly grows?: boolean
}

export interface ReservationSize {
  readonly amount: Picodollars
  /** Output tokens that the host is to be limited to; `undefined`: its own maximum will do. */
  readonly outputBound: number | undefined
  /** Output tokens that the amount pays for, of all answers together. `Infinity`: the output needs no money of a limit. */
  readonly outputTokens: number
}

/** What a streamed answer may use of its key's budget. See docs/guarantees.md#g1. */
export interface OutputAllowance {
  /** Output tokens that are reserved when it begins. */
  readonly outputTokens: number
  /** Reserves more, and returns how many tokens; 0: the budget has no more. */
  readonly extend: () => number
}

/** With fewer output tokens affordable the request is refused. */
const fewestTokens = 16n
/** Output tokens to reserve at first where the caller gave no bound, and the most to add at once. Most answers are shorter. */
const usualTokens = 4096n
/** The fewest to add at once, so that a stream with a small bound does not ask for money at every event. */
const smallestBlock = 64

/**
 * Whether the reservation of an answer without `maxTokens` can begin with one block and grow while the answer comes: a stream
 * whose output is all seen by the gateway. A model that reasons may do so without sending it.
 */
export const canGrow = (
  request: Pick<ChatRequest, "stream" | "reasoning">,
  host: Host,
  dropped: ReadonlyArray<string> = [],
): boolean => request.stream && mostHiddenTokens(request, host, dropped) === 0

/**
 * The most that this request can cost at this host, or why the budget does not allow it. Nothing is reserved for a
 * key without a limit. Nothing is reserved at a free host either: a key may call it when its limit is used up. Where
 * the client sent no `maxTokens`, the output is bounded by the host's maximum, by what is left, and by the larger of
 * 4,096 tokens and an eighth of what is left. So an unbounded request leaves money for concurrent ones. A reservation
 * that grows starts at 4,096 tokens, and its host is limited by what is left.
 */
export const reservationSize = (
  budget: BudgetSnapshot,
  { bounds, maxTokens, sentBytes, grows = false }: ReservationBasis,
  host: Host,
): ReservationSize | BudgetRefusal => {
  const asked = maxTokens === undefined ? undefined : Math.min(maxTokens, host.maxCompletionTokens)
  if (budget.limit === null || paysNothing(host)) return { amount: 0n, outputBound: asked, outputTokens: unlimited }
  if (isPriceUnknown(host)) return "unknown_price"
  const left = budget.limit - budget.spend
  if (left <= 0n) return "limit_exhausted"
  // The operator allows it although nobody knows what it costs.
  if (host.pricing === null) return { amount: 0n, outputBound: asked, outputTokens: unlimited }

  const price = maximumPrices(host.pricing)
  const fixed = mostBesideOutput(price, bounds, sentBytes, host)
  const perToken = bounds.choices === 1 ? price.completion : price.completion * BigInt(bounds.choices)
  const available = left - budget.reserved
  if (asked !== undefined) {
    const amount = fixed + BigInt(asked) * perToken
    if (amount > available) return refusalOf(amount, left)
    return { amount, outputBound: asked, outputTokens: perToken === 0n ? unlimited : asked * bounds.choices }
  }
  const longest = BigInt(host.maxCompletionTokens)
  const most = BigInteger.min(longest, affordable(available, fixed, perToken, longest))
  const usual = grows ? usualTokens : BigInteger.max(usualTokens, affordable(available / 8n, fixed, perToken, longest))
  const output = BigInteger.min(most, usual)
  const fewest = BigInteger.min(fewestTokens, longest)
  const amount = fixed + output * perToken
  if (amount > available || output < fewest) return refusalOf(fixed + fewest * perToken, left)
  const bound = grows ? most : output
  return {
    amount,
    outputBound: bound < longest ? Number(bound) : undefined,
    outputTokens: perToken === 0n ? unlimited : Number(output) * bounds.choices,
  }
}

const paysNothing = (host: Host): boolean =>
  host.pricing === null ? host.local && !isPriceUnknown(host) : hostFacts(host).costsNothing

/** `outputTokens` of a reservation whose output needs no money of a limit. */
const unlimited = Number.POSITIVE_INFINITY

/** The most that a request can cost without its output tokens. */
const mostBesideOutput = (price: MaximumPrices, bounds: Bounds, sentBytes: number, host: Host): Picodollars => {
  const images = price.image === 0n ? 0n : BigInt(bounds.images) * price.image
  const searches = price.webSearch === 0n ? 0n : BigInt(bounds.searches) * price.webSearch
  const prompt = BigInt(mostPromptTokens(bounds, sentBytes, host)) * price.prompt
  const requests = bounds.searchUnits === undefined ? price.request : BigInt(bounds.searchUnits) * price.request
  return prompt + requests + images + searches + BigInt(mostRejected(bounds, host)) * price.completion
}

/**
 * The most tokens of a predicted answer that are billed as output beside the answer, since the model did not say them
 * (OpenAI's guide to predicted outputs, 2025-11). They are not within `max_tokens`.
 */
const mostRejected = ({ predictedBytes = 0 }: Bounds, host: Host): number =>
  predictedBytes > 0 && maySupport(hostFacts(host), "prediction") ? predictedBytes : 0

/** How many output tokens an amount pays for, beside the `fixed` costs. `longest`: where output costs nothing. */
const affordable = (amount: Picodollars, fixed: Picodollars, perToken: Picodollars, longest: bigint): bigint => {
  if (amount < fixed) return 0n
  return perToken === 0n ? longest : (amount - fixed) / perToken
}

/**
 * The most output tokens of each answer that a request can ask for at this host and still be admitted; one more is refused.
 * `undefined`: there is no limit, or no price. `Infinity`: the output needs no money of the limit.
 */
export const affordableTokens = (
  { limit, spend, reserved }: BudgetSnapshot,
  { bounds, sentBytes }: Pick<ReservationBasis, "bounds" | "sentBytes">,
  host: Host,
): number | undefined => {
  if (limit === null || host.pricing === null) return undefined
  const price = maximumPrices(host.pricing)
  const fixed = mostBesideOutput(price, bounds, sentBytes, host)
  const perToken = price.completion * BigInt(bounds.choices)
  const available = limit - spend - reserved
  if (perToken === 0n && available >= fixed) return Number.POSITIVE_INFINITY
  return Number(affordable(available, fixed, perToken, 0n))
}

/** Why an amount that is not available cannot be reserved. `left`: what would be available if no other request ran. */
const refusalOf = (amount: Picodollars, left: Picodollars): BudgetRefusal =>
  amount <= left ? "in_flight_budget_exhausted" : "request_exceeds_budget"

/**
 * What to add to the reservation of a stream whose output has used it up: as many tokens as it began with, 4,096 at most, or as
 * many as are left. `tokens` 0: nothing is left.
 */
export const nextBlock = (
  { limit, spend, reserved }: BudgetSnapshot,
  { pricing }: Host,
  outputTokens: number,
): { readonly tokens: number; readonly amount: Picodollars } => {
  if (limit === null || pricing === null) return { tokens: 0, amount: 0n }
  const price = maximumPrices(pricing).completion
  const available = limit - spend - reserved
  if (price === 0n || available < price) return { tokens: 0, amount: 0n }
  const block = BigInteger.min(usualTokens, BigInt(Math.max(smallestBlock, outputTokens)))
  const tokens = BigInteger.min(block, available / price)
  return { tokens: Number(tokens), amount: tokens * price }
}

/**
 * Why the budget does not allow the request at this host; `undefined`: it does. For a plan, which takes no money: where there
 * is far more left than the request can cost, a rough bound in floating point decides.
 */
export const budgetRefusal = (
  budget: BudgetSnapshot,
  request: ReservationBasis,
  host: Host,
): BudgetRefusal | undefined => {
  if (budget.limit === null) return undefined
  if (host.pricing !== null && request.maxTokens !== undefined) {
    const { bounds } = request
    const price = roughPrices(host.pricing)
    const most =
      mostPromptTokens(bounds, request.sentBytes, host) * price.prompt +
      price.request * (bounds.searchUnits ?? 1) +
      bounds.images * price.image +
      bounds.searches * price.webSearch +
      mostRejected(bounds, host) * price.completion +
      request.maxTokens * bounds.choices * price.completion
    if (2 * most < Number(budget.limit - budget.spend - budget.reserved)) return undefined
  }
  const size = reservationSize(budget, request, host)
  return typeof size === "string" ? size : undefined
}

type RoughPrices = Readonly<Record<keyof MaximumPrices, number>>

const rough = new WeakMap<Pricing, RoughPrices>()

/** The maximum prices as numbers: right to some fifteen digits. */
const roughPrices = (pricing: Pricing): RoughPrices => {
  const known = rough.get(pricing)
  if (known !== undefined) return known
  const { prompt, completion, request, image, webSearch } = maximumPrices(pricing)
  const numbers = {
    prompt: Number(prompt),
    completion: Number(completion),
    request: Number(request),
    image: Number(image),
    webSearch: Number(webSearch),
  }
  rough.set(pricing, numbers)
  return numbers
}

/**
 * The most that a request can use, in tokens and searches: what its reservation pays for, or would pay for if its key had a
 * limit. `outputTokens`: `ReservationSize.outputTokens`.
 */
export const mostUsage = (
  { bounds, maxTokens, sentBytes }: Pick<ReservationBasis, "bounds" | "maxTokens" | "sentBytes">,
  outputTokens: number,
  host: Host,
): Usage => {
  const output = Math.min(maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens) * bounds.choices
  return {
    ...noUsage,
    promptTokens: mostPromptTokens(bounds, sentBytes, host),
    completionTokens: (Number.isFinite(outputTokens) ? outputTokens : output) + mostRejected(bounds, host),
    webSearches: host.pricing === null || host.pricing.webSearch === 0n ? 0 : bounds.searches,
  }
}

/**
 * How many tokens of an answer may be made and not sent: reasoning that its host keeps to itself. 0: all of it is seen.
 * Everything of a whole answer is unseen until it is there. `dropped`: members of the request that the host does not get. One that
 * cannot be told to stop reasoning reasons all the same. A caller's number of tokens is a wish, which most hosts get as an effort.
 */
export const mostHiddenTokens = (
  { reasoning }: Pick<ChatRequest, "reasoning">,
  host: Host,
  dropped: ReadonlyArray<string> = [],
): number => {
  if (!supports(hostFacts(host), "reasoning")) return 0
  const { enabled, effort } = reasoning
  const isOff = enabled === false || effort === "none"
  return isOff && !dropped.some(isWish) ? 0 : Number.POSITIVE_INFINITY
}

const isWish = (name: string): boolean => name === "reasoning" || name === "reasoning_effort"

/** Tokens that a message's frame may take beyond its text. */
const tokensPerMessage = 16

/** An upper bound for the text tokens of a body of `bytes`: a token is at least one byte. Media is not text. */
const mostTextTokens = ({ mediaBytes, messages }: Bounds, bytes: number): number =>
  Math.max(0, bytes - mediaBytes) + tokensPerMessage * messages

/**
 * An upper bound for the prompt's tokens. Media counts with the host's whole context length, since its tokens do not
 * follow from its bytes; so does what the host finds and reads by itself.
 */
const mostPromptTokens = (bounds: Bounds, bytes: number, host: Host): number => {
  const text = mostTextTokens(bounds, bytes) + (bounds.repeatedBytes ?? 0)
  if (bounds.mediaParts === 0) return bounds.unseen === true ? text + host.contextLength : text
  // Of texts that are read one by one each has a context of its own.
  return text + host.contextLength * (bounds.longestBytes === undefined ? 1 : bounds.mediaParts)
}

/** The least that has to be reserved for the request at this host. `undefined`: its price is unknown. */
export const requiredAmount = (
  { bounds, maxTokens, sentBytes }: ReservationBasis,
  host: Host,
): Picodollars | undefined => {
  if (host.pricing === null) return undefined
  const price = maximumPrices(host.pricing)
  const output = BigInt(Math.min(maxTokens ?? Number(fewestTokens), host.maxCompletionTokens) * bounds.choices)
  return mostBesideOutput(price, bounds, sentBytes, host) + output * price.completion
}

/** The failure for a request that the budget does not cover. `required`: `requiredAmount`. */
export const paymentRequired = (
  budget: BudgetSnapshot,
  reason: BudgetRefusal,
  required?: Picodollars | undefined,
): PaymentRequired =>
  new PaymentRequired({
    reason,
    limitSource: budget.source,
    limit: budget.limit ?? 0n,
    spend: budget.spend,
    reserved: budget.reserved,
    required,
    resetsAt: budget.resetsAt,
    ...(reason === "in_flight_budget_exhausted" ? { retryAfterSeconds: 1 } : {}),
  })
