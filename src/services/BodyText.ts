/** The text of an answer that comes in pieces. */

const wholeDecoder = new TextDecoder()

/** Text that ends in an ASCII byte does not end within a character. */
const isAscii = (byte: number | undefined): boolean => byte !== undefined && byte < 0x80

/** Collects a body up to a limit, since hosts are not trusted. */
export class BodyText {
  /** Set when the text comes in several pieces, since a character may be cut in two. */
  private decoder: TextDecoder | undefined
  private readonly limit: number
  private text = ""
  private size = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** `false` once there is more than the limit. */
  add(bytes: Uint8Array): boolean {
    this.size += bytes.byteLength
    if (this.decoder === undefined && this.text === "" && isAscii(bytes.at(-1))) this.text = wholeDecoder.decode(bytes)
    else {
      this.decoder ??= new TextDecoder()
      this.text += this.decoder.decode(bytes, { stream: true })
    }
    return this.size <= this.limit
  }

  /** What was added, cut at the limit. */
  take(): string {
    const text = this.decoder === undefined ? this.text : this.text + this.decoder.decode()
    return this.size <= this.limit ? text : text.slice(0, this.limit)
  }
}
