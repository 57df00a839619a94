/**
 * The body of a request, read with bounds on its size and on how slowly it may come. A compressed body has the same
 * bounds before and after it is decompressed. See docs/guarantees.md#g23 and #g30.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { BadRequest, BodyTooLarge, CallerGone, type RateLimited, TimedOut } from "../domain/failures/Failure.ts"
import { Wait } from "../services/request/EffectRunner.ts"
import type { BodyPlaces } from "../services/request/InFlight.ts"
import type { Ending, Lifetime } from "../services/request/RequestContext.ts"
import type { TickTimers, Timer } from "../services/request/Timers.ts"
import { Inflater, type InflaterReceiver } from "../upstream/http1/Inflater.ts"

/** How long no byte of a body may come, milliseconds. */
const silenceMs = 30_000
/** The least rate of a body, bytes per second, over windows of at least `rateWindowMs`. */
const leastRate = 1024
const rateWindowMs = 10_000

/**
 * A body of at most so many announced bytes is read at once, without a look at its parts. One that is not complete after
 * `silenceMs` came slower than `leastRate`, so that time bounds it.
 */
const shortBytes = (leastRate * silenceMs) / 1000

/** A request gets its place (`InFlight.place`) once so many bytes of its body have come. From then on they are counted. */
const uncountedBytes = 65_536

export type ReadFailure = BadRequest | BodyTooLarge | TimedOut | RateLimited | Ending

/** Which types of content a body may have, and what is said of others. */
export interface ContentType {
  /** `null`: the request names none. */
  readonly accepts: (type: string | null) => boolean
  readonly says: string
}

export const jsonType: ContentType = {
  accepts: (type) => type === null || /^application\/(?:[\w.+-]+\+)?json\b/i.test(type),
  says: "must be application/json",
}

/** What reading needs. Without `places` the request has no place and its bytes are not counted: on the control plane. */
export interface Reading {
  readonly limitBytes: number
  readonly timers: TickTimers
  readonly places: BodyPlaces | undefined
  /** Default: JSON. */
  readonly type?: ContentType
}

const encodings: ReadonlySet<string> = new Set(["identity", "gzip", "zstd"])

const unreadable = (path: string, message: string) => Effect.fail(new BadRequest({ issues: [{ path, message }] }))

/** All bytes of the body. Ends at once when the request is ended: at shutdown a body may still be on its way. */
export const readRequest = (
  request: Request,
  reading: Reading,
  lifetime: Lifetime,
): Effect.Effect<Uint8Array, ReadFailure> => {
  const { headers } = request
  const encoding = headers.get("content-encoding")
  if (encoding !== null && !encodings.has(encoding)) return unreadable("Content-Encoding", "must be gzip or zstd")
  const { limitBytes, type = jsonType } = reading
  if (!type.accepts(headers.get("content-type"))) return unreadable("Content-Type", type.says)
  const announced = headers.get("content-length")
  // `parseInt`, since a header that came twice has both values, such as "7, 7".
  const length = announced === null ? undefined : Number.parseInt(announced, 10)
  if (length !== undefined && length > limitBytes) return Effect.fail(new BodyTooLarge({ limitBytes }))
  return new ArrivingBody(request, reading, lifetime, length, encoding === "identity" ? null : encoding)
}

/** A body on its way, and its end. Whatever comes after the end is ignored. */
class ArrivingBody extends Wait<Uint8Array, ReadFailure> implements InflaterReceiver {
  private readonly request: Request
  private readonly reading: Reading
  private readonly lifetime: Lifetime
  private resume: ((exit: Exit.Exit<Uint8Array, ReadFailure>) => void) | undefined
  private timer: Timer | undefined
  private readonly ended = (): void => this.cutOff()
  private readonly length: number | undefined
  /** `null`: the body is not compressed. */
  private readonly encoding: string | null
  private inflater: Inflater | undefined
  private bytes = new Uint8Array(0)
  private size = 0
  /**
   * Set when too many bytes of bodies are kept already. The rest of this one is read and thrown away before this is answered: a caller that
   * still sends when the connection is closed sees the close and not the answer.
   */
  private refusal: ReadFailure | undefined
  private isOver = false
  /** Start of the present window of the rate, and the bytes in it. */
  private windowAt = 0
  private windowBytes = 0

  constructor(
    request: Request,
    reading: Reading,
    lifetime: Lifetime,
    length: number | undefined,
    encoding: string | null,
  ) {
    super()
    this.request = request
    this.reading = reading
    this.lifetime = lifetime
    this.length = length
    this.encoding = encoding
  }

  override register(resume: (exit: Exit.Exit<Uint8Array, ReadFailure>) => void): void {
    const { request, reading, lifetime, length } = this
    const { timers } = reading
    this.resume = resume
    lifetime.isReading = true
    this.windowAt = timers.now()
    this.timer = timers.set(silenceMs, () => this.silent())
    lifetime.onEnd(this.ended)
    if (lifetime.ending !== undefined) return
    if (length !== undefined && length <= shortBytes) this.readShort(request)
    else void this.read(request)
  }

  private readShort(request: Request): void {
    request.bytes().then(
      (bytes) => this.complete(bytes),
      () => this.fail(new CallerGone()),
    )
  }

