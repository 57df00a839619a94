/** Whether another key did something lately, in constant memory. docs/guarantees.md#g35 */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { LatestKeys } from "../../../src/domain/structures/LatestKeys.ts"

test("any history of keys: it knows when another one than this was last there", () => {
  const Key = FastCheck.constantFrom("a", "b", "c", "d")
  FastCheck.assert(
    FastCheck.property(FastCheck.array(FastCheck.tuple(Key, FastCheck.nat(5))), Key, (history, asked) => {
      const latest = new LatestKeys()
      let now = 0
      let expected = Number.NEGATIVE_INFINITY
      for (const [key, later] of history) {
        now += later
        latest.add(key, now)
        if (key !== asked) expected = now
      }
      expect(latest.latestBut(asked)).toBe(expected)
    }),
    { numRuns: 1000 },
  )
})
