import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type LimitReset, nextReset, spentInWindow, windowStart } from "../../../src/domain/keys/limitWindows.ts"
import { divideHalfEven, formatUsd, parseUsd, roundUsd, toUsd } from "../../../src/domain/price/money.ts"
import {
  costOf,
  effectivePrice,
  freePricing,
  maximumPrices,
  type PriceOverride,
  type Prices,
  type Pricing,
  priceNames,
  standIn,
} from "../../../src/domain/price/price.ts"
import { noUsage, parseUsage, type Usage } from "../../../src/domain/price/Usage.ts"

describe("amounts of USD", () => {
  test.each([
    ["0", 0n],
    ["1", 1_000_000_000_000n],
    ["0.000000000001", 1n],
    ["0.0000025", 2_500_000n],
    ["000.5000000000000000", 500_000_000_000n],
    ["1e-12", 1n],
    ["2.5E-6", 2_500_000n],
    ["25e-7", 2_500_000n],
    ["1e+3", 1_000_000_000_000_000n],
    ["10e-13", 1n],
    ["9007199254740993", 9_007_199_254_740_993_000_000_000_000n],
    ["0.0000000000001", undefined],
    ["1e-13", undefined],
    ["-1", undefined],
    ["+1", undefined],
    [".5", undefined],
    ["5.", undefined],
    ["1,5", undefined],
    [" 1", undefined],
    ["1\n", undefined],
    ["$1", undefined],
    ["0x10", undefined],
    ["1e", undefined],
    ["", undefined],
    ["NaN", undefined],
    ["Infinity", undefined],
  ])("%p", (text, expected) => {
    expect(parseUsd(text)).toBe(expected)
  })

  test.each([
    [0.1, 100_000_000_000n],
    [1e-7, 100_000n],
    [0, 0n],
    [-0, 0n],
    [0.1 + 0.2, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
  ])("the number %p", (number, expected) => {
    expect(parseUsd(number)).toBe(expected)
  })

  const amounts = fc.bigInt({ min: 0n, max: 10n ** 30n })

  test("survive a round trip through text exactly", () => {
    fc.assert(fc.property(amounts, (amount) => expect(parseUsd(formatUsd(amount))).toBe(amount)))
  })

  test("have one plain text form; any exponent gives the same amount", () => {
    fc.assert(
      fc.property(amounts, fc.integer({ min: -12, max: 12 }), (amount, shift) => {
        expect(formatUsd(amount)).toMatch(/^(0|[1-9]\d*)(\.\d{0,11}[1-9])?$/)
        expect(parseUsd(`${amount}e${shift - 12}`)).toBe(
          shift >= 0
            ? amount * 10n ** BigInt(shift)
            : amount % 10n ** BigInt(-shift) === 0n
              ? amount / 10n ** BigInt(-shift)
              : undefined,
        )
      }),
    )
  })

  test("are right to the picodollar as numbers below $8,192", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 8_191_999_999_999_999n }), (amount) => {
        expect(parseUsd(toUsd(amount))).toBe(amount)
      }),
    )
  })

  test("may be negative", () => {
    expect(formatUsd(-1_500_000_000_000n)).toBe("-1.5")
    expect(formatUsd(-1n)).toBe("-0.000000000001")
  })

  test.each([
    [5n, 2n, 2n],
    [7n, 2n, 4n],
    [1n, 2n, 0n],
    [3n, 2n, 2n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [0n, 3n, 0n],
    [6n, 3n, 2n],
  ])("%p / %p is %p", (amount, divisor, expected) => {
    expect(divideHalfEven(amount, divisor)).toBe(expected)
  })
})

