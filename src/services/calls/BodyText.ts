import { Utf8Decoder } from "../../wire/Utf8Decoder.ts"

/** Collects the text of a body up to a limit, since hosts are not trusted. */
export class BodyText {
  private readonly decoder = new Utf8Decoder()
  private readonly limit: number
  private text = ""
  private size = 0

  /** `limit`: bytes. */
  constructor(limit: number) {
    this.limit = limit
  }

  /** Adds `bytes` from `start` to `end`. `false` once there is more than the limit. */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    this.size += end - start
    this.text += this.decoder.decode(bytes, start, end)
    return this.size <= this.limit
  }

  /** What was added, cut at the limit. */
  take(): string {
    const text = this.text + this.decoder.end()
    return this.size <= this.limit ? text : text.slice(0, this.limit)
  }
}
