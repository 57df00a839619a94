/** A test file that ends its process, which runs other files as well. Not one of the suite: `standstill.test.ts` runs it. */
import { test } from "bun:test"

test("ends its process", () => {
  process.exit(0)
})
