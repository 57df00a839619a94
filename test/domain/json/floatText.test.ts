/** Float32 as decimals: bit for bit what came, in as few digits as they need. */
import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { floatPieces } from "../../../src/domain/request/embeddings.ts"

const textOf = (floats: Float32Array): string => Array.from(floatPieces(floats)).join("")

const bitsOf = (numbers: ArrayLike<number>) => [...new Uint32Array(Float32Array.from(numbers).buffer)]

/** By their bits, so that all sizes come, and those that are usual in vectors. */
const floats = FastCheck.array(
  FastCheck.oneof(
    FastCheck.integer({ min: 0, max: 0xffff_ffff }).map(
      (bits) => new Float32Array(Uint32Array.of(bits).buffer)[0] ?? 0,
    ),
    FastCheck.double({ min: -1, max: 1, noNaN: true }).map(Math.fround),
  ).filter(Number.isFinite),
  { minLength: 1, maxLength: 40 },
)

test("every float32 comes back with the same bits, -0 too", () => {
  FastCheck.assert(
    FastCheck.property(floats, (numbers) => {
      const read: ReadonlyArray<number> = JSON.parse(textOf(Float32Array.from(numbers)))
      expect(bitsOf(read)).toEqual(bitsOf(numbers))
    }),
    { numRuns: 2000 },
  )
})

test("no decimal has more digits than it needs", () => {
  const leastDigits = (float: number): number => {
    for (let digits = 1; digits < 9; digits++) {
      if (Math.fround(Number(float.toPrecision(digits))) === float) return digits
    }
    return 9
  }
  FastCheck.assert(
    FastCheck.property(FastCheck.double({ min: 1e-7, max: 1, noNaN: true }).map(Math.fround), (float) => {
      const [digits = ""] =
        textOf(Float32Array.of(float))
          .replaceAll(/[[\].-]/g, "")
          .match(/[1-9]\d*/) ?? []
      expect([float, digits.length <= leastDigits(float)]).toEqual([float, true])
    }),
    { numRuns: 2000 },
  )
})

test.each([
  [0.1, "0.1"],
  [-0, "-0"],
  [0, "0"],
  [1, "1"],
  [16_777_216, "16777216"],
  [-0.0023064255, "-0.0023064255"],
  [1e-7, "0.0000001"],
  [1e-8, "1e-8"],
  [1e-45, "1e-45"],
  [3.4028235e38, "3.4028235e+38"],
  [999_999_999, "1000000000"],
])("%p is written %s", (float, text) => {
  expect(textOf(Float32Array.of(float))).toBe(`[${text}]`)
})

test("a long vector comes in pieces of a bounded length", () => {
  const pieces = Array.from(floatPieces(new Float32Array(100_000).fill(-0.023064255)))
  expect(pieces.length).toBeGreaterThan(20)
  expect(JSON.parse(pieces.join(""))).toHaveLength(100_000)
})