  private async read(request: Request): Promise<void> {
    const reader = request.body?.getReader()
    try {
      for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
        if (this.isOver) break
        const failure = this.take(next.value)
        if (failure === undefined) continue
        this.fail(failure)
        break
      }
      if (this.isOver) await reader?.cancel()
      else this.complete(this.bytes.subarray(0, this.size))
    } catch {
      this.fail(new CallerGone())
    }
  }

  private take(part: Uint8Array): ReadFailure | undefined {
    const failure = this.keep(part)
    if (failure !== undefined) return failure
    this.timer?.restart(silenceMs)
    return this.rate(part.byteLength)
  }

  private keep(part: Uint8Array): BodyTooLarge | undefined {
    const { limitBytes } = this.reading
    const size = this.size + part.byteLength
    if (size > limitBytes) return new BodyTooLarge({ limitBytes })
    this.refusal ??= this.counted(size, part.byteLength)
    if (this.refusal === undefined) {
      this.growTo(size)
      this.bytes.set(part, this.size)
    }
    this.size = size
    return undefined
  }

  /** Counts bytes that came; why no more of the body may be kept, if so. */
  private counted(size: number, added: number): ReadFailure | undefined {
    const { places } = this.reading
    if (size <= uncountedBytes || places === undefined) return undefined
    const { lifetime } = this
    const refusal = places.place(lifetime) ?? places.keep(lifetime, lifetime.bodyBytes === 0 ? size : added)
    if (refusal === undefined) return undefined
    lifetime.releaseBody()
    this.bytes = new Uint8Array(0)
    return refusal
  }

  /** A time-out if the body comes too slowly. */
  private rate(added: number): TimedOut | undefined {
    this.windowBytes += added
    const now = this.reading.timers.now()
    const elapsedMs = now - this.windowAt
    if (elapsedMs < rateWindowMs) return undefined
    if (this.windowBytes * 1000 < leastRate * elapsedMs) {
      return new TimedOut({ phase: "body", afterMs: elapsedMs, because: "slow" })
    }
    this.windowAt = now
    this.windowBytes = 0
    return undefined
  }

  /** Grows the buffer to so many bytes at least. The announced length is not allocated at once, since the bytes may never come. */
  private growTo(size: number): void {
    if (size <= this.bytes.length) return
    const most = this.inflater === undefined ? (this.length ?? this.reading.limitBytes) : this.reading.limitBytes
    const buffer = this.bytes.buffer.transfer(
      Math.max(size, Math.min(most, Math.max(uncountedBytes, this.bytes.length * 2))),
    )
    this.bytes = new Uint8Array(buffer)
  }

  private complete(bytes: Uint8Array): void {
    // What is left to do takes as long as the machine needs.
    this.timer?.clear()
    if (this.encoding === null || this.refusal !== undefined) this.decoded(bytes)
    else if (!this.isOver) this.inflate(bytes, this.encoding)
  }

  /** Replaces the compressed bytes by those that they stand for. */
  private inflate(bytes: Uint8Array, encoding: string): void {
    this.inflater = new Inflater(encoding, this)
    this.lifetime.releaseBody()
    this.bytes = new Uint8Array(0)
    this.size = 0
    this.inflater.write(bytes)
    this.inflater.end()
  }

  onInflated(part: Uint8Array): void {
    const failure = this.isOver ? undefined : (this.keep(part) ?? this.refusal)
    if (failure === undefined) return
    this.inflater?.destroy()
    this.fail(failure)
  }

  onInflatedEnd(): void {
    this.decoded(this.bytes.subarray(0, this.size))
  }

  onInflateFailed(_: string, isLimit: boolean): void {
    const { limitBytes } = this.reading
    const broken = { path: "Content-Encoding", message: `the body is not valid ${this.encoding}` }
    this.fail(isLimit ? new BodyTooLarge({ limitBytes }) : new BadRequest({ issues: [broken] }))
  }

  onInflaterReady(): void {}

  private decoded(bytes: Uint8Array): void {
    if (this.isOver) return
    this.size = bytes.byteLength
    const refusal = this.refusal ?? this.reading.places?.place(this.lifetime)
    this.lifetime.isReading = false
    this.finish(refusal === undefined ? Exit.succeed(bytes) : Exit.fail(refusal))
  }

  private silent(): void {
    const isShort = this.length !== undefined && this.length <= shortBytes
    this.fail(new TimedOut({ phase: "body", afterMs: silenceMs, ...(isShort ? {} : { because: "silent" }) }))
  }

  /** The request was ended while its body came. Its deadline is then a time-out of the body, not of a host. */
  private cutOff(): void {
    const why = this.lifetime.ending ?? new CallerGone()
    this.fail(why instanceof TimedOut ? new TimedOut({ phase: "body", afterMs: why.afterMs }) : why)
  }

  private fail(failure: ReadFailure): void {
    if (!this.isOver) this.finish(Exit.fail(failure))
  }

  private finish(exit: Exit.Exit<Uint8Array, ReadFailure>): void {
    this.isOver = true
    this.inflater?.destroy()
    this.lifetime.bodyRead = this.size
    this.timer?.clear()
    this.lifetime.forget(this.ended)
    this.resume?.(exit)
  }
}
