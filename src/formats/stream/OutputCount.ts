/**
 * How much of an answer has come: what the host reports, what was seen of its output, and what of a budget is reserved for it.
 * Synchronous; made for one stream.
 */

import type { OutputAllowance } from "../../domain/money/reservation.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { bytesOfTokens, tokensIn } from "../../domain/request/estimate.ts"
import { allMedia, type MediaTokens, mediaTogether, noMedia } from "../../domain/request/MediaTokens.ts"
import type { Protocol } from "../Protocol.ts"

export class OutputCount {
  /** The usage report that counts so far, by the protocol's rule. */
  usage: ChatUsage | undefined
  /** UTF-8 bytes of the output so far, without images and sound (`domain/request/estimate.ts`: `bytesSaid`). */
  bytes = 0
  /** Images and sound so far, as estimated; `undefined`: none. */
  media: MediaTokens | undefined
  /** Output tokens so far, at least: each delta has one, and the host may report more. */
  tokens = 0
  /** The part of `bytes` that came before the last usage report. */
  private reportedBytes = 0
  /** `media` at the last report of usage. */
  private reportedMedia: MediaTokens | undefined
  /** As many bytes of text as have the tokens of `media`, for the comparison with `reservedBytes`. */
  private mediaBytes = 0
  private reservedTokens: number
  private reservedBytes: number
  private readonly rule: Protocol["usage"]
  private readonly output: OutputAllowance | undefined

  constructor(rule: Protocol["usage"], output: OutputAllowance | undefined) {
    this.rule = rule
    this.output = output
    this.reservedTokens = output?.outputTokens ?? Number.POSITIVE_INFINITY
    this.reservedBytes = bytesOfTokens(this.reservedTokens)
  }

  /** One delta of so many bytes; 0: none. */
  said(bytes: number): void {
    if (bytes === 0) return
    this.bytes += bytes
    this.tokens += 1
  }

  /** Counts the images and the sound of a delta. */
  showed(media: MediaTokens): void {
    this.media = mediaTogether(this.media, media)
    this.mediaBytes += bytesOfTokens(allMedia(media))
    this.tokens += 1
  }

  /** A report of the host, which includes the deltas of its own event: those are counted before. */
  report(usage: ChatUsage): void {
    this.usage = this.rule === "last" ? usage : larger(this.usage, usage)
    const { completion_tokens: counted } = usage
    if (isCount(counted) && counted > this.tokens) this.tokens = counted
    this.reportedBytes = this.bytes
    this.reportedMedia = this.media
  }

  /**
   * The usage of an answer that did not end by itself: the host's last report, and an estimate for what came after it. A host
   * may report once at the beginning, when there is next to nothing to count. `undefined`: it sent no report.
   */
  get usageSoFar(): ChatUsage | undefined {
    const { usage } = this
    const counted = usage?.completion_tokens
    if (usage === undefined || !isCount(counted)) return usage
    const since = tokensIn(this.bytes - this.reportedBytes)
    const { media, reportedMedia: before = noMedia } = this
    if (media === undefined || media === before) return { ...usage, completion_tokens: counted + since }
    const image = media.image - before.image
    const audio = media.audio - before.audio
    const details = usage.completion_tokens_details
    return {
      ...usage,
      completion_tokens: counted + since + image + audio,
      completion_tokens_details: {
        ...details,
        image_tokens: countOr0(details?.image_tokens) + image,
        audio_tokens: countOr0(details?.audio_tokens) + audio,
      },
    }
  }

  /** Whether there is more output than what is reserved for it. */
  get isAbove(): boolean {
    return this.bytes + this.mediaBytes > this.reservedBytes || this.tokens > this.reservedTokens
  }

  /** Reserves more; `false`: there is nothing left. */
  extend(): boolean {
    const more = this.output?.extend() ?? 0
    this.reservedTokens += more
    this.reservedBytes = bytesOfTokens(this.reservedTokens)
    return more > 0
  }
}

const countOr0 = (value: unknown): number => (isCount(value) ? value : 0)

const total = (usage: ChatUsage | undefined): number => {
  if (usage === undefined) return -1
  const { prompt_tokens: prompt, completion_tokens: completion } = usage
  return (typeof prompt === "number" ? prompt : 0) + (typeof completion === "number" ? completion : 0)
}

const larger = (before: ChatUsage | undefined, now: ChatUsage): ChatUsage =>
  before !== undefined && total(before) > total(now) ? before : now
