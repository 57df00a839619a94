import { expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { priceVersion, pricingOf } from "../../../src/domain/price/PriceVersion.ts"
import { freePricing, type PriceOverride, type Pricing, priceNames } from "../../../src/domain/price/price.ts"

const price = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 18n }))
const someOf = fc.dictionary(fc.constantFrom(...priceNames), price, { noNullPrototype: true })
const clock = fc.tuple(fc.nat(23), fc.nat(59)).map(([hour, minute]) => hour * 100 + minute)
const override: fc.Arbitrary<PriceOverride> = fc
  .tuple(
    fc.nat(2 ** 31),
    fc.record(
      {
        ...{ starts: fc.constantFrom("2026-12-01", "2027-01-01"), utcStart: clock, utcEnd: clock },
        utcDays: fc.subarray(["monday", "sunday"]),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    someOf,
  )
  .map(([minPromptTokens, hours, prices]) => ({ minPromptTokens, ...hours, prices }))
const pricings: fc.Arbitrary<Pricing> = fc
  .tuple(someOf, fc.bigInt({ min: 0n, max: 1_000_000n }), fc.array(override, { maxLength: 3 }))
  .map(([prices, discountPpm, overrides]) => ({ ...freePricing, ...prices, discountPpm, overrides }))

test("any prices come back as they were, and the same prices have the same number", () => {
  fc.assert(
    fc.property(pricings, (pricing) => {
      const version = priceVersion(pricing)
      expect(pricingOf(version)).toEqual(pricing)
      expect(priceVersion({ ...pricing })).toEqual(version)
      expect(Number.isSafeInteger(version.id)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test("prices that differ in one member have different numbers", () => {
  fc.assert(
    fc.property(pricings, fc.constantFrom(...priceNames), (pricing, name) => {
      const changed = { ...pricing, [name]: (pricing[name] ?? 0n) + 1n }
      expect(priceVersion(changed).id).not.toBe(priceVersion(pricing).id)
    }),
  )
})

// A number that changes would split the rows of one price over two versions.
test("the text is that of the configuration, without what is left out there", () => {
  const pricing = { ...freePricing, prompt: 1_000_000n, completion: 2_500_000n, inputCacheRead: 0n }
  const half = { ...pricing, discountPpm: 500_000n, overrides: [{ minPromptTokens: 5, prices: { request: 0n } }] }
  expect(priceVersion(pricing)).toEqual({
    id: 2276557875460591,
    hash: "816846f7a39ef93eb4108fe462c3b356a3898ebaa567889b0a1657471e86ee01",
    pricing: '{"prompt":"0.000001","completion":"0.0000025","input_cache_read":"0"}',
  })
  expect(priceVersion(half).pricing).toBe(
    '{"prompt":"0.000001","completion":"0.0000025","input_cache_read":"0","discount_ppm":500000,"overrides":[{"min_prompt_tokens":5,"request":"0"}]}',
  )
})

test("a version that was changed is none", () => {
  const version = priceVersion({ ...freePricing, prompt: 7n })
  expect(pricingOf({ ...version, pricing: version.pricing.replace("7", "8") })).toBeUndefined()
  expect(pricingOf({ ...version, id: version.id + 1 })).toBeUndefined()
})
