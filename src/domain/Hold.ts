/** How much money a request may need at a host, before anything is known of its answer. Pure. See docs/guarantees.md#g1. */
import * as BigInteger from "effect/BigInt"
import { PaymentRequired } from "./Failure.ts"
import type { Host } from "./Host.ts"
import type { Picodollars } from "./Money.ts"
import { maximumPrices } from "./Price.ts"
import type { Bounds } from "./Request.ts"

/** What an account can still pay at one moment. */
export interface BudgetSnapshot {
  /** `null`: no limit. */
  readonly limit: Picodollars | null
  /** Spent in the window that the limit speaks of. */
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

/** Fewer output tokens are no answer: the request is refused. */
const fewestTokens = 16n
/** Most answers are shorter. */
const usualTokens = 4096n

/**
 * The most that this request can cost at this host, or why the budget does not allow it. A budget without a limit holds
 * nothing. Without a `maxTokens` of the caller's the output is bounded by the host's maximum, by what is left, and by 4,096
 * tokens or an eighth of what is left: an unbounded request must not take everything from those beside it.
 */
export const holdSize = (
  budget: BudgetSnapshot,
  { bounds, maxTokens, sentBytes }: HoldRequest,
  host: Host,
): HoldSize | BudgetRefusal => {
  const asked = maxTokens === undefined ? undefined : Math.min(maxTokens, host.maxCompletionTokens)
  if (budget.limit === null) return { amount: 0n, outputBound: asked }
  if (host.pricing === null) return "unknown_price"
  const left = budget.limit - budget.spend
  if (left <= 0n) return "limit_exhausted"

  const price = maximumPrices(host.pricing)
  const images = price.image === 0n ? 0n : BigInt(bounds.images) * price.image
  const searches = price.webSearch === 0n ? 0n : BigInt(bounds.searches) * price.webSearch
  const prompt = BigInt(mostPromptTokens(bounds, sentBytes, host)) * price.prompt
  const fixed = prompt + price.request + images + searches
  const perToken = price.completion * BigInt(bounds.choices)
  const room = left - budget.held
  const longest = BigInt(host.maxCompletionTokens)
  const affordable = (amount: Picodollars): bigint => {
    if (amount < fixed) return 0n
    return perToken === 0n ? longest : (amount - fixed) / perToken
  }
  const usual = BigInteger.max(usualTokens, affordable(room / 8n))
  const output = asked === undefined ? BigInteger.min(longest, BigInteger.min(affordable(room), usual)) : BigInt(asked)
  const fewest = asked === undefined ? BigInteger.min(fewestTokens, longest) : output
  const amount = fixed + output * perToken
  if (amount > room || output < fewest) {
    return fixed + fewest * perToken <= left ? "in_flight_budget_exhausted" : "request_exceeds_budget"
  }
  return { amount, outputBound: asked ?? (output < longest ? Number(output) : undefined) }
}

/** Tokens that a message's frame may take beyond its text. */
const tokensPerMessage = 16

/** At least as many as the text of a body of `bytes` has tokens: a token is at least a byte. Media is not text. */
export const mostTextTokens = ({ mediaBytes, messages }: Bounds, bytes: number): number =>
  Math.max(0, bytes - mediaBytes) + tokensPerMessage * messages

/** The text, and as many tokens as the host has room for where there is media: its size says nothing of its tokens. */
const mostPromptTokens = (bounds: Bounds, bytes: number, host: Host): number =>
  mostTextTokens(bounds, bytes) + (bounds.mediaParts > 0 ? host.contextLength : 0)

/** The failure that a refused caller is answered with. */
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
