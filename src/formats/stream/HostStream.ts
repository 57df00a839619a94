/**
 * One streamed answer of a host, from its bytes to the caller's text: bytes → frames → canonical chunks → caller's
 * form, in one synchronous pass over each network read. The finish is withheld, so that the cost can be booked before
 * it is reported.
 */

import { HostFailed } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { ChatChunk, ChatChunkChoice, ChatResponse, ChatUsage } from "../../domain/request/chat.ts"
import { frameReader } from "../../wire/Framing.ts"
import { type Frame, type FrameReader, longestFrame } from "../../wire/framing/FrameReader.ts"
import { excessIn, isTooDeep, parsedAtOnce } from "../../wire/jsonDepth.ts"
import { splice } from "../../wire/splice.ts"
import { withShownAnswer, withShownTexts } from "../../wire/words/shownMembers.ts"
import { beginsAnswer, skim } from "../beyondLimit.ts"
import type { NativeWriter } from "../ChunkWriter.ts"
import { chunksOf, plainText, says, withoutReasoning } from "../delta.ts"
import type { Decoder } from "../Protocol.ts"
import { namedDetails, namedNative } from "../request/encryptedReasoning.ts"
import { Finishes, finishOnly, mostChoices, withoutFinish } from "./Finishes.ts"
import type { HostStreamOptions } from "./HostStreamOptions.ts"
import { modelSaid } from "./modelSaid.ts"
import { StreamedOutput } from "./StreamedOutput.ts"

export type HostStreamState =
  /** Nothing has come that a caller would see, so another host can still take over. */
  | "silent"
  | "speaking"
  /** The host completed its answer. Nothing is read after that. */
  | "ended"
  /** The host broke off or reported an error: see `failure`. */
  | "failed"

export class HostStream {
  state: HostStreamState = "silent"
  failure: HostFailed | undefined
  /** Bytes that were read. */
  bytes = 0
  /** Frames that were read. Comments do not count. */
  events = 0
  /** Bytes of an incomplete event: those read since the last one. */
  pending = 0
  /** Whether the gateway ended the answer before the host did. */
  isCut = false
  readonly output: StreamedOutput
  /** `ChatChunk.unfinished`. */
  isUnfinished = false
  /** Whether it has encrypted reasoning that got the name of its account. */
  isBound = false
  /** The model that its first two events say it is of. Some hosts begin with what their filter found. */
  modelSaid: string | undefined
  /** The last values of the host, written with the finish. */
  private readonly extras: { system_fingerprint?: string; service_tier?: string } = {}
  private readonly finishes = new Finishes()
  private readonly reader: FrameReader
  /** Present where plain text deltas can be spliced. */
  private readonly splicer
  private readonly native: NativeWriter | undefined
  private readonly options: HostStreamOptions
  private readonly longestEvent: number
  /** Events from the first long one on, which waits for its turn. */
  private waiting = noFrames
  private notJson = 0
  /** The host's error, while its usage may still come. */
  private failing: HostFailed | undefined
  private eventsSinceError = 0

  constructor(options: HostStreamOptions) {
    this.options = options
    this.longestEvent = options.longestEvent ?? longestFrame
    this.reader = frameReader(options.framing, this.longestEvent)
    this.native = options.native === true ? options.writer.native : undefined
    const isSpliceable = options.transparent && options.writer.spliceable !== undefined && this.native === undefined
    this.splicer = isSpliceable ? splice() : undefined
    this.output = new StreamedOutput(options)
  }

  /** The caller's text for `bytes`, from `start` to `end` where these are given; "" for nothing yet. */
  push(bytes: Uint8Array, start = 0, end = bytes.length): string {
    if (this.closed) return ""
    this.bytes += end - start
    this.pending += end - start
    const frames = this.reader.push(bytes, start, end)
    if (frames.length > 0) this.pending = 0
    const text = this.read(frames)
    this.failUnlessReadable()
    return text
  }

  /** Whether a long event waits for its turn. Push nothing more of the host until `goOn`. */
  get isWaiting(): boolean {
    return this.waiting.length > 0
  }

  /** Reads the waiting event and those after it. Returns the client's text. */
  goOn(): string {
    const { waiting } = this
    this.waiting = noFrames
    const text = this.read(waiting.slice(0, 1), nothingMore, true) + this.read(waiting.slice(1))
    this.failUnlessReadable()
    return text
  }