// Prices to 12 decimals up to $1 per unit, tokens to 2^31.
const price = fc.bigInt({ min: 0n, max: 10n ** 12n })
const orNone = fc.option(price)
const prices: fc.Arbitrary<Prices> = fc.record({
  prompt: price,
  completion: price,
  request: price,
  image: price,
  webSearch: price,
  internalReasoning: fc.oneof(fc.constant(0n), price),
  inputCacheRead: orNone,
  inputCacheReadExplicit: orNone,
  inputCacheWrite: orNone,
  inputCacheWrite1h: orNone,
  imageToken: orNone,
  audio: orNone,
  inputAudioCache: orNone,
  audioOutput: orNone,
  imageOutput: orNone,
})
const count = fc.oneof(fc.integer({ min: 0, max: 2 ** 30 }), fc.integer({ min: 0, max: 2000 }))
const override: fc.Arbitrary<PriceOverride> = fc.record({
  minPromptTokens: count,
  prices: fc.record(
    {
      ...{ prompt: price, completion: price, inputCacheRead: price, inputCacheWrite: price, internalReasoning: price },
      ...{ request: price, image: price, audio: price },
    },
    { requiredKeys: [] },
  ),
})
const pricings: fc.Arbitrary<Pricing> = fc
  .tuple(prices, fc.bigInt({ min: 0n, max: 1_000_000n }), fc.array(override, { maxLength: 4 }))
  .map(([base, discountPpm, overrides]) => ({ ...base, discountPpm, overrides }))
const usages: fc.Arbitrary<Usage> = fc
  .record({
    prompt: count,
    output: count,
    cached: count,
    explicit: count,
    written: count,
    hour: count,
    audio: count,
    cachedAudio: count,
    imageIn: count,
    reasoning: count,
    image: count,
    spoken: count,
    searches: fc.nat(9),
  })
  .map((n) => {
    const usage = parseUsage({
      prompt_tokens: n.prompt,
      completion_tokens: n.output,
      prompt_tokens_details: {
        cached_tokens: n.cached,
        cached_explicit_tokens: n.explicit,
        cache_write_tokens: n.written,
        cache_write_1h_tokens: n.hour,
        audio_tokens: n.audio,
        cached_audio_tokens: n.cachedAudio,
        image_tokens: n.imageIn,
      },
      completion_tokens_details: { reasoning_tokens: n.reasoning, image_tokens: n.image, audio_tokens: n.spoken },
      server_tool_use_details: { web_search_requests: n.searches },
    })
    if (usage === undefined) throw new Error("counts in range are a usage")
    return usage
  })

interface Bill {
  readonly prompt: bigint
  readonly completion: bigint
  readonly total: bigint
}

/** The cost and its parts as fractions over 10^6, summed over the kinds of tokens. */
const model = (pricing: Pricing, usage: Usage, images: number): Bill => {
  const member = <K extends keyof Prices>(name: K): Prices[K] => {
    const last = pricing.overrides.findLast(
      (entry) => usage.promptTokens >= entry.minPromptTokens && entry.prices[name] !== undefined,
    )
    // Members that are present are not undefined.
    return (last?.prices[name] ?? pricing[name]) as Prices[K]
  }
  let bill = 0n
  const charge = (tokens: number, each: bigint) => {
    bill += BigInt(tokens) * each * (1_000_000n - pricing.discountPpm)
    return tokens
  }
  let input = usage.promptTokens
  const read = member("inputCacheRead") ?? member("prompt")
  input -= charge(usage.cachedAudioTokens, member("inputAudioCache") ?? read)
  const explicit = Math.min(usage.cachedExplicitTokens, usage.cachedTokens - usage.cachedAudioTokens)
  input -= charge(explicit, member("inputCacheReadExplicit") ?? read)
  input -= charge(usage.cachedTokens - usage.cachedAudioTokens - explicit, read)
  const write = member("inputCacheWrite") ?? member("prompt")
  input -= charge(usage.cacheWrite1hTokens, member("inputCacheWrite1h") ?? write)
  input -= charge(usage.cacheWriteTokens - usage.cacheWrite1hTokens, write)
  const audio = member("audio")
  if (audio !== null) input -= charge(Math.min(input, usage.promptAudioTokens - usage.cachedAudioTokens), audio)
  const seen = member("imageToken")
  if (seen !== null) input -= charge(Math.min(input, usage.promptImageTokens), seen)
  charge(input, member("prompt"))
  const prompt = bill
  let output = usage.completionTokens
  const reasoning = member("internalReasoning")
  if (reasoning > 0n) output -= charge(Math.min(output, usage.reasoningTokens), reasoning)
  const spoken = member("audioOutput")
  if (spoken !== null) output -= charge(Math.min(output, usage.completionAudioTokens), spoken)
  const image = member("imageOutput")
  if (image !== null) output -= charge(Math.min(output, usage.completionImageTokens), image)
  charge(output, member("completion"))
  const completion = bill - prompt
  charge(1, member("request"))
  charge(usage.webSearches, member("webSearch"))
  charge(images, member("image"))
  return { prompt, completion, total: bill }
}

