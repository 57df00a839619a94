/** Answers with vectors are read as JSON.parse reads them, whatever their white space, escapes and order of members. docs/guarantees.md#g10 */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { textOfNumbers } from "../../../src/domain/json/numberList.ts"
import { readKeepingNumbers } from "../../../src/formats/embeddings/embeddingsNumbers.ts"

const text = FastCheck.oneof(FastCheck.string(), FastCheck.constantFrom('[1,2]"', "\\", '\\"[3]', "[", "]", "é[4]"))
const vector = FastCheck.array(FastCheck.double({ noNaN: true, noDefaultInfinity: true }), {
  minLength: 1,
  maxLength: 6,
})

const { json } = FastCheck.letrec<{ json: unknown }>((tie) => ({
  json: FastCheck.oneof(
    { maxDepth: 4 },
    FastCheck.constantFrom(null, true, 0, -1.5),
    text,
    vector,
    FastCheck.array(tie("json"), { maxLength: 4 }),
    FastCheck.dictionary(FastCheck.oneof(text, FastCheck.constantFrom("embedding", "float", "values")), tie("json"), {
      maxKeys: 4,
    }),
  ),
}))

test("what it reads is what JSON.parse reads", () => {
  FastCheck.assert(
    FastCheck.property(json, FastCheck.constantFrom(undefined, 1, "\t\n"), (value, space) => {
      const written = JSON.stringify(value, null, space)
      expect(JSON.stringify(readKeepingNumbers(written))).toBe(JSON.stringify(JSON.parse(written)))
    }),
    { numRuns: 2000 },
  )
})

test("what is no JSON it returns as it is", () => {
  FastCheck.assert(
    FastCheck.property(json, FastCheck.nat(80), FastCheck.constantFrom(...'[]{},:"\\x1'), (value, at, sign) => {
      const whole = JSON.stringify(value)
      const broken = whole.slice(0, at) + sign + whole.slice(at)
      let expected: unknown = broken
      try {
        expected = JSON.parse(broken)
      } catch {}
      expect(JSON.stringify(readKeepingNumbers(broken))).toBe(JSON.stringify(expected))
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['{"data":[{"embedding":[0.50, 1e0],"index":0}],"usage":{"total_tokens":1}}', "[0.50, 1e0]"],
  ['{"usage":{"total_tokens":1},"data":[{"index":0,"object":"embedding","embedding" : [ 1 ]}]}', "[ 1 ]"],
  ['{"embeddings":{"float":[[1,2],[3,4]]}}', "[1,2]"],
  ['{"embeddings":[{"values":[7]}]}', "[7]"],
])("a vector keeps the text of its host: %s", (whole, kept) => {
  const found: Array<string | undefined> = []
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    const own = textOfNumbers(value)
    if (own === undefined) for (const inner of Object.values(value)) look(inner)
    else found.push(own)
  }
  look(readKeepingNumbers(whole))
  expect(found[0]).toBe(kept)
})

test("a list that is no vector has its bound of values", () => {
  const many = `{"data":[${"{},".repeat(4_000_000)}1]}`
  expect(readKeepingNumbers(many)).toBe(many)
})
