/** Hosts for a strategy to rank. Only their tag, price and recent failures matter. */
import { HostTag } from "../../../src/domain/ids.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { type Candidate, type HostSnapshot, type RankContext, unseenHost } from "../../../src/plugin/strategy.ts"
import { sampleCandidate, sampleContext } from "../../../src/testing/sampleRanking.ts"
import { hostFor, requestWith } from "../recordings/recordings.ts"

/** In the order given. Prices of prompt and completion are picodollars per token; `null`: unknown. */
export const candidatesAt = (
  prices: Readonly<Record<string, readonly [prompt: bigint, completion: bigint] | null>>,
  failing: ReadonlyArray<string> = [],
): ReadonlyArray<Candidate> =>
  Object.entries(prices).map(([tag, price]) => {
    const pricing = price === null ? null : { ...freePricing, prompt: price[0], completion: price[1] }
    return sampleCandidate({
      tag,
      host: { ...hostFor("upstream"), tag: HostTag.make(tag), pricing },
      stats: { failing: failing.includes(tag) },
    })
  })

/** In the order given, with these figures. `price`: picodollars per prompt token; 1 where there is none. */
export const withStats = (
  hosts: Readonly<Record<string, Partial<HostSnapshot> & { readonly price?: bigint }>>,
): ReadonlyArray<Candidate> =>
  Object.entries(hosts).flatMap(([tag, { price = 1n, ...stats }]) =>
    candidatesAt({ [tag]: [price, 0n] }).map(({ host }) => ({ host, stats: { ...unseenHost, ...stats } })),
  )

export const contextWith = (random: () => number): RankContext =>
  sampleContext({
    request: requestWith({ messages: [{ role: "user", content: "x" }] }),
    random,
    expectedCost: () => null,
  })
