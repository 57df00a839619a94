import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { type Candidate, costOf, noUsage, type RankContext, type ServedPrompt } from "headgate/plugin"
import { strategyChecks } from "headgate/testing"
import { candidatesAt, contextWith } from "../../../test/support/hosts/candidates.ts"
import cheapestWarm from "./index.ts"

describe("conformance", () => {
  for (const check of strategyChecks({ plugin: cheapestWarm })) test(check.name, check.run)
  const config = { cache_lifetime_s: 60, provider_cache_lifetime_s: { acme: 3600 }, expected_output_tokens: 0 }
  for (const check of strategyChecks({ plugin: cheapestWarm, config })) test(`configured: ${check.name}`, check.run)
})

test.each([
  { cache_lifetime_s: 0 },
  { cache_lifetime_s: "300" },
  { provider_cache_lifetime_s: { acme: -1 } },
  { expected_output_tokens: 0.5 },
  { lifetime: 1 },
])("does not accept %j", (config) => {
  expect(Either.isLeft(cheapestWarm.load(config))).toBe(true)
})

interface Sold {
  readonly prompt: bigint
  readonly completion?: bigint
  readonly read?: bigint
  readonly write?: bigint
  /** Seconds since it served this prompt. */
  readonly ago?: number
  readonly failing?: boolean
}

/** Hosts at these prices (picodollars per token), in the order given. */
const sold = (hosts: Readonly<Record<string, Sold>>): ReadonlyArray<Candidate> =>
  Object.entries(hosts).flatMap(([tag, { prompt, completion = 0n, read, write, failing = false }]) =>
    candidatesAt({ [tag]: [prompt, completion] }).map(({ host, stats }) => ({
      host: {
        ...host,
        provider: tag,
        pricing: host.pricing && { ...host.pricing, inputCacheRead: read ?? null, inputCacheWrite: write ?? null },
      },
      stats: { ...stats, failing },
    })),
  )

interface Prompt {
  readonly tokens?: number
  readonly warmTokens?: number
  readonly messages?: number
  readonly maxTokens?: number
}

const contextFor = (
  hosts: Readonly<Record<string, Sold>>,
  { tokens = 10_000, warmTokens = tokens, messages = 2, maxTokens }: Prompt = {},
): RankContext => {
  const context = contextWith(Math.random)
  const bounds = { ...context.request.bounds, textBytes: tokens * 4, messages, maxTokens }
  const served = (ago: number): ServedPrompt => ({ tokens: warmTokens, agoMs: ago * 1000 })
  const agos = Object.values(hosts).flatMap(({ ago }) => ago ?? [])
  return {
    ...context,
    request: { ...context.request, bounds },
    conversation: {
      warm: ({ tag }) => {
        const ago = hosts[tag]?.ago
        return ago === undefined ? undefined : served(ago)
      },
      last: () => (agos.length === 0 ? undefined : served(Math.min(...agos))),
    },
  }
}

const order = (hosts: Readonly<Record<string, Sold>>, prompt: Prompt = {}, config: unknown = {}) =>
  Either.getOrThrow(cheapestWarm.load(config))(sold(hosts), contextFor(hosts, prompt)).map(({ host }) =>
    String(host.tag),
  )

const cached = { prompt: 1000n, read: 100n }

