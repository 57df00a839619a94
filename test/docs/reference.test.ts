/** The pages of `docs/reference` are what `bun scripts/reference.ts` makes of the code. */
import { describe, expect, test } from "bun:test"
import { left, made, pages, written } from "../../scripts/reference.ts"

test.each(pages)("docs/reference/%s.md is what bun scripts/reference.ts makes of the code", async (name) => {
  expect(written(name)).toBe(await made(name))
})

test("no page is left without the module that made it", () => {
  expect(left()).toEqual([])
})

describe("the first lines", () => {
  test.each(pages)("of docs/reference/%s.md say whom it is for, and that it is not edited", async (name) => {
    expect(await made(name)).toMatch(
      /^# .+\n\n(?:For .+\.|Whoever .+\.)\n(?:.+\n)*?Made by `bun scripts\/reference\.ts` from .*`.+; do not edit\.\n/,
    )
  })
})
