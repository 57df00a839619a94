import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { inputsOf, isComplete, packed, unpacked } from "../../../src/domain/request/embeddings.ts"

const bitsOf = (numbers: ReadonlyArray<number>) => [...new BigUint64Array(Float64Array.from(numbers).buffer)]
const floats = FastCheck.array(FastCheck.float({ noNaN: true, noDefaultInfinity: true }), {
  minLength: 1,
  maxLength: 50,
})
const doubles = FastCheck.array(FastCheck.double({ noNaN: true, min: -1e38, max: 1e38 }), {
  minLength: 1,
  maxLength: 50,
})

describe("vectors", () => {
  test("float32 go to base64 and back with the same bits, -0 too", () => {
    FastCheck.assert(
      FastCheck.property(floats, (vector) => {
        expect(bitsOf([...(unpacked(packed(vector) ?? "") ?? [])])).toEqual(bitsOf(vector))
      }),
    )
  })

  test("base64 goes to numbers and back with the same bytes", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array({ minLength: 4, maxLength: 80 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64")
        const vector = unpacked(text)
        if (vector === undefined) {
          const whole = bytes.length % 4 === 0
          expect(whole && new Float32Array(bytes.slice().buffer).every(Number.isFinite)).toBe(false)
        } else expect(packed([...vector])).toBe(text)
      }),
    )
  })

  test("other numbers become the nearest float32", () => {
    FastCheck.assert(
      FastCheck.property(doubles, (vector) => {
        expect(unpacked(packed(vector) ?? "")).toEqual(Float32Array.from(vector))
      }),
    )
  })

  test("the order of the bytes is little-endian", () => {
    expect(packed([1])).toBe(Buffer.from([0, 0, 0x80, 0x3f]).toString("base64"))
  })

  test.each(["", "AAAA", "AAAAA", "AAAAAA==x", "not base64!", "AADAfw==", "AACAfw=="])("%j is none", (text) => {
    expect(unpacked(text)).toBeUndefined()
  })

  test("of another length than the caller asked for are none", () => {
    expect(unpacked(packed([1, 2]) ?? "", 2)).toEqual(Float32Array.of(1, 2))
    expect(unpacked(packed([1, 2]) ?? "", 3)).toBeUndefined()
  })

  test("beyond float32 have no base64", () => {
    expect(packed([1e39])).toBeUndefined()
  })
})

test("the tokens of one text are one input", () => {
  expect(inputsOf("a")).toEqual(["a"])
  expect(inputsOf([1, 2])).toEqual([[1, 2]])
  expect(inputsOf([[1], [2]])).toEqual([[1], [2]])
  expect(inputsOf(["a", "b"])).toEqual(["a", "b"])
})

describe("an answer is complete", () => {
  const at = (index: unknown, embedding: unknown = [0.5]) => ({ index, embedding })
  test.each([
    [[at(0)], 1, true],
    [[at(1), at(0, "AAAA")], 2, true],
    [[at(0)], 2, false],
    [[at(0), at(0)], 2, false],
    [[at(1)], 1, false],
    [[at(-0.5)], 1, false],
    [[at(0, [])], 1, false],
    [[at(0, [null])], 1, false],
    [[at(0, ["0.5"])], 1, false],
    [[null], 1, false],
    [{}, 0, false],
  ])("%j of %d: %p", (data, inputs, expected) => {
    expect(isComplete(data, inputs)).toBe(expected)
  })
})
