/** How fast a stream moves: since when its host is silent or slow, and since when its caller takes nothing. It moves no bytes. */
import type { HostStream } from "../../formats/stream/HostStream.ts"

/** Milliseconds, bytes per second. */
export interface PaceLimits {
  /** How long a host may be silent between events. */
  readonly idleMs: number
  /** The same while a model thinks before its first text. */
  readonly thinkingIdleMs: number
  /** How long a caller may take no bytes. */
  readonly clientStallMs: number
  /** The least rate of a host, over a minute. */
  readonly minBytesPerSecond: number
}

const heartbeatMs = 5000
const slowWindowMs = 60_000
/** How long to wait for the end of the stream after every choice has finished. */
const afterFinishMs = 5000

type Progress = Pick<HostStream, "bytes" | "hasAllFinishes" | "hasContent">

export class StreamPace {
  /** Events of the host so far. */
  events = 0
  private readonly limits: PaceLimits
  /** Since when the host is not read, because too much waits for the caller; `undefined`: it is read. */
  private fullSince: number | undefined
  /** When the caller was last seen to take something, or to have all. */
  private readAt: number
  /** The first write after that. */
  private unreadSince: number | undefined
  private lastEvent: number
  private lastWrite: number
  private windowStart: number
  private windowBytes = 0

  constructor(limits: PaceLimits, now: number) {
    this.limits = limits
    this.lastEvent = this.lastWrite = this.windowStart = this.readAt = now
  }

  /** How often to look. */
  get tickMs(): number {
    const { idleMs, clientStallMs } = this.limits
    return Math.min(1000, idleMs, clientStallMs)
  }

  get isFull(): boolean {
    return this.fullSince !== undefined
  }

  /** A host answers. */
  hostBegan(now: number, stream: Progress | undefined): void {
    this.lastEvent = this.windowStart = now
    this.windowBytes = stream?.bytes ?? 0
  }

  hostSpoke(now: number, events: number): void {
    this.events = events
    this.lastEvent = now
  }

  wrote(now: number): void {
    this.lastWrite = now
    this.unreadSince ??= now
  }

  callerIsFull(now: number): void {
    this.fullSince ??= now
  }

  /** The pause does not count as silence of the host, which was not read meanwhile. */
  callerDrained(now: number): void {
    const paused = now - (this.fullSince ?? now)
    this.fullSince = undefined
    this.lastEvent += paused
    this.windowStart += paused
  }

  /**
   * What is wrong now. `isRead`: `StreamOutput.isRead`. `stream`: of the host that answers. `quiet`: nothing is, but nothing was written for
   * a while either.
   */
  look(
    now: number,
    isRead: boolean,
    stream: Progress | undefined,
  ): "caller-stalled" | "host-stalled" | "quiet" | undefined {
    if (isRead) {
      this.readAt = now
      this.unreadSince = undefined
    } else if (now - (this.unreadSince ?? this.readAt) >= this.limits.clientStallMs) return "caller-stalled"
    if (this.fullSince !== undefined) return undefined
    if (stream !== undefined && (this.isSilent(now, stream) || this.isTooSlow(now, stream))) return "host-stalled"
    return now - this.lastWrite >= heartbeatMs ? "quiet" : undefined
  }

  private isSilent(now: number, { hasAllFinishes, hasContent }: Progress): boolean {
    const { idleMs, thinkingIdleMs } = this.limits
    const limitMs = hasAllFinishes ? afterFinishMs : hasContent ? idleMs : thinkingIdleMs
    return now - this.lastEvent >= limitMs
  }

  /** Whether the host sent fewer bytes in the last full minute than the least rate. */
  private isTooSlow(now: number, stream: Progress): boolean {
    if (now - this.windowStart < slowWindowMs) return false
    const bytes = stream.bytes - this.windowBytes
    this.windowStart = now
    this.windowBytes = stream.bytes
    // A host that sent nothing is handled by the limits on silence.
    return bytes > 0 && bytes < (this.limits.minBytesPerSecond * slowWindowMs) / 1000
  }
}
