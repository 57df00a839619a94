/** A test file that passes. Not one of the suite: `standstill.test.ts` runs it. */
import { test } from "bun:test"

test("passes", () => undefined)
