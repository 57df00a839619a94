/** What a request probably costs at a host: an estimate to compare hosts by, not a bound (`reservation.ts`). Pure. */

import type { Host } from "../hosts/Host.ts"
import type { Picodollars } from "../price/money.ts"
import { costOf } from "../price/price.ts"
import { noUsage } from "../price/Usage.ts"
import type { AnyRequest } from "../request/operations.ts"
import { promptTokens } from "./Charge.ts"

/** Output tokens of an answer, for callers and hosts that allow as many. Long answers are rarer than short ones. */
const usualOutputTokens = 512

/**
 * Picodollars at the prices in force at `at` (Unix milliseconds) for a prompt of this size, discounts included: the prompt's
 * text at four bytes per token, none of it cached, its images where they have a price of their own, and for each answer 512
 * output tokens, or as many as caller and host allow where that is less. `null`: the host's price is unknown.
 */
export const expectedCost = (
  { bounds, maxTokens }: Pick<AnyRequest, "bounds" | "maxTokens">,
  host: Host,
  at: number,
): Picodollars | null => {
  if (host.pricing === null) return null
  const output = Math.min(usualOutputTokens, maxTokens ?? usualOutputTokens, host.maxCompletionTokens)
  const usage = {
    ...noUsage,
    promptTokens: promptTokens(bounds),
    completionTokens: output * bounds.choices,
  }
  return costOf(host.pricing, usage, at, bounds.images).total
}
