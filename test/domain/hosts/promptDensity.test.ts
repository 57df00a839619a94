/** How many tokens a prompt has that nobody counted, by those that were. docs/billing.md */
import { expect, test } from "bun:test"
import { PromptDensity } from "../../../src/domain/hosts/PromptDensity.ts"
import { KeyId } from "../../../src/domain/ids.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const [one, other, third] = [KeyId.make("one"), KeyId.make("other"), KeyId.make("third")]

test("by what the same key was counted at the host, else by what all were, else not at all", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  expect(density.tokensIn(host, one, 10_000)).toBeUndefined()
  density.counted(host, one, 10_000, 10_000)
  density.counted(host, other, 2500, 10_000)
  expect(density.tokensIn(host, one, 2000)).toBe(2000)
  expect(density.tokensIn(host, other, 2000)).toBe(500)
  expect(density.tokensIn(host, third, 2000)).toBe(500)
  expect(density.tokensIn(hostFor("elsewhere"), one, 2000)).toBeUndefined()
})

test("the latest ten prompts count most, and short ones not at all", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  for (let at = 0; at < 50; at++) density.counted(host, one, 10_000, 10_000)
  for (let at = 0; at < 20; at++) density.counted(host, one, 2500, 10_000)
  for (let at = 0; at < 20; at++) density.counted(host, one, 500, 1000)
  expect(density.tokensIn(host, one, 4000)).toBeWithin(1300, 1400)
  expect(density.tokensIn(host, one, 1000)).toBeUndefined()
})

test("a token has at least a byte, and keys beyond the 64th push out the first", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  density.counted(host, one, 50_000, 10_000)
  expect(density.tokensIn(host, one, 2000)).toBe(2000)
  for (let at = 0; at < 64; at++) density.counted(host, KeyId.make(`key ${at}`), 2500, 10_000)
  expect(density.tokensIn(host, one, 2000)).toBeLessThan(600)
})

test("other keys push out no key that is in use", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  density.counted(host, one, 10_000, 10_000)
  for (let at = 0; at < 63; at++) density.counted(host, KeyId.make(`key ${at}`), 2500, 10_000)
  density.counted(host, one, 10_000, 10_000)
  density.counted(host, KeyId.make("one more"), 2500, 10_000)
  expect(density.tokensIn(host, one, 2000)).toBe(2000)
})

test("what one key sends makes no other pay more than by the rule of thumb", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  for (let at = 0; at < 20; at++) density.counted(host, one, 100_000, 100_000)
  expect(density.tokensIn(host, other, 40_000)).toBe(10_000)
})

test("prompts of blanks, 80 of them to a token, do not make the dense ones that are left after them nearly free", () => {
  const density = new PromptDensity()
  const host = hostFor("upstream")
  for (let at = 0; at < 20; at++) density.counted(host, one, 12_500, 1_000_000)
  expect(density.tokensIn(host, one, 60_000)).toBe(10_000)
  // Nor for another key of the same caller.
  expect(density.tokensIn(host, other, 60_000)).toBe(10_000)
})