  /** What the host sends exceeds a limit of the gateway. */
  exceeds(cause: string): void {
    if (!this.closed) this.beyond(cause, this.reader.partial())
  }

  /** The host's body ended. Returns the rest of the caller's text. */
  end(): string {
    if (this.closed) return ""
    const text = this.read(this.reader.end(), () => this.lastChunks())
    this.failUnlessReadable()
    if (this.closed) return text
    if (this.finishes.areComplete) this.state = "ended"
    else if (this.events === 0 && this.bytes > 0) this.fail(malformed("the stream ended without a single event"))
    else this.fail(brokenOff)
    return text
  }

  /** An answer that the host sent as a whole, although a stream was asked for. Returns the caller's text. */
  whole(answer: ChatResponse): string {
    if (this.closed) return ""
    let text = ""
    for (const chunk of chunksOf(answer)) text += this.chunk(chunk)
    this.reserveMore()
    if (!this.closed) this.state = "ended"
    return text
  }

  /** `StreamedOutput.usage`. */
  get usage(): ChatUsage | undefined {
    return this.output.usage
  }

  /** `StreamedOutput.hasContent`. */
  get hasContent(): boolean {
    return this.output.hasContent
  }

  /** Whether the host sent a finish reason. */
  get hasFinish(): boolean {
    return this.finishes.withheld.length > 0
  }

  /** Whether every choice has finished, so that only the usage and the end are missing. */
  get hasAllFinishes(): boolean {
    return this.finishes.withheld.length >= this.options.choices
  }

  /** The last `ChatChunk.service_tier`. */
  get servedTier(): string | undefined {
    return this.extras.service_tier
  }

  private failUnlessReadable(): void {
    if (this.closed) return
    if (this.reader.overlong() || this.pending > this.longestEvent)
      this.beyond("an event is too long", this.reader.partial())
    const wrong = this.reader.fault?.()
    if (wrong !== undefined) this.fail(malformed(wrong))
  }

  private lastChunks(): string {
    if (this.failing === undefined) return this.chunks(this.lastDecoded())
    this.fail(this.failing)
    return ""
  }

  private get closed(): boolean {
    return this.state === "ended" || this.state === "failed"
  }

  /** The withheld chunk: the finish of every choice, without the usage. */
  finish(): ChatChunk {
    return { choices: this.finishes.withheld, ...this.extras }
  }

  /** `Sample.areToolCallsSound`; `undefined` also where the answer ended for want of tokens. */
  get areToolCallsSound(): boolean | undefined {
    const isCutShort = this.finishes.withheld.some((finish) => finish.finish_reason === "length")
    return isCutShort ? undefined : this.output.areToolCallsSound
  }

  /** Ends the answer for a reason of the gateway, `native`. A finish of the host is kept. */
  cut(native: string): void {
    this.isCut = true
    this.finishes.finishAll("length", native)
    this.state = "ended"
  }

  /**
   * An event exceeds a limit of the gateway. If the stream is an answer, or this event begins one, the stream ends
   * with `limit`, because every host would produce the same. Anything else is not an answer.
   */
  private beyond(cause: string, { name, data }: Frame): void {
    const json = skim(data)
    const decoded = json === undefined ? undefined : this.decoded(name, json)
    const chunks = decoded === undefined || decoded instanceof HostFailed ? [] : decoded
    const speaks = chunks.some(({ choices }) => choices.some((choice) => says(choice)))
    const left = (this.options.mostBytes?.() ?? Number.POSITIVE_INFINITY) - this.output.outputBytes
    this.output.said(Math.max(0, Math.min(Buffer.byteLength(data), left)))
    for (const { usage } of chunks) if (usage != null) this.output.report(usage)
    if (this.state === "speaking" || speaks || beginsAnswer(json)) this.fail(new HostFailed({ reason: "limit", cause }))
    else this.fail(decoded instanceof HostFailed ? decoded : malformed(cause))
  }

  private fail(failure: HostFailed): void {
    // The answer is complete, so an error after it changes nothing.
    if (this.hasAllFinishes) {
      // A host may have begun more choices than were asked for.
      this.finishes.finishAll("stop", "stop")
      this.state = "ended"
      return
    }
    this.failure = failure
    this.state = "failed"
  }

