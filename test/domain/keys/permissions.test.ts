/** The models and providers that a key may use. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { HostTag, ModelId } from "../../../src/domain/ids.ts"
import { forbiddenBy, matches, unrestricted } from "../../../src/domain/keys/Permissions.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { countsAsFree } from "../../../src/domain/routing/freeModels.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

describe("a pattern", () => {
  test.each([
    ["acme/*", "acme/small", true],
    ["acme/*", "acme/", true],
    ["acme/*", "acmes/small", false],
    ["*", "", true],
    ["*:free", "acme/small:free", true],
    ["*:free", "acme/small:free2", false],
    ["ACME/Small", "acme/small", true],
    ["acme/small", "acme/small-2", false],
    ["*small*", "acme/small-2", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["acme.small", "acme/small", false],
    ["[a]?", "a", false],
    ["", "", true],
    ["", "a", false],
  ])("%p and %p: %p", (pattern, text, matching) => {
    expect(matches(pattern, text)).toBe(matching)
  })

  test("matches as the regular expression that it stands for", () => {
    const letters = (all: string) => FastCheck.string({ unit: FastCheck.constantFrom(...all), maxLength: 12 })
    FastCheck.assert(
      FastCheck.property(letters("ab/*"), letters("aAb/"), (pattern, text) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "is")
        expect(matches(pattern, text)).toBe(expression.test(text))
      }),
      { numRuns: 5000 },
    )
  })

  test("of a hundred stars is decided quickly", () => {
    expect(matches(`${"*a".repeat(100)}b`, "a".repeat(200))).toBe(false)
  })
})

const host: Host = { ...hostFor("upstream"), tag: HostTag.make("beta/fp8") }
const named: Host = { ...host, provider: "beta", providerName: "Beta Cloud", pricing: freePricing }

describe("the lists of a key", () => {
  test.each([
    [null, null, undefined],
    [["acme/*"], null, undefined],
    [["other/*", "acme/small"], null, undefined],
    [["other/*"], null, "allowed_models"],
    [null, ["beta"], undefined],
    [null, ["beta/fp8"], undefined],
    [null, ["beta/*"], undefined],
    [null, ["beta cloud"], undefined],
    [null, ["gamma", "bet"], "allowed_providers"],
    [["acme/*"], ["gamma"], "allowed_providers"],
    [["other/*"], ["gamma"], "allowed_models"],
  ] as const)("models %p, providers %p: %p", (allowedModels, allowedProviders, by) => {
    expect(forbiddenBy({ allowedModels, allowedProviders }, named)).toBe(by)
  })

  test("that are absent allow everything", () => {
    expect(forbiddenBy(unrestricted, named)).toBeUndefined()
  })
})

describe("a host is free", () => {
  const priced = { ...freePricing, completion: 1n }
  const later = { minPromptTokens: 1000, prices: { prompt: 1n } }
  test.each([
    ["by its model's id, at any price", { model: ModelId.make("acme/small:free"), pricing: priced }, true],
    ["by its model's id, on the own network", { model: ModelId.make("acme/small:free"), local: true }, true],
    ["where nothing costs anything", {}, true],
    ["not on the own network", { local: true }, false],
    ["not where something costs something", { pricing: priced }, false],
    ["not where a tier costs something", { pricing: { ...freePricing, overrides: [later] } }, false],
    ["not where no price is known", { pricing: null }, false],
  ])("%s", (_, members: Partial<Host>, free) => {
    expect(countsAsFree({ ...named, local: false, ...members })).toBe(free)
  })
})
