import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { Frame } from "../../../src/wire/framing/FrameReader.ts"
import { ndjsonReader } from "../../../src/wire/framing/ndjson.ts"
import { cutAt } from "../../support/hosts/hostScript.ts"
import { splits } from "../../support/recordings/recordings.ts"

/** A bound for the tests. */
const longest = 1_048_576

const encode = (text: string) => new TextEncoder().encode(text)

const readAll = (pieces: Iterable<Uint8Array>): ReadonlyArray<Frame> => {
  const reader = ndjsonReader()
  return [...Array.from(pieces).flatMap((piece) => reader.push(piece)), ...reader.end()]
}

const dataOf = (text: string) => readAll([encode(text)]).map(({ data }) => data)

const LineEnd = FastCheck.constantFrom("\n", "\r\n", "\n\n", "\r\n\r\n", "\n \t\n")
const Lines = FastCheck.array(FastCheck.tuple(FastCheck.jsonValue(), FastCheck.boolean(), LineEnd), { maxLength: 8 })
const Cuts = FastCheck.array(FastCheck.nat(), { maxLength: 12 })

describe("ndjsonReader", () => {
  test("gives the documents that were written, at any split of the bytes and with any line ends", () => {
    FastCheck.assert(
      FastCheck.property(Lines, FastCheck.boolean(), FastCheck.boolean(), Cuts, (lines, bom, ended, cuts) => {
        const documents = lines.map(([value, spaced]) =>
          JSON.stringify(value, null, spaced ? " " : undefined).replaceAll("\n", ""),
        )
        const written = lines.map(([, , end], at) => documents[at] + (ended || at < lines.length - 1 ? end : ""))
        const bytes = encode((bom ? "\ufeff" : "") + written.join(""))
        const frames = documents.map((data) => ({ name: "", data }))
        expect(readAll(cutAt(bytes, cuts))).toEqual(frames)
        for (const { pieces } of splits(bytes, cuts.length)) expect(readAll(pieces)).toEqual(frames)
      }),
      { numRuns: 500 },
    )
  })

  test.each<[string, string, ReadonlyArray<string>]>([
    ["nothing", "", []],
    ["blank lines", "\n\r\n  \n", []],
    ["a last line without its line feed", '{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}']],
    ["a last line that ends in a carriage return", "{}\r", ["{}"]],
    ["a carriage return between tokens", '{"a":\r1}\n', ['{"a":\r1}']],
    ["what is no JSON is passed on, for the reader of frames to judge", "oops\n", ["oops"]],
  ])("%s", (_, text, documents) => expect(dataOf(text)).toEqual([...documents]))

  test("a document is given as soon as its line feed is there", () => {
    const reader = ndjsonReader()
    expect(reader.push(encode("{}"))).toEqual([])
    expect(reader.push(encode("\n{"))).toEqual([{ name: "", data: "{}" }])
    expect(reader.push(encode("}\n"))).toEqual([{ name: "", data: "{}" }])
    expect(reader.end()).toEqual([])
  })

  test("characters cut in two stay whole, bytes that are no UTF-8 become U+FFFD", () => {
    const bytes = Uint8Array.of(...encode('"😀'), 0xff, ...encode('"\n'))
    for (const { pieces } of splits(bytes, 1)) expect(readAll(pieces)).toEqual([{ name: "", data: '"😀\ufffd"' }])
  })

  test("a line without an end fails as soon as it is too long, and is not kept", () => {
    const reader = ndjsonReader(longest)
    for (let at = 0; at < 16; at++) reader.push(encode("x".repeat(65_536)))
    expect(reader.overlong()).toBe(false)
    reader.push(encode("x"))
    expect(reader.overlong()).toBe(true)
    expect([...reader.push(encode("\n{}\n")), ...reader.end()]).toEqual([])
  })

  test.each([longest - 1, longest, longest + 1])("a line of %d units, at any split", (length) => {
    const bytes = encode(`{}\n${"x".repeat(length)}\n{}\n`)
    for (const size of [bytes.length, 65_536, 999_999]) {
      const reader = ndjsonReader(longest)
      const frames: Array<Frame> = []
      for (let at = 0; at < bytes.length; at += size) frames.push(...reader.push(bytes.subarray(at, at + size)))
      frames.push(...reader.end())
      expect([reader.overlong(), frames.length]).toEqual(length > longest ? [true, 1] : [false, 3])
    }
  })
})
