import { expect, test } from "bun:test"
import { deepest, isTooDeep, parseJson, tooDeep } from "../../src/wire/jsonDepth.ts"

const nested = (levels: number): string => `${'{"a":['.repeat(levels / 2)}1${"]}".repeat(levels / 2)}`
const wide = JSON.stringify(Array.from({ length: 100 }, (_, at) => ({ at, text: '[{"' })))

test("the value of a text is its JSON, unless it is nested too deeply, however the depth is found out", () => {
  const long = `"${"x".repeat(200_000)}"`
  for (const filler of ["1", wide, long, `[${wide},${long}]`]) {
    const texts = [1, 32, 33].map((half) => `[${filler},${nested(half * 2 - 2)}]`)
    for (const text of texts) expect(parseJson(text)).toEqual(isTooDeep(text) ? tooDeep : JSON.parse(text))
  }
  expect(parseJson(nested(deepest))).not.toBe(tooDeep)
  expect(parseJson(nested(deepest + 2))).toBe(tooDeep)
  expect(parseJson("[".repeat(deepest + 1))).toBe(tooDeep)
  expect(() => parseJson(`${wide}]`)).toThrow()
})