  /** An exception that comes as far as here is a defect of ours: those of decoders are caught where they are called. */
  private read(frames: ReadonlyArray<Frame>, last = nothingMore, hasTurn = false): string {
    if (this.isWaiting) {
      this.waiting = [...this.waiting, ...frames]
      return ""
    }
    let text = ""
    let at = 0
    try {
      for (const { name, data } of frames) {
        if (data.length > parsedAtOnce && this.options.waits === true && !hasTurn) {
          this.waiting = frames.slice(at)
          return text
        }
        at += 1
        text += this.frame(name, data)
        if (this.output.isAbove) this.reserveMore()
        if (this.closed) return text
      }
      text += last()
    } catch (cause) {
      this.failure = new HostFailed({ reason: "defect", cause })
      this.state = "failed"
    }
    return text
  }

  /** The output has used up what is reserved for it: reserves more, or cuts it. Nothing to do once it is complete. */
  private reserveMore(): void {
    while (this.output.isAbove) {
      if (this.closed || this.hasAllFinishes) return
      if (!this.output.extend()) this.cut("budget")
    }
  }

  private frame(name: string, data: string): string {
    this.events += 1
    if (this.failing !== undefined) return this.afterError(this.failing, name, data)
    // An event with a name goes to the decoder, which knows its meaning.
    const spliced = name === "" ? this.splicer?.exchange(data) : undefined
    if (spliced !== undefined && this.splicer !== undefined) {
      this.output.said(this.splicer.bytes())
      return this.options.writer.spliceable?.text(spliced) ?? ""
    }
    const plainBytes = this.native === undefined || this.output.tokens === 0 ? 0 : this.native.plainBytes(data)
    if (this.native !== undefined && plainBytes > 0) {
      this.output.said(plainBytes)
      this.output.hasContent = true
      return this.native.plain(data)
    }
    if (data === "[DONE]" && this.options.framing === "sse") return this.done()
    if (data === "") return ""
    const excess = data.length > parsedAtOnce ? excessIn(data) : isTooDeep(data) ? "depth" : undefined
    if (excess !== undefined) {
      this.beyond(excess === "depth" ? "an event is nested too deep" : "an event has too many values", { name, data })
      return ""
    }
    const json = parse(data)
    if (json === undefined) {
      this.notJson += 1
      if (this.notJson >= 3 || this.state === "silent") this.fail(malformed("an event is no JSON"))
      return ""
    }
    if (this.events < 3) this.modelSaid ??= modelSaid(json)
    const decoded = this.decoded(name, json)
    if (decoded instanceof HostFailed) {
      const { usage } = decoded
      if (usage != null) this.output.report(usage)
      const mayFollow = usage == null && this.options.usageAfterError === true
      if (mayFollow && this.state === "speaking") this.failing = decoded
      else this.fail(decoded)
      return ""
    }
    const text = this.chunks(decoded) + this.passed(name, json, data)
    if (this.closed) return text
    if (this.options.decoder.done?.() === true) return text + this.done()
    this.learn(data, decoded, text)
    return text
  }

  /**
   * A throw of the decoder is the plugin's fault. `plugin/checks/checkedProtocol.ts` has caught those of plugins
   * before, with the hook's name.
   */
  private decoded(name: string, json: unknown): ReturnType<Decoder["event"]> {
    try {
      return this.options.decoder.event(name, json)
    } catch (cause) {
      return new HostFailed({ reason: "plugin", cause })
    }
  }

  private lastDecoded(): ReturnType<Decoder["end"]> {
    try {
      return this.options.decoder.end()
    } catch (cause) {
      return new HostFailed({ reason: "plugin", cause })
    }
  }

  /**
   * Reads the usage that follows an error, and nothing else. The stream fails with it, or after a few events without
   * one.
   */
  private afterError(failure: HostFailed, name: string, data: string): string {
    this.eventsSinceError += 1
    const json = isTooDeep(data) ? undefined : parse(data)
    const decoded = json === undefined ? [] : this.decoded(name, json)
    const usage = decoded instanceof HostFailed ? undefined : decoded.findLast((chunk) => chunk.usage != null)?.usage
    if (usage != null) this.output.report(usage)
    if (usage != null || data === "[DONE]" || this.eventsSinceError >= mostEventsSinceError) this.fail(failure)
    return ""
  }

