import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { Histogram } from "../../../src/domain/structures/Histogram.ts"

const positive = FastCheck.double({ min: 0.1, max: 1_000_000, noNaN: true })
const samples = FastCheck.array(positive, { minLength: 1, maxLength: 300 })
const percents = [1, 10, 25, 50, 75, 90, 95, 99, 100]

const of = (values: ReadonlyArray<number>): Histogram => {
  const histogram = new Histogram()
  for (const value of values) histogram.add(value)
  return histogram
}

const all = (histogram: Histogram) => percents.map((percent) => histogram.percentile(percent))

/** Nearest rank. */
const exact = (values: ReadonlyArray<number>, percent: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil((percent / 100) * values.length)) - 1] ?? Number.NaN

describe("a histogram", () => {
  test("is at most 5 % off the exact percentile", () => {
    FastCheck.assert(
      FastCheck.property(samples, (values) => {
        const histogram = of(values)
        for (const percent of percents) {
          const error = Math.abs((histogram.percentile(percent) ?? Number.NaN) / exact(values, percent) - 1)
          expect(error).toBeLessThanOrEqual(0.0500001)
        }
      }),
      { numRuns: 500 },
    )
  })

  test("of all samples is the sum of the histograms of its parts", () => {
    FastCheck.assert(
      FastCheck.property(samples, samples, (some, others) => {
        const sum = of(some)
        sum.addAll(of(others))
        expect(sum.encode()).toEqual(of([...some, ...others]).encode())
        expect(sum.size).toBe(some.length + others.length)
        expect(all(sum)).toEqual(all(of([...some, ...others])))
        sum.subtractAll(of(others))
        expect(sum.encode()).toEqual(of(some).encode())
        expect(all(sum)).toEqual(all(of(some)))
      }),
    )
  })

  test("survives being written down", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(positive, { maxLength: 100 }), (values) => {
        const read = Histogram.decode(JSON.parse(JSON.stringify(of(values).encode())))
        expect(read?.size).toBe(values.length)
        expect(read && all(read)).toEqual(all(of(values)))
      }),
    )
  })

  test("has no percentile without samples", () => {
    expect(all(new Histogram())).toEqual(percents.map(() => null))
    expect(new Histogram().encode()).toEqual([])
  })

  test.each([0, -1, Number.NaN, 1e-9, 1e9, Number.POSITIVE_INFINITY])("counts %p at the end of its range", (value) => {
    const median = of([value]).percentile(50) ?? Number.NaN
    expect(median).toBeGreaterThanOrEqual(value > 1 ? 950_000 : 0.1)
    expect(median).toBeLessThanOrEqual(value > 1 ? 1_100_000 : 0.1)
  })

  test.each([
    [null],
    [{}],
    ["[]"],
    [[0.5]],
    [[-1, 1]],
    [[162, 1, 1]],
    [[163, 1]],
    [[0, -1]],
    [[0, 1.5]],
    [[0, "1"]],
    [[0, 2 ** 32]],
  ])("%j is none", (written) => {
    expect(Histogram.decode(written)).toBeUndefined()
  })
})
