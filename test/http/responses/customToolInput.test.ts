import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { CustomToolInput, jsonOfInput } from "../../../src/formats/customTools.ts"

/** The pieces that the fragments give, the rest last. */
const read = (fragments: ReadonlyArray<string>): ReadonlyArray<string> => {
  const reader = new CustomToolInput()
  return [...fragments.map((fragment) => reader.add(fragment)), reader.end()]
}

/** `cuts`: places where the text is cut, between any two UTF-16 units. */
const cut = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const places = [...new Set([0, ...cuts.map((at) => at % (text.length + 1)), text.length])].toSorted((a, b) => a - b)
  return places.slice(1).map((end, at) => text.slice(places[at], end))
}

const short: Readonly<Record<string, string>> = {
  ...{ '"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" },
}

/** A text within quotes, each unit in one of the ways in which a writer may write it. `ways`: numbers to choose by. */
const quoted = (text: string, ways: ReadonlyArray<number>): string =>
  text
    .split("")
    .map((unit, at) => {
      const way = (ways[at % Math.max(ways.length, 1)] ?? 0) % 4
      const hex = unit.charCodeAt(0).toString(16).padStart(4, "0")
      if (way === 1) return `\\u${hex}`
      if (way === 2) return `\\u${hex.toUpperCase()}`
      const mustEscape = unit < " " || unit === '"' || unit === "\\"
      const escaped = short[unit]
      if (way === 3 && escaped !== undefined) return escaped
      return mustEscape ? (escaped ?? `\\u${hex}`) : unit
    })
    .join("")

const Texts = FastCheck.string({
  unit: FastCheck.constantFrom(...'ab"\\/\n\t\u0000\u{1f600}é{}:u0 '.split("")),
  maxLength: 40,
})
const AnyTexts = FastCheck.oneof(Texts, FastCheck.string({ unit: "binary", maxLength: 40 }))
const Blanks = FastCheck.string({ unit: FastCheck.constantFrom(" ", "\n", "\t", "\r"), maxLength: 3 })
const Numbers = FastCheck.array(FastCheck.nat(), { maxLength: 30 })

const endsInHalf = (text: string): boolean => /[\uD800-\uDBFF]$/.test(text)

describe("the text of a custom tool's call", () => {
  test("comes out of the JSON of any writer, cut anywhere, and no piece ends within a character", () => {
    FastCheck.assert(
      FastCheck.property(
        AnyTexts,
        Numbers,
        Numbers,
        FastCheck.array(Blanks, { minLength: 6, maxLength: 6 }),
        (text, ways, cuts, blanks) => {
          const [a, b, c, d, e, f] = blanks
          const json = `${a}{${b}"input"${c}:${d}"${quoted(text, ways)}"${e}}${f}`
          expect(JSON.parse(json)).toEqual({ input: text })
          const pieces = read(cut(json, cuts))
          expect(pieces.join("")).toBe(text)
          expect(pieces.slice(0, -1).filter((piece) => text.isWellFormed() && endsInHalf(piece))).toEqual([])
        },
      ),
      { numRuns: 1000 },
    )
  })

  test("is there as soon as it can be", () => {
    expect(read(['{"input": "a', "b\\", 'n"', "}"])).toEqual(["a", "b", "\n", "", ""])
    expect(read(['{"input":"\\ud8', "3d", "\\ude00", "x", '"}'])).toEqual(["", "", "\u{1f600}", "x", "", ""])
    expect(read(['{"input":"\ud83d', "\ude00", '"}'])).toEqual(["", "\u{1f600}", "", ""])
  })

  test.each([
    ["*** Begin Patch\n{}", "*** Begin Patch\n{}"],
    ["  text", "  text"],
    ["", ""],
    [" ", " "],
    ["{}", ""],
    ['{"in', ""],
    ['{"input"', ""],
    ['{"input":5}', '{"input":5}'],
    ['{"text":"a"}', '{"text":"a"}'],
    ['{"\\u0069nput":"a"}', "a"],
    ['{"x":1,"input":"a"}', "a"],
    ['{"input": "a","x":1}', "a"],
    ["{ a: 1 }", "{ a: 1 }"],
    ["[1]", "[1]"],
    ['"a"', '"a"'],
    ['{"input":"a\\', "a"],
    ['{"input":"a\\u00', "a"],
    // What models write that escape too little.
    ['{"input":"\\d+ \\uzz"}', "\\d+ \\uzz"],
    ['{"input":"a\nb"}', "a\nb"],
    [`${" ".repeat(300)}{"input":"a"}`, "a"],
    [`${" ".repeat(300)}a`, `${" ".repeat(300)}a`],
  ])("where the model wrote %j, is %j, cut anywhere", (given, text) => {
    FastCheck.assert(FastCheck.property(Numbers, (cuts) => expect(read(cut(given, cuts)).join("")).toBe(text)))
    expect(read(given.split("")).join("")).toBe(text)
  })

  test("that is no JSON comes as it is said", () => {
    expect(read(["***", " Begin \ud83d", "\ude00"])).toEqual(["***", " Begin ", "\u{1f600}", ""])
  })

  test("goes into JSON and comes back", () => {
    FastCheck.assert(FastCheck.property(AnyTexts, (text) => expect(read([jsonOfInput(text)]).join("")).toBe(text)))
  })
})
