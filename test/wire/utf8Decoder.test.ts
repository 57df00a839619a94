import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { Utf8Decoder } from "../../src/wire/Utf8Decoder.ts"

/** Bytes at which decoders differ: first and last ones of sequences, those that are never allowed, those of a byte order mark. */
const edges = [
  0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xbb, 0xf0, 0xf4, 0xf5, 0xff, 0x9f, 0xa0,
]
const byte = FastCheck.oneof(FastCheck.constantFrom(...edges), FastCheck.nat(255))
const texts = FastCheck.oneof(
  FastCheck.array(byte, { maxLength: 24 }).map((bytes) => Buffer.from(bytes)),
  FastCheck.string({ unit: "binary", maxLength: 12 }).map((text) => Buffer.from(`\ufeff${text}`)),
)

/** The text, a piece of so many bytes each time, every piece in the middle of a larger read. */
const decoded = (bytes: Buffer, sizes: ReadonlyArray<number>, reads: (read: Buffer) => Uint8Array): string => {
  const decoder = new Utf8Decoder()
  let text = ""
  let at = 0
  for (let piece = 0; at < bytes.length; piece++) {
    const end = Math.min(bytes.length, at + (sizes[piece % sizes.length] ?? 1))
    const read = Buffer.concat([Buffer.from([0xe2, 0x82]), bytes.subarray(at, end), Buffer.from([0xac, 0x41])])
    text += decoder.decode(reads(read), 2, 2 + end - at)
    at = end
  }
  return text + decoder.end()
}

const kinds = {
  "a Buffer": (read: Buffer): Uint8Array => read,
  "another array": (read: Buffer): Uint8Array => new Uint8Array(read),
}

describe("a decoder of text in pieces", () => {
  for (const [kind, reads] of Object.entries(kinds)) {
    test(`gives of ${kind} what a TextDecoder gives of the whole, wherever it is cut`, () => {
      const sizes = FastCheck.array(FastCheck.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })
      FastCheck.assert(
        FastCheck.property(texts, sizes, (bytes, cuts) => {
          expect(decoded(bytes, cuts, reads)).toBe(new TextDecoder().decode(bytes))
        }),
        { numRuns: 3000 },
      )
    })
  }

  test("keeps a byte order mark that is not at the beginning, also after a character that was cut", () => {
    const bytes = Buffer.from("a\ufeffb\ufeff€c")
    expect(decoded(bytes, [1, 4, 4, 1], (read) => read)).toBe("a\ufeffb\ufeff€c")
  })
})
