/** A test file whose process stops in the middle of a test. Not one of the suite: `standstill.test.ts` runs it. */
import { test } from "bun:test"

test("stops its process", () => {
  process.kill(process.pid, "SIGSTOP")
})
