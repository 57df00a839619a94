/** What a ranking gets, for tests of a strategy: hosts with what the test says of them, and a context that is the same in each run. */

import type { Host } from "../domain/hosts/Host.ts"
import { HostTag } from "../domain/ids.ts"
import { parseUsd } from "../domain/price/money.ts"
import { freePricing, type Pricing } from "../domain/price/price.ts"
import { randomSequence } from "../domain/structures/randomSequence.ts"
import {
  type Candidate,
  type HostSnapshot,
  type RankContext,
  unknownCaller,
  unknownConversation,
  unlimitedBudget,
  unseenHost,
} from "../plugin/strategy.ts"
import { host as anyHost, requestOf } from "./samples.ts"

export interface SampleHost {
  /** Its provider is the part before the first slash. */
  readonly tag: string
  /** USD per token, as the configuration has them; `null`: unknown. Default: free. */
  readonly pricing?: { readonly prompt: string; readonly completion: string } | null
  /** What was seen of it. Default: nothing. Every percentile is the median where `latencyAt` and `throughputAt` are not given. */
  readonly stats?: Partial<HostSnapshot>
  /** Other members of the host, such as `tags`. They win over those above. */
  readonly host?: Partial<Host>
}

/** Throws where a price is no amount of USD. */
export const sampleCandidate = ({ tag, pricing, stats, host }: SampleHost): Candidate => {
  const [provider = tag] = tag.split("/", 1)
  const { latencyMs = null, throughput = null } = stats ?? {}
  return {
    host: {
      ...anyHost,
      tag: HostTag.make(tag),
      provider,
      providerName: provider,
      pricing: pricingOf(pricing),
      ...host,
    },
    stats: { ...unseenHost, latencyAt: () => latencyMs, throughputAt: () => throughput, ...stats },
  }
}

const pricingOf = (written: SampleHost["pricing"]): Pricing | null => {
  if (written === null) return null
  if (written === undefined) return freePricing
  return { ...freePricing, prompt: amountOf(written.prompt), completion: amountOf(written.completion) }
}

const amountOf = (text: string): bigint => {
  const amount = parseUsd(text)
  if (amount === undefined) throw new Error(`expected USD per token such as "0.000001", got "${text}"`)
  return amount
}

/** Tokens that `expectedCost` assumes. */
const expected = { prompt: 800n, completion: 512n }

/**
 * The context of a small chat request in January 2027: its caller is unknown, its key has no limit, and the random numbers are those of one
 * seed, the same in each new context. `members` replace these.
 */
export const sampleContext = (members: Partial<RankContext> = {}): RankContext => {
  const { routing, bounds } = requestOf(false)
  return {
    now: 1_800_000_000_000,
    random: randomSequence(1),
    request: { routing, bounds },
    conversation: unknownConversation,
    caller: unknownCaller,
    budget: unlimitedBudget,
    expectedCost: ({ pricing }) =>
      pricing && expected.prompt * pricing.prompt + expected.completion * pricing.completion,
    ...members,
  }
}
