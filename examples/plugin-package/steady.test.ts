/** The conformance kit, and what is this strategy's own. */
import { expect, test } from "bun:test"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import plugin from "./index.ts"

for (const check of strategyChecks({ plugin })) test(check.name, check.run)

test("a field that it does not have is refused", () => {
  expect(Either.isLeft(plugin.load({ least_upitme: 90 }))).toBe(true)
})
