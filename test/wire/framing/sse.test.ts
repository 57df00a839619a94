import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { Frame as ReadFrame } from "../../../src/wire/framing/FrameReader.ts"
import { sseReader } from "../../../src/wire/framing/sse.ts"
import { sseComment, sseDone, sseEvent } from "../../../src/wire/sse.ts"
import { splits } from "../../support/recordings/recordings.ts"

const encode = (text: string) => new TextEncoder().encode(text)

const readAll = (pieces: ReadonlyArray<Uint8Array>): ReadonlyArray<ReadFrame> => {
  const reader = sseReader()
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
}

/** Reads the bytes, cut at these places. */
const readCut = (bytes: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<ReadFrame> => {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return readAll([0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length)))
}

const Line = FastCheck.string({ unit: "binary", maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, " "))
const Frame = FastCheck.record({
  name: Line,
  data: FastCheck.array(Line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n")),
})
const Space = FastCheck.boolean().map((space) => (space ? " " : ""))
const Noise = FastCheck.constantFrom("", ": ping", ":", "id: 7", "retry: 10", "unknown: x", "nonsense")
const LineEnd = FastCheck.constantFrom("\n", "\r\n", "\r")

/** One event, written in one of the many valid ways. */
const Written = FastCheck.record({
  frame: Frame,
  space: Space,
  noise: Noise,
  end: LineEnd,
  dataFirst: FastCheck.boolean(),
})

type WrittenFrame = typeof Written extends FastCheck.Arbitrary<infer T> ? T : never

const write = ({ frame, space, noise, end, dataFirst }: WrittenFrame): string => {
  // A value that begins with a space needs the optional one before it.
  const field = (name: string, value: string) => `${name}:${value.startsWith(" ") ? " " : space}${value}`
  const named = frame.name === "" ? [] : [field("event", frame.name)]
  const data = frame.data.split("\n").map((line) => field("data", line))
  const lines = [...(noise === "" ? [] : [noise]), ...(dataFirst ? [...data, ...named] : [...named, ...data])]
  return lines.map((line) => line + end).join("") + end
}

describe("sseReader", () => {
  test("gives the frames that were written, at any split of the bytes and in any way of writing them", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(Written, { maxLength: 6 }),
        FastCheck.boolean(),
        FastCheck.array(FastCheck.nat(), { maxLength: 12 }),
        (written, bom, cuts) => {
          const bytes = encode((bom ? "\ufeff" : "") + written.map(write).join(""))
          const frames = written.map(({ frame }) => frame)
          expect(readCut(bytes, cuts)).toEqual(frames)
          expect(readCut(bytes, [])).toEqual(frames)
        },
      ),
      { numRuns: 500 },
    )
  })

  test("gives the same frames for any bytes at any split", () => {
    const Byte = FastCheck.oneof(
      FastCheck.integer({ min: 0, max: 255 }),
      FastCheck.constantFrom(10, 13, 58, 32, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xef, 0xbb, 0xbf),
    )
    const Bytes = FastCheck.array(
      FastCheck.oneof(
        Byte.map((byte) => [byte]),
        FastCheck.constant([...encode("data:")]),
      ),
    )
    FastCheck.assert(
      FastCheck.property(Bytes, FastCheck.array(FastCheck.nat(), { maxLength: 12 }), (runs, cuts) => {
        const bytes = Uint8Array.from(runs.flat())
        const whole = readAll([bytes])
        expect(readCut(bytes, cuts)).toEqual(whole)
        for (const { pieces } of splits(bytes, cuts.length)) expect(readAll(pieces)).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ["an event", "data: a\n\n", [["", "a"]]],
    ["no space after the colon", "data:a\n\n", [["", "a"]]],
    ["only one space is taken", "data:  a\n\n", [["", " a"]]],
    ["several data lines", "data: a\ndata:\ndata: b\n\n", [["", "a\n\nb"]]],
    ["a data line without a colon", "data\n\n", [["", ""]]],
    ["a name", "event: error\ndata: a\n\n", [["error", "a"]]],
    [
      "a name is for one event",
      "event: x\ndata: a\n\ndata: b\n\n",
      [
        ["x", "a"],
        ["", "b"],
      ],
    ],
    ["a name without data", "event: x\n\ndata: b\n\n", [["", "b"]]],
    ["comments and other fields", ": hi\nid: 1\nretry: 5\ndata: a\n\n", [["", "a"]]],
    [
      "several events in one read",
      "data: a\n\ndata: b\n\n",
      [
        ["", "a"],
        ["", "b"],
      ],
    ],
    [
      "CRLF",
      "data: a\r\n\r\ndata: b\r\n\r\n",
      [
        ["", "a"],
        ["", "b"],
      ],
    ],
    [
      "CR",
      "data: a\r\rdata: b\r\r",
      [
        ["", "a"],
        ["", "b"],
      ],
    ],
    ["a byte order mark", "\ufeffdata: a\n\n", [["", "a"]]],
    [
      "a last event whose blank line never came",
      "data: a\n\ndata: b",
      [
        ["", "a"],
        ["", "b"],
      ],
    ],
    ["blank lines only", "\n\n\r\n\n", []],
    ["a field whose name only begins alike", "database: x\n\n", []],
    [
      "our own event, end and sign of life",
      `${sseComment}${sseEvent("{}")}${sseDone}`,
      [
        ["", "{}"],
        ["", "[DONE]"],
      ],
    ],
  ])("%s", (_, text, frames) => {
    const expected = frames.map(([name, data]) => ({ name, data }))
    for (const { pieces } of splits(encode(text), text.length)) expect(readAll(pieces) as unknown).toEqual(expected)
  })

  test("a character cut in two reads arrives whole", () => {
    const bytes = encode("data: 😀\n\n")
    expect(readAll([bytes.subarray(0, 8), bytes.subarray(8)])).toEqual([{ name: "", data: "😀" }])
  })

  test("bytes that are no UTF-8 become U+FFFD and the rest is kept", () => {
    const bytes = Uint8Array.of(...encode("data: a"), 0xff, ...encode("b"), 0xe2, 0x82, ...encode("c\n\n"))
    for (const { pieces } of splits(bytes, 1)) expect(readAll(pieces)).toEqual([{ name: "", data: "a\ufffdb\ufffdc" }])
  })

  test("a character that never ends becomes U+FFFD at the end", () => {
    expect(readAll([Uint8Array.of(...encode("data: a"), 0xe2, 0x82)])).toEqual([{ name: "", data: "a\ufffd" }])
  })

  test("an event is given as soon as its blank line is there", () => {
    const reader = sseReader()
    expect(reader.push(encode("data: a\n"))).toEqual([])
    expect(reader.push(encode("\n"))).toEqual([{ name: "", data: "a" }])
    expect(reader.push(encode("data: b\r\r"))).toEqual([{ name: "", data: "b" }])
    expect(reader.push(encode("\ndata: c\r\n\r"))).toEqual([{ name: "", data: "c" }])
    expect(reader.end()).toEqual([])
  })
})

describe("an event beyond a bound of 1 MiB", () => {
  const mebibyte = 1_048_576
  const long = `data: ${"x".repeat(mebibyte)}\n\ndata: after\n\n`
  const many = `${`data: ${"x".repeat(1000)}\n`.repeat(1100)}\ndata: after\n\n`
  const comment = `: ${"x".repeat(mebibyte)}\n\ndata: after\n\n`

  test.each([
    ["one line", long],
    ["many lines", many],
    ["a comment", comment],
  ])("%s: is not given, nor anything after it, however it is cut", (_, text) => {
    const before = encode("data: before\n\n")
    for (const size of [text.length, 100_000, 65_521]) {
      const reader = sseReader(mebibyte)
      const frames: Array<ReadFrame> = [...reader.push(before)]
      const bytes = encode(text)
      for (let at = 0; at < bytes.length; at += size) frames.push(...reader.push(bytes.subarray(at, at + size)))
      frames.push(...reader.end())
      expect(frames.map(({ data }) => data.slice(0, 10))).toEqual(["before"])
      expect(reader.overlong()).toBe(true)
    }
  })

  test("just below it is read", () => {
    const reader = sseReader(mebibyte)
    const data = "x".repeat(mebibyte - 6)
    expect(reader.push(encode(`data: ${data}\n\n`)).map((frame) => frame.data === data)).toEqual([true])
    expect(reader.overlong()).toBe(false)
  })
})
