/** A test file that waits at its top level without an end. Not one of the suite: `standstill.test.ts` runs it. */
import { test } from "bun:test"

setInterval(() => undefined, 1000)
await new Promise(() => undefined)

test("never begins", () => undefined)