/** Distance of picodollars from a fraction over 10^6. */
const distance = (amount: bigint, exact: bigint): bigint => {
  const off = amount * 1_000_000n - exact
  return off < 0n ? -off : off
}

describe("amounts of USD that a client computed in floats", () => {
  test.each([
    [3 * 0.0015, 4_500_000_000n],
    [0.1 + 0.2, 300_000_000_000n],
    [4.35 * 100, 435_000_000_000_000n],
    [1e-12, 1n],
    [4e-13, 0n],
    [-0, 0n],
    [-0.1, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
  ])("%p is the nearest picodollar; as text it is as strict as ever", (usd, expected) => {
    expect(roundUsd(usd)).toBe(expected)
    expect(parseUsd("0.0045000000000000005")).toBeUndefined()
  })

  test("sums and multiples of whole microdollars come out exact, below $1,000", () => {
    const micros = fc.integer({ min: 0, max: 1_000_000 })
    fc.assert(
      fc.property(micros, fc.integer({ min: 0, max: 500 }), micros, (price, count, more) => {
        const computed = count * (price / 1e6) + more / 1e6
        expect(roundUsd(computed)).toBe(BigInt(count * price + more) * 1_000_000n)
      }),
      { numRuns: 2000 },
    )
  })
})

describe("the cost of a usage", () => {
  test("is the nearest picodollar to the exact fraction, for any prices, parts, tiers and discount", () => {
    fc.assert(
      fc.property(pricings, usages, fc.nat(9), (pricing, usage, images) => {
        const exact = model(pricing, usage, images).total
        const { total } = costOf(pricing, usage, 0, images)
        expect(distance(total, exact) <= 500_000n).toBe(true)
        if (distance(total, exact) === 500_000n) expect(total % 2n).toBe(0n)
        if (pricing.discountPpm === 0n) expect(total * 1_000_000n).toBe(exact)
      }),
      { numRuns: 500 },
    )
  })

  test("is the sum of its parts, each at most a picodollar off its own fraction", () => {
    fc.assert(
      fc.property(pricings, usages, fc.nat(9), (pricing, usage, images) => {
        const exact = model(pricing, usage, images)
        const { total, prompt, completion } = costOf(pricing, usage, 0, images)
        const rest = total - prompt - completion
        expect(prompt >= 0n && completion >= 0n && rest >= 0n).toBe(true)
        expect(distance(prompt, exact.prompt) <= 500_000n).toBe(true)
        expect(distance(completion, exact.completion) <= 1_000_000n).toBe(true)
        const exactRest = exact.total - exact.prompt - exact.completion
        expect(distance(rest, exactRest) <= 1_000_000n).toBe(true)
        if (exactRest === 0n) expect(prompt + completion).toBe(total)
      }),
      { numRuns: 500 },
    )
  })

  test("is never above what the maximum prices bound", () => {
    fc.assert(
      fc.property(pricings, usages, fc.nat(9), (pricing, usage, images) => {
        const most = maximumPrices(pricing)
        const bound =
          BigInt(usage.promptTokens) * most.prompt +
          BigInt(usage.completionTokens) * most.completion +
          most.request +
          BigInt(images) * most.image +
          BigInt(usage.webSearches) * pricing.webSearch
        expect(costOf(pricing, usage, 0, images).total <= bound).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test("is the same whether a price is left out or the one that stands in for it is given", () => {
    fc.assert(
      fc.property(pricings, usages, fc.constantFrom(...priceNames), ({ overrides: _, ...given }, usage, name) => {
        // Overlapping counts are clamped in a fixed order, so a separate price for one kind takes tokens from another.
        const kinds = usage.reasoningTokens + usage.completionAudioTokens + usage.completionImageTokens
        const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens
        const seenOrHeard = usage.promptAudioTokens - usage.cachedAudioTokens + usage.promptImageTokens
        fc.pre(standIn(name) !== undefined && kinds <= usage.completionTokens && seenOrHeard <= fresh)
        const without: Pricing = { ...given, [name]: null, overrides: [] }
        const explicit: Pricing = { ...without, [name]: effectivePrice(without, name) }
        expect(costOf(explicit, usage, 0)).toEqual(costOf(without, usage, 0))
      }),
      { numRuns: 300 },
    )
  })

  const plain: Pricing = { ...freePricing, prompt: 2_500_000n, completion: 10_000_000n }
  const usage: Usage = { ...noUsage, promptTokens: 1000, completionTokens: 100 }

  test.each<[string, Partial<Pricing>, Partial<Usage>, bigint]>([
    ["plain", {}, {}, 3_500_000_000n],
    ["cached reads at their own price", { inputCacheRead: 250_000n }, { cachedTokens: 900 }, 1_475_000_000n],
    ["cached reads at the prompt's", {}, { cachedTokens: 900 }, 3_500_000_000n],
    ["a cached read that is free", { inputCacheRead: 0n }, { cachedTokens: 900 }, 1_250_000_000n],
    [
      "writes for an hour at the price of writes",
      { inputCacheWrite: 3_000_000n },
      { cacheWriteTokens: 500, cacheWrite1hTokens: 500 },
      3_750_000_000n,
    ],
    [
      "cached audio at its own price, and the rest of the audio at that of audio",
      { audio: 5_000_000n, inputAudioCache: 1_000_000n, inputCacheRead: 500_000n },
      { cachedTokens: 400, promptAudioTokens: 300, cachedAudioTokens: 100 },
      3_250_000_000n,
    ],
    [
      "cached audio at the price of cached text",
      { inputCacheRead: 500_000n },
      { cachedTokens: 400, promptAudioTokens: 300, cachedAudioTokens: 100 },
      2_700_000_000n,
    ],
    ["image tokens at their own price", { imageToken: 1_000_000n }, { promptImageTokens: 600 }, 2_600_000_000n],
    ["reasoning at the output's price", {}, { reasoningTokens: 100 }, 3_500_000_000n],
    ["reasoning at its own", { internalReasoning: 20_000_000n }, { reasoningTokens: 100 }, 4_500_000_000n],
    [
      "a tier that is just reached",
      { overrides: [{ minPromptTokens: 1000, prices: { prompt: 5_000_000n } }] },
      {},
      6_000_000_000n,
    ],
    [
      "a tier that is just missed",
      { overrides: [{ minPromptTokens: 1001, prices: { prompt: 5_000_000n } }] },
      {},
      3_500_000_000n,
    ],
    ["a quarter off", { discountPpm: 250_000n }, {}, 2_625_000_000n],
    ["all off", { discountPpm: 1_000_000n }, {}, 0n],
    ["a request and searches", { request: 7n, webSearch: 11n }, { webSearches: 3 }, 3_500_000_040n],
    ["2^31 tokens at $600 a million", { prompt: 600_000_000n }, { promptTokens: 2 ** 31 }, 1_288_490_189_800_000_000n],
  ])("%s", (_name, priced, used, expected) => {
    expect(costOf({ ...plain, ...priced }, { ...usage, ...used }, 0).total).toBe(expected)
  })

  const at = (text: string) => Date.parse(text)
  const night = { minPromptTokens: 0, utcStart: 2200, utcEnd: 600, prices: { prompt: 0n, completion: 0n } }
  const weekend = { minPromptTokens: 0, utcDays: ["saturday", "sunday"], prices: { prompt: 0n, completion: 0n } }

  test.each<[string, PriceOverride, string, boolean]>([
    ["before a window over midnight", night, "2026-03-01T21:59:59.999Z", false],
    ["at its start", night, "2026-03-01T22:00:00Z", true],
    ["after midnight", night, "2026-03-02T00:00:00Z", true],
    ["before its end", night, "2026-03-02T05:59:59.999Z", true],
    ["at its end", night, "2026-03-02T06:00:00Z", false],
    ["on Friday", weekend, "2026-03-06T23:59:59.999Z", false],
    ["on Saturday", weekend, "2026-03-07T00:00:00Z", true],
    ["on Sunday", weekend, "2026-03-08T23:59:59.999Z", true],
    ["on Monday", weekend, "2026-03-09T00:00:00Z", false],
    ["when only one condition holds", { ...weekend, utcEnd: 1200 }, "2026-03-07T12:00:00Z", false],
    ["when both hold", { ...weekend, utcEnd: 1200 }, "2026-03-07T11:59:00Z", true],
    ["the day before an announced price", { ...weekend, starts: "2026-03-08" }, "2026-03-07T23:59:59.999Z", false],
    ["on the day of an announced price", { ...weekend, starts: "2026-03-08" }, "2026-03-08T00:00:00Z", true],
    [
      "later, when another condition does not hold",
      { ...weekend, starts: "2026-03-08" },
      "2026-03-09T00:00:00Z",
      false,
    ],
  ])("by the clock: %s", (_name, entry, when, free) => {
    expect(costOf({ ...plain, overrides: [entry] }, usage, at(when)).total).toBe(free ? 0n : 3_500_000_000n)
  })

  test("the maximum price of a token is searched in every tier and kind", () => {
    expect(maximumPrices({ ...freePricing, overrides: [night], prompt: 3n, audio: 5n })).toEqual({
      prompt: 5n,
      completion: 0n,
      request: 0n,
      image: 0n,
      webSearch: 0n,
    })
  })
})

describe("a host's usage", () => {
  const oddCount = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.constantFrom(2 ** 31, 2 ** 31 + 1, -1, -0, 1e300, "7", null, undefined, true, [1], {}),
    fc.integer({ min: 0, max: 3000 }),
  )
  const oddDetails = fc.oneof(
    fc.anything(),
    fc.dictionary(
      fc.constantFrom(
        "cached_tokens",
        "cache_write_tokens",
        "cache_write_1h_tokens",
        "cached_audio_tokens",
        "audio_tokens",
        "video_tokens",
        "reasoning_tokens",
        "image_tokens",
        "web_search_requests",
      ),
      oddCount,
    ),
  )
  const odd = fc.oneof(
    fc.anything(),
    fc.record(
      {
        prompt_tokens: oddCount,
        completion_tokens: oddCount,
        prompt_tokens_details: oddDetails,
        completion_tokens_details: oddDetails,
        server_tool_use_details: oddDetails,
      },
      { requiredKeys: [] },
    ),
  )

  test("is counts between 0 and 2^31 whose parts fit into their totals, or nothing", () => {
    fc.assert(
      fc.property(odd, (raw) => {
        const usage = parseUsage(raw)
        if (usage === undefined) return
        for (const value of Object.values(usage))
          expect(Number.isInteger(value) && value >= 0 && value <= 2 ** 31).toBe(true)
        expect(usage.cachedTokens + usage.cacheWriteTokens).toBeLessThanOrEqual(usage.promptTokens)
        expect(usage.cacheWrite1hTokens).toBeLessThanOrEqual(usage.cacheWriteTokens)
        expect(usage.cachedAudioTokens).toBeLessThanOrEqual(Math.min(usage.cachedTokens, usage.promptAudioTokens))
        expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.completionTokens)
      }),
      { numRuns: 2000 },
    )
  })

  test.each<[string, unknown, Usage | undefined]>([
    ["none", undefined, undefined],
    ["a list", [], undefined],
    ["no totals", {}, undefined],
    ["a prompt alone", { prompt_tokens: 7 }, undefined],
    ["explicit zeros", { prompt_tokens: 0, completion_tokens: 0 }, noUsage],
    ["a negative count", { prompt_tokens: -1, completion_tokens: 0 }, undefined],
    ["a fraction", { prompt_tokens: 1, completion_tokens: 0.5 }, undefined],
    ["text", { prompt_tokens: "1", completion_tokens: 1 }, undefined],
    ["null", { prompt_tokens: 1, completion_tokens: null }, undefined],
    [
      "2^31",
      { prompt_tokens: 2 ** 31 - 1, completion_tokens: 1 },
      { ...noUsage, promptTokens: 2 ** 31 - 1, completionTokens: 1 },
    ],
    ["more than 2^31", { prompt_tokens: 2 ** 31 + 1, completion_tokens: 0 }, undefined],
    ["more than 2^31 together", { prompt_tokens: 2 ** 31, completion_tokens: 1 }, undefined],
    [
      "parts above their total: cached first, then writes",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 9 },
      },
      { ...noUsage, promptTokens: 10, completionTokens: 5, cachedTokens: 8, cacheWriteTokens: 2, reasoningTokens: 5 },
    ],
    [
      "parts that are no counts",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: -8, audio_tokens: "2" },
        completion_tokens_details: [],
      },
      { ...noUsage, promptTokens: 10, completionTokens: 5 },
    ],
  ])("%s", (_name, raw, expected) => {
    expect(parseUsage(raw)).toEqual(expected)
  })
})

