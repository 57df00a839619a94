/** How much money a request may need at a host, before anything is known of its answer. Pure; G1. */
import * as BigInteger from "effect/BigInt"
import type { ChatRequest } from "./Chat.ts"
import { imagesAsked, searchesAsked } from "./Estimate.ts"
import type { PaymentRequired } from "./Failure.ts"
import type { Host } from "./Host.ts"
import type { Picodollars } from "./Money.ts"
import { maximumPrices } from "./Price.ts"

/** A key's money at this moment. */
export interface Purse {
  /** `null`: no limit. */
  readonly limit: Picodollars | null
  /** Spent in the window that the limit speaks of. */
  readonly spend: Picodollars
  /** Reserved by requests in flight. */
  readonly held: Picodollars
}

export type Refusal = PaymentRequired["reason"]

export interface HoldSize {
  readonly amount: Picodollars
  /** Output tokens that the host is to be limited to; `undefined`: its own maximum will do. */
  readonly outputBound: number | undefined
}

/** Less is no answer: better to refuse. */
const fewestTokens = 16n
/** What an answer usually stays below. */
const usualTokens = 4096n

/**
 * The most that this request can cost at this host, or why the purse does not allow it. A key without a limit holds
 * nothing. Without a `max_tokens` of the caller's the output is bounded by us: by the host's maximum, by what the room
 * pays for, and by 4,096 tokens or an eighth of the room; the host is told so, since an unbounded request would take all
 * the room from those beside it.
 */
export const holdSize = (purse: Purse, request: ChatRequest, host: Host): HoldSize | Refusal => {
  const asked = request.maxTokens === undefined ? undefined : Math.min(request.maxTokens, host.maxCompletionTokens)
  if (purse.limit === null) return { amount: 0n, outputBound: asked }
  if (host.pricing === null) return "unknown_price"
  const left = purse.limit - purse.spend
  if (left <= 0n) return "limit_exhausted"

  const price = maximumPrices(host.pricing)
  const images = price.image === 0n ? 0n : BigInt(imagesAsked(request.body)) * price.image
  const searches = price.webSearch === 0n ? 0n : BigInt(searchesAsked(request.body)) * price.webSearch
  const fixed = BigInt(promptTokens(request, host)) * price.prompt + price.request + images + searches
  const perToken = price.completion * BigInt(request.choices)
  const room = left - purse.held
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

/**
 * A token is at least a byte of the prompt as the host gets it. Written anew it can be longer than it came: 1e20 is
 * written with all its digits. Parts that are no text may take as much as the host has room for.
 */
const promptTokens = ({ promptBound, body, mediaParts }: ChatRequest, host: Host): number => {
  const messages = Array.isArray(body["messages"]) ? body["messages"].length : 0
  const bytes = Math.max(promptBound, Buffer.byteLength(JSON.stringify(body)) + 16 * messages)
  return mediaParts > 0 ? bytes + host.contextLength : bytes
}
