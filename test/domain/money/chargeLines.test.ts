/** A charge line by line. */
import { expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { reprice, type Waiver, waivers } from "../../../src/domain/money/Charge.ts"
import { chargeLines } from "../../../src/domain/money/chargeLines.ts"
import { freePricing, type PriceOverride, type Pricing, priceNames, standIn } from "../../../src/domain/price/price.ts"
import { parseUsage, type Usage } from "../../../src/domain/price/Usage.ts"

const price = fc.bigInt({ min: 0n, max: 10n ** 9n })
const anyPrices = fc
  .array(fc.tuple(fc.constantFrom(...priceNames), fc.option(price)), { maxLength: 14 })
  .map((some) =>
    Object.fromEntries(some.map(([name, value]) => [name, value ?? (standIn(name) === undefined ? 0n : null)])),
  )
const overrides: fc.Arbitrary<PriceOverride> = fc.record({
  minPromptTokens: fc.integer({ min: 0, max: 2000 }),
  prices: anyPrices,
})
const pricings: fc.Arbitrary<Pricing> = fc
  .tuple(anyPrices, fc.constantFrom(0n, 0n, 125_000n, 333_333n, 1_000_000n), fc.array(overrides, { maxLength: 2 }))
  .map(([prices, discountPpm, overridden]) => ({ ...freePricing, ...prices, discountPpm, overrides: overridden }))

const tokens = fc.nat(3000)
/** As hosts may report it: read as their answers are, so that parts fit into their totals. */
const usages: fc.Arbitrary<Usage> = fc
  .record({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    search_units: fc.nat(3),
    prompt_tokens_details: fc.record({
      cached_tokens: tokens,
      cached_audio_tokens: tokens,
      cache_write_tokens: tokens,
      cache_write_1h_tokens: tokens,
      audio_tokens: tokens,
      image_tokens: tokens,
    }),
    completion_tokens_details: fc.record({ reasoning_tokens: tokens, image_tokens: tokens, audio_tokens: tokens }),
    server_tool_use_details: fc.record({ web_search_requests: fc.nat(5) }),
  })
  .map((raw) => {
    const usage = parseUsage(raw)
    if (usage === undefined) throw new Error("no usage")
    return usage
  })
const waived = fc.constantFrom<Waiver | null>(null, null, ...waivers)

const sum = (lines: ReadonlyArray<{ readonly amount: bigint }>) => lines.reduce((all, { amount }) => all + amount, 0n)

test("the lines add up to what the key paid, for any usage and any prices", () => {
  fc.assert(
    fc.property(pricings, usages, fc.nat(3), waived, (pricing, usage, images, why) => {
      const billed = { usage, images, admittedAt: 0, waived: why }
      const { cost, upstream } = reprice(billed, pricing)
      const lines = chargeLines(billed, pricing, cost.total)
      expect(sum(lines)).toBe(cost.total)
      // They explain all of it: what the host asks for too.
      expect(lines.filter(({ what }) => what === "unexplained")).toEqual([])
      expect(sum(lines.filter(({ what }) => what !== "waived"))).toBe(upstream.total)
      for (const { quantity, price: unitPrice, amount } of lines)
        if (unitPrice !== null) expect(BigInt(quantity ?? 0) * unitPrice).toBe(amount)
      // A token is in one line.
      const counted = lines
        .filter(({ unit }) => unit === "token")
        .reduce((all, { quantity }) => all + (quantity ?? 0), 0)
      expect(counted).toBe(usage.promptTokens + usage.completionTokens)
    }),
    { numRuns: 2000 },
  )
})

test("each kind of token has its line, and what is free is not shown but for tokens", () => {
  const pricing: Pricing = {
    ...freePricing,
    prompt: 10n,
    completion: 30n,
    inputCacheRead: 1n,
    internalReasoning: 40n,
    webSearch: 7n,
  }
  const usage = parseUsage({
    prompt_tokens: 100,
    completion_tokens: 20,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 5 },
    server_tool_use_details: { web_search_requests: 2 },
  })
  if (usage === undefined) throw new Error("no usage")
  const billed = { usage, images: 2, admittedAt: 0, waived: null }
  const shown = (discountPpm: bigint): ReadonlyArray<unknown> =>
    chargeLines(billed, { ...pricing, discountPpm }, reprice(billed, { ...pricing, discountPpm }).cost.total).map(
      ({ what, quantity, unit, amount }) => [what, quantity, unit, amount],
    )
  const lines = [
    ["prompt", 40, "token", 400n],
    ["cache_read", 60, "token", 60n],
    ["completion", 15, "token", 450n],
    ["reasoning", 5, "token", 200n],
    ["web_search", 2, "search", 14n],
  ]
  expect(shown(0n)).toEqual(lines)
  // A tenth of 1,124 is 112.4.
  expect(shown(100_000n)).toEqual([...lines, ["discount", 10, "percent", -112n]])
})

test("a charge that no known price explains is a line of its own", () => {
  const billed = {
    usage: { ...(parseUsage({ prompt_tokens: 1, completion_tokens: 1 }) as Usage) },
    images: 0,
    admittedAt: 0,
    waived: null,
  }
  expect(chargeLines(billed, undefined, 5n)).toEqual([
    { what: "unexplained", quantity: null, unit: null, price: null, amount: 5n },
  ])
  expect(chargeLines(billed, undefined, 0n)).toEqual([])
})
