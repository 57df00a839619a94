/** Texts that are beyond a limit, read as far as is needed to tell what they are. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { beginsAnswer, skim } from "../../src/formats/beyondLimit.ts"
import { deepest, excessIn, JsonCount, mostAnswerValues } from "../../src/wire/jsonDepth.ts"

describe("skim", () => {
  test("any small JSON is read as a parser reads it, and its beginning without a throw", () => {
    const small = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value))
    fc.assert(
      fc.property(small, fc.nat(200), (text, cut) => {
        skim(text.slice(0, cut))
        if (!text.includes("__proto__")) expect(skim(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  test("what is nested deep, long lists and long texts are left out, and what follows is read", () => {
    const deep = `${"[".repeat(100_000)}"]"${"]".repeat(100_000)}`
    const list = `[${"[],".repeat(100_000)}{}]`
    const text = `{"choices":[{"deep":${deep},"text":"${"x".repeat(100_000)}"}],"list":${list},"usage":{"a":1}}`
    const kept = JSON.stringify(skim(text))
    expect(kept.length).toBeLessThan(2000)
    expect(JSON.parse(kept)).toMatchObject({ choices: [{ text: expect.stringMatching(/^x+$/) }], usage: { a: 1 } })
    expect(skim(text.slice(0, -20))).toMatchObject({ choices: [{}] })
  })
})

test.each([
  ['{"choices":[{"index":0', true],
  ['{"candidates":[{"content":{"parts":[{"text":"x', true],
  ['{"data":[{"embedding":[0.1,', true],
  ['{"embeddings":[[0.1', true],
  ['{"type":"content_block_start","content_block":{"type":"tool_use"', true],
  ['{"type":"response.completed","response":{"output":[{"type":"message"', true],
  ['{"choices":[]}', false],
  ['{"choices":[[],[],[]', false],
  ["[{},{}]", false],
  ['{"error":{"message":"x"}}', false],
  ["", false],
])("%s begins an answer: %p", (text, begins) => {
  expect(beginsAnswer(skim(text))).toBe(begins)
})

describe("values and nesting", () => {
  test("are counted the same wherever the text is cut", () => {
    const text = fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify({ value, text: 'a"\\\\', more: "[{,\\" }))
    fc.assert(
      fc.property(text, fc.array(fc.nat(500), { maxLength: 5 }), (whole, cuts) => {
        const [atOnce, inParts] = [new JsonCount(false), new JsonCount(false)]
        atOnce.add(whole)
        let from = 0
        for (const cut of [...cuts.toSorted((a, b) => a - b), whole.length]) {
          inParts.add(whole.slice(from, Math.max(from, cut)))
          from = Math.max(from, cut)
        }
        expect(inParts).toEqual(atOnce)
        expect(atOnce.isClosed).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test("beyond 4,000,000 values, or 64 levels, and not at these", () => {
    const list = (values: number) => `[${"1,".repeat(values)}1]`
    expect(excessIn(list(mostAnswerValues - 10))).toBeUndefined()
    expect(excessIn(list(mostAnswerValues))).toBe("values")
    // Those of vectors do not count.
    expect(excessIn(list(mostAnswerValues), true)).toBeUndefined()
    // 8 MB of such lists took 3.5 s of CPU.
    const lists = (count: number) => `[${"[1],".repeat(count)}[1]]`
    expect(excessIn(lists(1_900_000), true)).toBe("values")
    const vectors = (count: number) => `[${'{"object":"embedding","index":0,"embedding":[1]},'.repeat(count)}{}]`
    expect(excessIn(vectors(90_000), true)).toBeUndefined()
    expect(excessIn("[".repeat(deepest))).toBeUndefined()
    expect(excessIn("[".repeat(deepest + 1))).toBe("depth")
  })
})
