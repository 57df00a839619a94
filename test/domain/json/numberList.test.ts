/** Lists of numbers that keep their text: they are arrays for whoever looks at them. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import {
  isNumberList,
  mayBeLarge,
  numberList,
  textOfNumbers,
  withoutLongLists,
} from "../../../src/domain/json/numberList.ts"
import { isVector } from "../../../src/domain/request/embeddings.ts"

const number = FastCheck.oneof(
  FastCheck.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  FastCheck.constantFrom("0", "-0", "1e5", "1E+05", "-1.5e-7", "0.0", "-12.50"),
)
const blank = FastCheck.constantFrom("", " ", "\n\t", "\r\n ")
const lists = FastCheck.array(FastCheck.tuple(blank, number, blank), { minLength: 1, maxLength: 20 }).map(
  (numbers) => `[${numbers.map((parts) => parts.join("")).join()}]`,
)

test("a text is a list of numbers exactly if JSON has it so", () => {
  const isOne = (text: string): boolean => {
    try {
      const value: unknown = JSON.parse(text)
      return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number")
    } catch {
      return false
    }
  }
  const texts = FastCheck.oneof(
    lists,
    // A sign more, fewer, or another one.
    FastCheck.tuple(lists, FastCheck.nat(60), FastCheck.nat(2), FastCheck.constantFrom(...'0-+.eE,[] "x')).map(
      ([text, at, cut, sign]) => text.slice(0, at) + sign + text.slice(at + cut),
    ),
  )
  FastCheck.assert(
    FastCheck.property(texts, (text) => {
      // What follows or comes before the brackets is none of a list.
      expect([text, isNumberList(text)]).toEqual([text, isOne(text) && text.startsWith("[") && text.endsWith("]")])
    }),
    { numRuns: 2000 },
  )
  for (const text of ["[]", "[01]", "[1.]", "[.5]", "[-]", "[1e]", "[1,]", "[,1]", "[1 2]", "[+1]", "[0x1]", "[NaN]"])
    expect([text, isNumberList(text)]).toEqual([text, false])
})

describe("a list that was not read", () => {
  test("is the array of its text for whoever looks at it, and keeps the text", () => {
    FastCheck.assert(
      FastCheck.property(lists, (text) => {
        const parsed: ReadonlyArray<number> = JSON.parse(text)
        expect(JSON.stringify(numberList(text))).toBe(JSON.stringify(parsed))
        expect([...numberList(text)]).toEqual([...parsed])
        const list = numberList(text)
        expect([Array.isArray(list), isVector(list), textOfNumbers(list)]).toEqual([true, true, text])
        expect([list.length, list.at(-1), 0 in list]).toEqual([parsed.length, parsed.at(-1), true])
        expect(textOfNumbers(list)).toBe(text)
      }),
    )
  })

  test("that somebody changes has another text", () => {
    for (const change of [
      (list: Array<number>) => list.push(4),
      (list: Array<number>) => list.sort(),
      (list: Array<number>) => (list[0] = 4),
      (list: Array<number>) => (list.length = 1),
    ]) {
      const plain = [3, 1, 2]
      const list = numberList("[3,1,2]")
      change(plain)
      change(list as Array<number>)
      expect([textOfNumbers(list), [...list]]).toEqual([undefined, plain])
    }
  })
})

test("lists that are no vectors are written as they are, until they are too many", () => {
  const list = (numbers: number) => numberList(`[${"0,".repeat(numbers - 1)}0]`)
  const value = { shape: list(3), nested: [{ long: list(40) }, { after: list(2) }], text: "x", none: null }
  expect(JSON.stringify(withoutLongLists(value, { characters: 200 }))).toBe(JSON.stringify(value))
  expect(JSON.stringify(withoutLongLists(value, { characters: 50 }))).toBe(
    '{"shape":[0,0,0],"nested":[{"long":null},{"after":null}],"text":"x","none":null}',
  )
  expect(value.nested[0]).toEqual({ long: Array.from({ length: 40 }, () => 0) })
})

test("JSON.stringify asks for none of its numbers", () => {
  const list = numberList("[0.5,-0,1e2]")
  expect(JSON.stringify({ list })).toBe('{"list":[0.5,0,100]}')
  // A change counts.
  Reflect.set(list, 0, 7)
  expect(JSON.stringify({ list })).toBe('{"list":[7,0,100]}')
})

test("a number that may be beyond float32 is found wherever it stands", () => {
  const digits = FastCheck.integer({ min: 1, max: 80 }).map((count) => "7".repeat(count))
  const long = FastCheck.oneof(
    digits,
    digits.map((text) => `0.${text}`),
    digits.map((text) => `-${text}.5e-3`),
    FastCheck.constantFrom("1e5", "1E5", "2e+3", "2E+3", "1e-5", "1E-5"),
  )
  FastCheck.assert(
    FastCheck.property(FastCheck.array(FastCheck.oneof(number, long), { minLength: 1, maxLength: 20 }), (numbers) => {
      const text = `[${numbers.join(", ")}]`
      expect(mayBeLarge(text)).toBe(/[eE][+\d]|\d{38}/.test(text))
    }),
    { numRuns: 1000 },
  )
})
