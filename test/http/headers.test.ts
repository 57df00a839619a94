/** The key of a request: docs/guarantees.md#g24 */
import { expect, test } from "bun:test"
import { presentedKey } from "../../src/http/headers.ts"

test.each([
  [{ authorization: "Bearer key" }, "key"],
  [{ authorization: "bearer   key  " }, "key"],
  [{ authorization: "Bearer key other" }, ""],
  [{ authorization: "Bearer key, Bearer other" }, ""],
  [{ authorization: "Bearer" }, ""],
  [{ authorization: "Basic key" }, ""],
  [{ authorization: "Bearer key other", "x-api-key": "third" }, ""],
  [{ "x-api-key": "third" }, "third"],
  [{}, undefined],
] as const)("%p presents %p", (headers, expected) => {
  expect(presentedKey(new Headers(headers))).toBe(expected)
})
