import * as Schema from "effect/Schema"
import {
  costOf,
  defineStrategy,
  discountsCacheReads,
  formatUsd,
  type Host,
  healthClass,
  noUsage,
  type RankContext,
  rankBy,
  tokensIn,
  unknownConversation,
} from "headgate/plugin"

const seconds = Schema.Number.pipe(Schema.positive(), Schema.finite())

const config = Schema.Struct({
  /** How long a host's cache keeps a prompt that nobody reads, in seconds. Default 300. */
  cache_lifetime_s: Schema.optionalWith(seconds, { default: () => 300 }),
  /** The same for single providers, by their slug in the configuration. Default: none. */
  provider_cache_lifetime_s: Schema.optionalWith(Schema.Record({ key: Schema.String, value: seconds }), {
    default: () => ({}),
  }),
  /** Tokens of a usual answer; fewer are expected where the request or the host has a lower bound. Default 500. */
  expected_output_tokens: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 500 }),
})
type Settings = typeof config.Type

/** Shorter prompts are not cached by most hosts. */
const fewestTokens = 1024

/** The pause before the next turn where none was seen yet. */
const usualPauseMs = 60_000

/** The chance that a cache still has what was read so long ago: 0.37 at its lifetime, 0.14 at twice that. */
const chanceAfter = (agoMs: number, host: Host, settings: Settings): number => {
  const lifetimes = settings.provider_cache_lifetime_s
  const own = Object.hasOwn(lifetimes, host.provider) ? lifetimes[host.provider] : undefined
  return Math.exp(-agoMs / 1000 / (own ?? settings.cache_lifetime_s))
}

interface Expectation {
  readonly promptTokens: number
  /** Tokens of the prompt that the host has probably cached; 0 where it served no beginning of it. */
  readonly warmTokens: number
  readonly agoMs: number | null
  /** That they are still in its cache. */
  readonly chance: number
  /** Picodollars for this turn; infinite where the price is unknown. */
  readonly thisTurn: number
  /** The same with the further turns that are expected. */
  readonly conversation: number
}

/** What the host read of this prompt, if it has a cheaper price for that. */
const warmthOf = (host: Host, { conversation }: RankContext) => {
  const warmth = discountsCacheReads(host.pricing) ? conversation.warm(host) : undefined
  return warmth !== undefined && warmth.tokens >= fewestTokens ? warmth : undefined
}

const expectationOf = (host: Host, context: RankContext, settings: Settings): Expectation => {
  const { bounds } = context.request
  const { pricing } = host
  const promptTokens = tokensIn(bounds.textBytes)
  const outputBound = Math.min(bounds.maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens)
  const completionTokens = Math.min(settings.expected_output_tokens, outputBound) * bounds.choices
  const warmth = warmthOf(host, context)
  const warmTokens = Math.min(warmth?.tokens ?? 0, promptTokens)
  const chance = warmth === undefined ? 0 : chanceAfter(warmth.agoMs, host, settings)
  const unpriced = { promptTokens, warmTokens, agoMs: warmth?.agoMs ?? null, chance }
  if (pricing === null) return { ...unpriced, thisTurn: Infinity, conversation: Infinity }

  // What is not read from the cache is written to it. Where that has no price, it is charged like the rest of the prompt.
  const costWith = (cachedTokens: number): number => {
    const cacheWriteTokens = promptTokens - cachedTokens
    const usage = { ...noUsage, promptTokens, completionTokens, cachedTokens, cacheWriteTokens }
    return Number(costOf(pricing, usage, context.now, bounds.images).total)
  }
  const cold = costWith(0)
  const mean = (chance: number, cached: number): number =>
    chance === 0 || cached === 0 ? cold : chance * costWith(cached) + (1 - chance) * cold
  const thisTurn = mean(chance, warmTokens)
  const { turns, tokens, pauseMs } = furtherIn(context)
  const caches = warmth !== undefined || (tokens >= fewestTokens && cachesByItself(host))
  const further = mean(caches ? chanceAfter(pauseMs, host, settings) : 0, tokens)
  return { ...unpriced, thisTurn, conversation: thisTurn + turns * further }
}

/** A host that charges for writing usually caches only what the caller marked. */
const cachesByItself = ({ pricing, supportsImplicitCaching }: Host): boolean =>
  discountsCacheReads(pricing) && (supportsImplicitCaching || pricing?.inputCacheWrite === null)

const usd = (picodollars: number): string | null =>
  Number.isFinite(picodollars) ? formatUsd(BigInt(Math.round(picodollars))) : null

interface FurtherTurns {
  readonly turns: number
  /** Tokens of their prompts that this prompt already has. */
  readonly tokens: number
  /** Before each of them. */
  readonly pauseMs: number
}

/**
 * The turns that are expected after this one: half as many as there were (a turn is a message and its answer), with pauses
 * like the last one. A first turn that begins like an earlier prompt is expected once more. Conversations often last longer, but the price
 * of moving to another host is certain, and what it saves is not.
 */
const furtherIn = ({ request, conversation }: RankContext): FurtherTurns => {
  const { messages, textBytes } = request.bounds
  const last = conversation.last()
  const pauseMs = last?.agoMs ?? usualPauseMs
  const turns = Math.floor((messages - 1) / 2) / 2
  if (turns > 0 || last === undefined) return { turns, tokens: tokensIn(textBytes), pauseMs }
  return { turns: 1, tokens: last.tokens, pauseMs }
}

/**
 * The host first where the conversation is expected to cost least: the prompt at the cache-read price, weighted by the
 * chance that the host's cache still has it, and at the full price (or the cache-write price) otherwise; the output; and
 * the turns that are likely to follow. Failing hosts come last. See docs/strategies.md.
 */
export default defineStrategy({
  id: "cheapest-warm",
  config,
  load: (settings) => (candidates, given) => {
    // Without a cache to look for, the prompt need not be hashed.
    const isCached = candidates.some(({ host }) => discountsCacheReads(host.pricing))
    const context = isCached ? given : { ...given, conversation: unknownConversation }
    return rankBy(
      candidates,
      ({ stats }) => healthClass(stats),
      ({ host }) => expectationOf(host, context, settings).conversation,
    )
  },
  why: ({ host }, context, settings) => {
    const { promptTokens, warmTokens, agoMs, chance, thisTurn, conversation } = expectationOf(host, context, settings)
    return {
      prompt_tokens: promptTokens,
      warm_tokens: warmTokens,
      served_s_ago: agoMs === null ? null : agoMs / 1000,
      cache_chance: Number(chance.toPrecision(4)),
      further_turns: furtherIn(context).turns,
      turn_usd: usd(thisTurn),
      conversation_usd: usd(conversation),
    }
  },
})