  /** The caller's text for an event of the caller's own form. */
  private passed(name: string, event: unknown, data: string): string {
    if (this.native === undefined || !isJsonObject(event) || this.closed) return ""
    const { shown, account } = this.options
    const hasAnswer = isJsonObject(event["response"]) || isJsonObject(event["message"])
    const own = shown !== undefined && hasAnswer ? withShownAnswer(event, shown) : event
    const said = account === undefined ? own : namedNative(own, account)
    const text = this.native.event(name, said, said === own ? data : JSON.stringify(said))
    if (text instanceof HostFailed) {
      this.fail(text)
      return ""
    }
    if (this.native.hasSpoken && this.state === "silent") this.state = "speaking"
    return text
  }

  /** Handles the protocol's last frame. */
  private done(): string {
    const text = this.chunks(this.lastDecoded())
    if (this.closed) return text
    if (!this.hasFinish && this.state === "silent") {
      this.fail(malformed("the stream was done before anything was said"))
      return text
    }
    this.finishes.finishAll("stop", "stop")
    this.state = "ended"
    return text
  }

  private chunks(decoded: ReturnType<Decoder["end"]>): string {
    if (decoded instanceof HostFailed) {
      this.fail(decoded)
      return ""
    }
    let text = ""
    for (const chunk of decoded) text += this.chunk(chunk)
    return text
  }

  private chunk(given: ChatChunk): string {
    const { shown: shownText } = this.options
    const chunk = shownText === undefined ? given : withShownTexts(given, shownText)
    if (chunk.system_fingerprint != null) this.extras.system_fingerprint = chunk.system_fingerprint
    if (chunk.service_tier != null) this.extras.service_tier = chunk.service_tier
    const passing: Array<ChatChunkChoice> = []
    for (const choice of chunk.choices) {
      const shown = this.options.excludeReasoning ? withoutReasoning(choice) : this.named(choice)
      this.output.add(choice)
      if (!this.finishes.begin(choice.index)) {
        this.fail(malformed(`more than ${mostChoices} choices`))
        return ""
      }
      if (choice.delta.tool_calls != null && choice.delta.tool_calls.length > 0) this.finishes.calls(choice.index)
      if (says(shown)) passing.push(choice.finish_reason === null ? shown : withoutFinish(shown))
      if (choice.finish_reason !== null) {
        const finish = finishOnly(shown)
        this.finishes.withhold(shownText === undefined ? finish : withShownTexts(finish, shownText))
        if (this.state === "silent") this.state = "speaking"
      }
    }
    if (chunk.unseen !== undefined) this.output.said(chunk.unseen)
    if (chunk.unfinished !== undefined) this.isUnfinished = chunk.unfinished
    if (chunk.usage != null) this.output.report(chunk.usage)
    if (passing.length === 0) return ""
    if (this.state === "silent") this.state = "speaking"
    if (this.native !== undefined) return ""
    const { usage: _, unseen: __, unfinished: ___, ...rest } = chunk
    return this.options.writer.chunk({ ...rest, choices: passing })
  }

  /** The choice, its encrypted reasoning with the name of its account. */
  private named(choice: ChatChunkChoice): ChatChunkChoice {
    const { account } = this.options
    const { reasoning_details: details } = choice.delta
    if (account === undefined || details == null) return choice
    const named = namedDetails(details, account)
    if (named === details) return choice
    this.isBound = true
    return { ...choice, delta: { ...choice.delta, reasoning_details: named } }
  }

  /** Learns the text around a plain text delta from a parsed chunk, so that later ones can be spliced. */
  private learn(data: string, chunks: ReadonlyArray<ChatChunk>, written: string): void {
    const { spliceable } = this.options.writer
    const [chunk, more] = chunks
    if (this.splicer === undefined || spliceable === undefined || chunk === undefined || more !== undefined) return
    const [choice, others] = chunk.choices
    if (choice === undefined || others !== undefined || choice.finish_reason !== null || chunk.usage != null) return
    const text = plainText(choice)
    if (text !== undefined && written !== "") this.splicer.learn(data, spliceable.json(written), text)
  }
}

/** Events after an error that are looked at for a usage. */
const mostEventsSinceError = 8

/** `cause`: what is wrong, for the log. */
const malformed = (cause: string): HostFailed => new HostFailed({ reason: "malformed", cause })

const unfinished = "the stream ended without a finish"
const brokenOff = new HostFailed({ reason: "unreachable", isAfterSending: true, cause: unfinished })

const noFrames: ReadonlyArray<Frame> = []

const nothingMore = (): string => ""

const parse = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