describe("the order", () => {
  test("of a first turn is that of the full prices", () => {
    expect(order({ C: { ...cached, prompt: 1002n }, A: { ...cached, prompt: 1000n }, B: { prompt: 1001n } })).toEqual([
      ...["A", "B", "C"],
    ])
  })

  test("prefers a dearer host whose cache has the prompt, as long as that is likely", () => {
    const hosts = (ago: number) => ({ cheap: { prompt: 800n }, warm: { ...cached, ago } })
    expect(order(hosts(10))).toEqual(["warm", "cheap"])
    expect(order(hosts(3600))).toEqual(["cheap", "warm"])
  })

  test("knows a cache by its configured lifetime", () => {
    const hosts = { cheap: { prompt: 800n }, warm: { ...cached, ago: 900 } }
    expect(order(hosts)).toEqual(["cheap", "warm"])
    expect(order(hosts, {}, { cache_lifetime_s: 3600 })).toEqual(["warm", "cheap"])
    expect(order(hosts, {}, { provider_cache_lifetime_s: { warm: 3600 } })).toEqual(["warm", "cheap"])
    expect(order(hosts, {}, { provider_cache_lifetime_s: { cheap: 3600 } })).toEqual(["cheap", "warm"])
    expect(order(hosts, {}, { cache_lifetime_s: 3600, provider_cache_lifetime_s: { warm: 60 } })).toEqual([
      ...["cheap", "warm"],
    ])
  })

  test("takes a host without a cheaper price for cached tokens as having no cache", () => {
    expect(order({ cheap: { prompt: 999n }, warm: { prompt: 1000n, read: 1000n, ago: 1 } })).toEqual(["cheap", "warm"])
  })

  test("does not look at the prompt where no host has a cheaper price for cached tokens", () => {
    const hosts = { dear: { prompt: 1001n }, cheap: { prompt: 1000n } }
    const unread = (): never => {
      throw new Error("the prompt was read")
    }
    const context = { ...contextFor(hosts), conversation: { warm: unread, last: unread } }
    const ranking = Either.getOrThrow(cheapestWarm.load({}))(sold(hosts), context)
    expect(ranking.map(({ host }) => String(host.tag))).toEqual(["cheap", "dear"])
  })

  test("ignores beginnings that are too short to be cached", () => {
    const hosts = { cheap: { prompt: 999n }, warm: { ...cached, ago: 1 } }
    expect(order(hosts, { tokens: 2000, warmTokens: 1024 })).toEqual(["warm", "cheap"])
    expect(order(hosts, { tokens: 2000, warmTokens: 1023 })).toEqual(["cheap", "warm"])
  })

  test("counts the charge for writing to a cache", () => {
    expect(order({ writes: { ...cached, write: 1250n }, plain: { prompt: 1200n } })).toEqual(["plain", "writes"])
  })

  test("counts the output, bounded by the request", () => {
    const hosts = { terse: { prompt: 1000n, completion: 90_000n }, chatty: { prompt: 1100n, completion: 10_000n } }
    expect(order(hosts)).toEqual(["chatty", "terse"])
    expect(order(hosts, { maxTokens: 10 })).toEqual(["terse", "chatty"])
    expect(order(hosts, {}, { expected_output_tokens: 0 })).toEqual(["terse", "chatty"])
  })

  test("of a conversation that has lasted prefers a host whose cache will help later", () => {
    const hosts = { cheap: { prompt: 990n }, caches: cached }
    expect(order(hosts)).toEqual(["cheap", "caches"])
    expect(order(hosts, { messages: 9 })).toEqual(["caches", "cheap"])
    expect(order(hosts, { messages: 9, tokens: 500 })).toEqual(["cheap", "caches"])
    // Whether a host that charges for writing caches it depends on marks of the caller.
    expect(order({ ...hosts, caches: { ...cached, write: 1000n } }, { messages: 9 })).toEqual(["cheap", "caches"])
  })

  test("puts failing hosts and unknown prices last", () => {
    const hosts = { failing: { ...cached, ago: 1, failing: true }, dear: { prompt: 9000n } }
    expect(order(hosts)).toEqual(["dear", "failing"])
    const [unknown] = candidatesAt({ unknown: null })
    if (unknown === undefined) throw new Error("no host")
    const rank = Either.getOrThrow(cheapestWarm.load({}))
    expect(rank([unknown, ...sold(hosts)], contextFor(hosts)).map(({ host }) => String(host.tag))).toEqual([
      ...["dear", "unknown", "failing"],
    ])
  })
})

test("its reasons are the numbers that it used", () => {
  const hosts = { warm: { prompt: 1000n, completion: 5000n, read: 100n, ago: 150 } }
  const [candidate] = sold(hosts)
  const why = cheapestWarm.loadWhy === undefined ? undefined : Either.getOrThrow(cheapestWarm.loadWhy({}))
  if (candidate?.host.pricing == null || why === undefined) throw new Error("nothing to explain")
  const { pricing } = candidate.host
  const turn = (cachedTokens: number) => {
    const usage = { ...noUsage, promptTokens: 10_000, completionTokens: 500, cachedTokens }
    return Number(costOf(pricing, usage, 0).total) / 1e12
  }
  const chance = Math.exp(-0.5)
  const expected = chance * turn(8000) + (1 - chance) * turn(0)
  const { turn_usd: cost, conversation_usd: all, ...rest } = why(candidate, contextFor(hosts, { warmTokens: 8000 }))
  expect(rest).toEqual({
    ...{ prompt_tokens: 10_000, warm_tokens: 8000, served_s_ago: 150, cache_chance: 0.6065, further_turns: 1 },
  })
  expect(Number(cost)).toBeCloseTo(expected, 11)
  // The instructions were used before, so they are expected once more.
  expect(Number(all)).toBeCloseTo(2 * expected, 11)
})
