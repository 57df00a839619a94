/**
 * Decodes UTF-8 text that comes in pieces, as a `TextDecoder` does with `stream`: a character may be cut in two, bytes that are no
 * UTF-8 become U+FFFD, a byte order mark at the beginning is left out. A piece is a part of a larger read, usually of a `Buffer`,
 * which gives its text without a view of it: making one costs more than decoding a short piece
 * (docs/decisions/0039-fewer-objects-per-request.md).
 */
export class Utf8Decoder {
  private decoder: TextDecoder | undefined
  private isAtStart = true
  /** Whether `decoder` may have the beginning of a character. */
  private isCut = false

  /** The text of `bytes` from `start` to `end`, as far as its characters are complete. */
  decode(bytes: Uint8Array, start: number, end: number): string {
    if (start === end) return ""
    const mayBeMark = this.isAtStart && bytes[start] === 0xef
    const isWhole = isAscii(bytes[end - 1])
    if (isWhole && !this.isCut && !mayBeMark && Buffer.isBuffer(bytes)) {
      this.isAtStart = false
      return bytes.toString("utf8", start, end)
    }
    this.decoder ??= new TextDecoder("utf-8", { ignoreBOM: !this.isAtStart })
    this.isAtStart = false
    this.isCut = !isWhole
    return this.decoder.decode(bytes.subarray(start, end), { stream: true })
  }

  /** What is left when the text has ended: U+FFFD for a character without its end. */
  end(): string {
    return this.decoder?.decode() ?? ""
  }
}

/** Text that ends in an ASCII byte does not end within a character. */
const isAscii = (byte: number | undefined): boolean => byte !== undefined && byte < 0x80
