import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import type { Frame } from "../../../src/wire/framing/FrameReader.ts"
import { jsonArrayReader } from "../../../src/wire/framing/jsonArray.ts"
import { cutAt } from "../../support/hosts/hostScript.ts"
import { splits } from "../../support/recordings/recordings.ts"

/** A bound for the tests. */
const longest = 1_048_576

const encode = (text: string) => new TextEncoder().encode(text)

const readAll = (pieces: Iterable<Uint8Array>): ReadonlyArray<Frame> => {
  const reader = jsonArrayReader()
  return [...Array.from(pieces).flatMap((piece) => reader.push(piece)), ...reader.end()]
}

const dataOf = (text: string) => readAll([encode(text)]).map(({ data }) => data)

const Space = FastCheck.constantFrom("", " ", "\n", "\r\n", " \t")
const Elements = FastCheck.array(
  FastCheck.tuple(FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue()), FastCheck.boolean(), Space, Space),
  { maxLength: 6 },
)
const Cuts = FastCheck.array(FastCheck.nat(), { maxLength: 12 })

describe("jsonArrayReader", () => {
  test("gives the objects that were written, at any split of the bytes and with any white space", () => {
    FastCheck.assert(
      FastCheck.property(Elements, FastCheck.boolean(), Cuts, (elements, bom, cuts) => {
        const documents = elements.map(([value, pretty]) => JSON.stringify(value, null, pretty ? 2 : undefined))
        const written = elements.map(([, , before, after], at) => before + documents[at] + after).join(",")
        const bytes = encode(`${bom ? "\ufeff" : ""} [${written} ]\n`)
        const frames = documents.map((data) => ({ name: "", data }))
        expect(readAll(cutAt(bytes, cuts))).toEqual(frames)
        for (const { pieces } of splits(bytes, cuts.length)) expect(readAll(pieces)).toEqual(frames)
      }),
      { numRuns: 150 },
    )
  })

  test("gives the same at any split, whatever the bytes are", () => {
    const Piece = FastCheck.constantFrom(
      "[",
      "]",
      "{",
      "}",
      ",",
      '"',
      "\\",
      " ",
      "1",
      "null",
      '{"a":[1]}',
      "é",
      "\ufeff",
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(Piece, { maxLength: 20 }), Cuts, (pieces, cuts) => {
        const bytes = encode(pieces.join(""))
        const whole = readAll([bytes])
        expect(readAll(cutAt(bytes, cuts))).toEqual(whole)
        for (const split of splits(bytes, cuts.length)) expect(readAll(split.pieces)).toEqual(whole)
      }),
      { numRuns: 200 },
    )
  })

  test.each<[string, string, ReadonlyArray<string>]>([
    ["nothing", "", []],
    ["white space", " \r\n", []],
    ["an empty array", "[ ]", []],
    ["brackets and quotes in strings", '[{"a":"]}\\"{["},{}]', ['{"a":"]}\\"{["}', "{}"]],
    ["an array without its end", '[{"a":1}\n,\r\n{"b":[{}]}', ['{"a":1}', '{"b":[{}]}']],
    ["an object without its end", '[{},{"a":', ["{}", '{"a":']],
    ["an object that is alone", ' {"error":{}} ', ['{"error":{}}']],
    ["objects without a comma", "[{} {}]", ["{}", "{}]"]],
    ["a comma too many", "[{},]", ["{}", "]"]],
    ["elements that are no objects", "[1,{}]", ["1,{}]"]],
    ["what follows the array", "[{}] {}", ["{}", "{}"]],
    ["what is no array", "<html>no</html>", ["<html>no</html>"]],
  ])("%s", (_, text, documents) => {
    expect(dataOf(text)).toEqual([...documents])
    for (const { pieces } of splits(encode(text), 3))
      expect(readAll(pieces).map(({ data }) => data)).toEqual([...documents])
  })

  test("an object is given as soon as its last brace is there", () => {
    const reader = jsonArrayReader()
    expect(reader.push(encode('[{"a":{}'))).toEqual([])
    expect(reader.push(encode("}"))).toEqual([{ name: "", data: '{"a":{}}' }])
    expect(reader.push(encode("\n,\r\n{}]"))).toEqual([{ name: "", data: "{}" }])
    expect(reader.end()).toEqual([])
  })

  test("characters cut in two stay whole, bytes that are no UTF-8 become U+FFFD", () => {
    const bytes = Uint8Array.of(...encode('[{"😀'), 0xff, ...encode('":1}]'))
    for (const { pieces } of splits(bytes, 1)) expect(readAll(pieces)).toEqual([{ name: "", data: '{"😀\ufffd":1}' }])
  })

  test.each([longest - 1, longest, longest + 1])("an object of %d units, at any split", (length) => {
    const bytes = encode(`[{},{"a":"${"x".repeat(length - 8)}"},{}]`)
    for (const size of [bytes.length, 65_536, 999_999]) {
      const reader = jsonArrayReader(longest)
      const frames: Array<Frame> = []
      for (let at = 0; at < bytes.length; at += size) frames.push(...reader.push(bytes.subarray(at, at + size)))
      frames.push(...reader.end())
      expect([reader.overlong(), frames.length]).toEqual(length > longest ? [true, 1] : [false, 3])
    }
  })

  test("what is no array is not kept beyond the bound either", () => {
    const reader = jsonArrayReader(longest)
    for (let at = 0; at < 17; at++) reader.push(encode("x".repeat(65_536)))
    expect([reader.overlong(), reader.push(encode("[{}]")), reader.end()]).toEqual([true, [], []])
  })
})

describe("read as a host's stream", () => {
  const said = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }
  const read = (text: string) => {
    const stream = new HostStream({
      framing: "json-array",
      longestEvent: longest,
      decoder: { event: () => [said], end: () => [] },
      writer: { chunk: () => "a" },
      transparent: false,
      excludeReasoning: false,
      choices: 1,
    })
    const bytes = encode(text)
    for (let at = 0; at < bytes.length; at += 1001) stream.push(bytes.subarray(at, at + 1001))
    stream.end()
    return `${stream.state}: ${stream.failure?.reason}`
  }

  test.each<[string, string, string]>([
    ["a page", "<html>", "malformed"],
    ["null", "[null]", "malformed"],
    ["an object that does not end", '[{"a":', "malformed"],
    ["brackets that do not fit", '[{"a":]}]', "malformed"],
    ["nesting beyond the bound", `[{"a":${"[".repeat(64)}${"]".repeat(64)}}]`, "limit"],
    ["an object that is too long", `[{"a":"${"x".repeat(longest)}"}]`, "limit"],
    ["an array without a finish", '[{"a":1}]', "unreachable"],
  ])("%s", (_, text, reason) => expect(read(text)).toBe(`failed: ${reason}`))
})