describe("windows of a limit", () => {
  test.each<[LimitReset, string, string, string]>([
    ["daily", "2026-03-15T12:34:56.789Z", "2026-03-15", "2026-03-16"],
    ["daily", "2026-03-15T00:00:00Z", "2026-03-15", "2026-03-16"],
    ["daily", "2026-03-14T23:59:59.999Z", "2026-03-14", "2026-03-15"],
    ["daily", "2024-02-28T23:59:59.999Z", "2024-02-28", "2024-02-29"],
    ["daily", "2024-02-29T00:00:00Z", "2024-02-29", "2024-03-01"],
    ["daily", "2025-12-31T23:00:00Z", "2025-12-31", "2026-01-01"],
    ["weekly", "2026-03-16T00:00:00Z", "2026-03-16", "2026-03-23"], // a Monday
    ["weekly", "2026-03-15T23:59:59.999Z", "2026-03-09", "2026-03-16"], // the Sunday before
    ["weekly", "2026-03-18T10:00:00Z", "2026-03-16", "2026-03-23"],
    ["weekly", "2024-02-29T10:00:00Z", "2024-02-26", "2024-03-04"], // a leap day
    ["weekly", "2021-01-03T23:59:59.999Z", "2020-12-28", "2021-01-04"], // ISO week 53 of 2020
    ["weekly", "2020-12-28T00:00:00Z", "2020-12-28", "2021-01-04"],
    ["weekly", "2027-01-01T00:00:00Z", "2026-12-28", "2027-01-04"], // ISO week 53 of 2026
    ["weekly", "1970-01-05T00:00:00Z", "1970-01-05", "1970-01-12"],
    ["monthly", "2026-03-01T00:00:00Z", "2026-03-01", "2026-04-01"],
    ["monthly", "2026-03-31T23:59:59.999Z", "2026-03-01", "2026-04-01"],
    ["monthly", "2026-04-30T23:59:59.999Z", "2026-04-01", "2026-05-01"],
    ["monthly", "2024-02-29T23:59:59.999Z", "2024-02-01", "2024-03-01"],
    ["monthly", "2025-02-28T23:59:59.999Z", "2025-02-01", "2025-03-01"],
    ["monthly", "2100-02-28T12:00:00Z", "2100-02-01", "2100-03-01"],
    ["monthly", "2025-12-31T23:59:59.999Z", "2025-12-01", "2026-01-01"],
  ])("%s at %s", (reset, now, start, next) => {
    expect(windowStart(reset, Date.parse(now))).toBe(Date.parse(start))
    expect(nextReset(reset, Date.parse(now))).toBe(Date.parse(next))
  })

  test("follow each other without gap or overlap, at midnight, on Mondays and on firsts", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<LimitReset>("daily", "weekly", "monthly"),
        fc.integer({ min: 4 * 86_400_000, max: 4_102_444_800_000 }),
        (reset, now) => {
          const start = windowStart(reset, now)
          const next = nextReset(reset, now) ?? 0
          expect(start <= now && now < next).toBe(true)
          expect(windowStart(reset, next)).toBe(next)
          expect(windowStart(reset, next - 1)).toBe(start)
          expect(new Date(start).toISOString()).toEndWith("T00:00:00.000Z")
          if (reset === "weekly") expect(new Date(start).getUTCDay()).toBe(1)
          if (reset === "monthly") expect(new Date(start).getUTCDate()).toBe(1)
        },
      ),
    )
  })

  test("a limit that never resets counts everything", () => {
    const spend = { total: 4n, daily: 1n, weekly: 2n, monthly: 3n }
    expect(nextReset(null, 0)).toBeNull()
    expect(([null, "daily", "weekly", "monthly"] as const).map((reset) => spentInWindow(spend, reset))).toEqual([
      4n,
      1n,
      2n,
      3n,
    ])
  })
})
