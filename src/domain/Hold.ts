/** The most that a request can cost at a host, computed before its answer is known. Pure. See docs/guarantees.md#g1. */
import * as BigInteger from "effect/BigInt"
import { PaymentRequired } from "./Failure.ts"
import type { Host } from "./Host.ts"
import type { Picodollars } from "./Money.ts"
import { type MaximumPrices, maximumPrices, type Pricing } from "./Price.ts"
import type { Bounds } from "./Request.ts"

/** What an account can still pay at one moment. */
export interface BudgetSnapshot {
  /** `null`: no limit. */
  readonly limit: Picodollars | null
  /** Spent in the current window of the limit. */
  readonly spend: Picodollars
  /** Reserved by requests in flight. */
  readonly held: Picodollars
  /** Which limit it is, for the caller: `daily`, `weekly`, `monthly` or `total`. */
  readonly source: string
  /** Unix milliseconds; `null`: the limit never resets. */
  readonly resetsAt: number | null
}

/** Why a budget does not allow a request. */
export type BudgetRefusal = PaymentRequired["reason"]

/** What a hold is made for. */
export interface HoldRequest {
  readonly bounds: Bounds
  /** The caller's bound on output tokens. */
  readonly maxTokens: number | undefined
  /** UTF-8 bytes of the body that this host is sent. */
  readonly sentBytes: number
}

export interface HoldSize {
  readonly amount: Picodollars
  /** Output tokens that the host is to be limited to; `undefined`: its own maximum will do. */
  readonly outputBound: number | undefined
}

/** With fewer output tokens affordable the request is refused. */
const fewestTokens = 16n
/** Output tokens to hold at least where the caller gave no bound. Most answers are shorter. */
const usualTokens = 4096n

/**
 * The most that this request can cost at this host, or why the budget does not allow it. Without a limit nothing is
 * held. Where the caller gave no `maxTokens`, the output is bounded by the host's maximum, by what is left, and by the
 * larger of 4,096 tokens and an eighth of what is left. So an unbounded request leaves money for concurrent ones.
 */
export const holdSize = (
  budget: BudgetSnapshot,
  { bounds, maxTokens, sentBytes }: HoldRequest,
  host: Host,
): HoldSize | BudgetRefusal => {
  const asked = maxTokens === undefined ? undefined : Math.min(maxTokens, host.maxCompletionTokens)
  if (budget.limit === null) return { amount: 0n, outputBound: asked }
  if (host.pricing === null && host.unpriced !== "allowed") return "unknown_price"
  const left = budget.limit - budget.spend
  if (left <= 0n) return "limit_exhausted"
  if (host.pricing === null) return { amount: 0n, outputBound: asked }

  const price = maximumPrices(host.pricing)
  const images = price.image === 0n ? 0n : BigInt(bounds.images) * price.image
  const searches = price.webSearch === 0n ? 0n : BigInt(bounds.searches) * price.webSearch
  const prompt = BigInt(mostPromptTokens(bounds, sentBytes, host)) * price.prompt
  const fixed = prompt + price.request + images + searches
  const perToken = price.completion * BigInt(bounds.choices)
  const available = left - budget.held
  const longest = BigInt(host.maxCompletionTokens)
  const affordable = (amount: Picodollars): bigint => {
    if (amount < fixed) return 0n
    return perToken === 0n ? longest : (amount - fixed) / perToken
  }
  const usual = BigInteger.max(usualTokens, affordable(available / 8n))
  const output =
    asked === undefined ? BigInteger.min(longest, BigInteger.min(affordable(available), usual)) : BigInt(asked)
  const fewest = asked === undefined ? BigInteger.min(fewestTokens, longest) : output
  const amount = fixed + output * perToken
  if (amount > available || output < fewest) {
    return fixed + fewest * perToken <= left ? "in_flight_budget_exhausted" : "request_exceeds_budget"
  }
  return { amount, outputBound: asked ?? (output < longest ? Number(output) : undefined) }
}

/**
 * Why the budget does not allow the request at this host; `undefined`: it does. For a plan, which takes no money: where there
 * is far more left than the request can cost, a rough bound in floating point decides.
 */
export const budgetRefusal = (budget: BudgetSnapshot, request: HoldRequest, host: Host): BudgetRefusal | undefined => {
  if (budget.limit === null) return undefined
  if (host.pricing !== null && request.maxTokens !== undefined) {
    const { bounds } = request
    const price = roughPrices(host.pricing)
    const most =
      mostPromptTokens(bounds, request.sentBytes, host) * price.prompt +
      price.request +
      bounds.images * price.image +
      bounds.searches * price.webSearch +
      request.maxTokens * bounds.choices * price.completion
    if (2 * most < Number(budget.limit - budget.spend - budget.held)) return undefined
  }
  const size = holdSize(budget, request, host)
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

/** Tokens that a message's frame may take beyond its text. */
const tokensPerMessage = 16

/** An upper bound for the text tokens of a body of `bytes`: a token is at least one byte. Media is not text. */
export const mostTextTokens = ({ mediaBytes, messages }: Bounds, bytes: number): number =>
  Math.max(0, bytes - mediaBytes) + tokensPerMessage * messages

/**
 * An upper bound for the prompt's tokens. Media counts with the host's whole context length, since its tokens do not
 * follow from its bytes.
 */
const mostPromptTokens = (bounds: Bounds, bytes: number, host: Host): number =>
  mostTextTokens(bounds, bytes) + (bounds.mediaParts > 0 ? host.contextLength : 0)

/** The failure for a request that the budget does not cover. */
export const paymentRequired = (budget: BudgetSnapshot, reason: BudgetRefusal): PaymentRequired =>
  new PaymentRequired({
    reason,
    limitSource: budget.source,
    limit: budget.limit ?? 0n,
    spend: budget.spend,
    held: budget.held,
    resetsAt: budget.resetsAt,
    ...(reason === "in_flight_budget_exhausted" ? { retryAfterSeconds: 1 } : {}),
  })
