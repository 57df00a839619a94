import { JsonCount, parsedAtOnce } from "../../wire/jsonDepth.ts"
import { Utf8Decoder } from "../../wire/Utf8Decoder.ts"

/** Collects the text of a body up to a limit, since hosts are not trusted. */
export class BodyText {
  /** Bytes received so far. */
  size = 0
  private readonly decoder = new Utf8Decoder()
  private readonly limit: number
  private text = ""

  /** `limit`: bytes. */
  constructor(limit: number) {
    this.limit = limit
  }

  /** Adds `bytes` from `start` to `end`. `false` once there is more than the limit. */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    this.size += end - start
    const text = this.decoder.decode(bytes, start, end)
    if (this.size > parsedAtOnce) this.count(this.text, text)
    this.text += text
    return this.size <= this.limit
  }

  /** Whether the text is so long that it is parsed in its own turn of the event loop. */
  get isLong(): boolean {
    return this.size > parsedAtOnce
  }

  /** What was added, cut at the limit. */
  take(): string {
    const text = this.text + this.decoder.end()
    return this.size <= this.limit ? text : text.slice(0, this.limit)
  }

  /** Examines a new part of a long text. `before`: the text that came before it. */
  protected count(_before: string, _text: string): void {}
}

/** The text of an answer with status 200. Counts its nesting and values as it arrives. */
export class AnswerText extends BodyText {
  private counted: JsonCount | undefined
  private readonly isOfVectors: boolean

  /** `isOfVectors`: numbers in lists are not counted. */
  constructor(limit: number, isOfVectors: boolean) {
    super(limit)
    this.isOfVectors = isOfVectors
  }

  /** The limit that a long text exceeds. Short texts are not counted here: parsing checks their nesting. */
  get excess(): JsonCount["excess"] {
    return this.counted?.excess
  }

  protected override count(before: string, text: string): void {
    if (this.counted === undefined) {
      this.counted = new JsonCount(this.isOfVectors)
      this.counted.add(before)
    }
    this.counted.add(text)
  }
}
