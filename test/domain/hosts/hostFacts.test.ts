/** Which names mean a host, and what it charges. */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { chargedBy, hostFacts, isNamed, isNamedInAnyTier, namesIn } from "../../../src/domain/hosts/hostFacts.ts"
import { HostTag } from "../../../src/domain/ids.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const host = (tag: string): Host => ({
  ...hostFor("small"),
  tag: HostTag.make(tag),
  provider: "deep-infra",
  providerName: "Deep Infra",
})

test.each([
  ["deep-infra", ["deep-infra", "DEEP-INFRA", "deep infra"], ["deep", "deep-infra/turbo", "deep-infra/"]],
  ["deep-infra/turbo", ["deep-infra", "Deep Infra", "deep-infra/turbo"], ["turbo", "deep-infra/flex"]],
  ["deep-infra/flex", ["deep-infra/flex", "Deep-Infra/Flex"], ["deep-infra", "Deep Infra", "flex"]],
])("the names of %s", (tag, names, others) => {
  const facts = hostFacts(host(tag))
  for (const name of names) expect([name, isNamed(namesIn([name]), facts)]).toEqual([name, true])
  for (const name of others) expect([name, isNamed(namesIn([name]), facts)]).toEqual([name, false])
})

test("a provider to avoid is avoided in all its tiers", () => {
  expect(isNamedInAnyTier(namesIn(["Deep Infra"]), hostFacts(host("deep-infra/flex")))).toBe(true)
})

test("a charge is above a ceiling just when the exact one is", () => {
  FastCheck.assert(
    FastCheck.property(
      FastCheck.bigInt(0n, 10n ** 9n),
      FastCheck.bigInt(0n, 1_000_000n),
      FastCheck.bigInt(-2n, 2n),
      (prompt, discountPpm, off) => {
        const { prompt: charged } = chargedBy({ ...freePricing, prompt }, { ...freePricing, discountPpm })
        const exactTimesMillion = prompt * (1_000_000n - discountPpm)
        const ceiling = exactTimesMillion / 1_000_000n + off
        expect(charged > ceiling).toBe(exactTimesMillion > ceiling * 1_000_000n)
      },
    ),
  )
})
