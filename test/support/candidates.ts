/** Hosts for a strategy to rank. Only their tag, price and recent failures matter. */
import { HostTag } from "../../src/domain/Ids.ts"
import { freePricing } from "../../src/domain/Price.ts"
import { type Candidate, type RankContext, unseenHost } from "../../src/plugin/Strategy.ts"
import { hostFor, requestWith } from "./recordings.ts"

/** In the order given. Prices of prompt and completion are picodollars per token; `null`: unknown. */
export const candidatesAt = (
  prices: Readonly<Record<string, readonly [prompt: bigint, completion: bigint] | null>>,
  failing: ReadonlyArray<string> = [],
): ReadonlyArray<Candidate> =>
  Object.entries(prices).map(([tag, price]) => ({
    host: {
      ...hostFor("upstream"),
      tag: HostTag.make(tag),
      pricing: price === null ? null : { ...freePricing, prompt: price[0], completion: price[1] },
    },
    stats: { ...unseenHost, failing: failing.includes(tag) },
  }))

export const contextWith = (random: () => number): RankContext => ({
  request: requestWith({ messages: [{ role: "user", content: "x" }] }),
  now: 1_800_000_000_000,
  random,
})
