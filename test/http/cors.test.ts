/** Which pages may read an answer. docs/guarantees.md#g31 */
import { expect, test } from "bun:test"
import { allowOrigin } from "../../src/http/cors.ts"

const answerTo = (origins: ReadonlyArray<string>, origin: string | undefined) => {
  const headers = origin === undefined ? {} : { origin }
  const answer = allowOrigin(origins)(new Request("http://gateway.test/", { headers }), new Response("{}"))
  return { allowed: answer.headers.get("access-control-allow-origin"), vary: answer.headers.get("vary") }
}

// A cache that keeps the answer to one page must not give it to another.
test.each([
  ["of an allowed page", "https://a.test", "https://a.test"],
  ["of another page", "https://b.test", null],
  ["of no page", undefined, null],
])("the answer to a request %s depends on the origin, where only some are allowed", (_, origin, allowed) => {
  expect(answerTo(["https://a.test"], origin)).toEqual({ allowed, vary: "origin" })
})

test("where every page is allowed, the answer is the same for all", () => {
  expect(answerTo(["*"], "https://b.test")).toEqual({ allowed: "*", vary: null })
})
