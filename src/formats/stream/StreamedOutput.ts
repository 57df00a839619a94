/**
 * The output of an answer so far: what the host reports, what was seen, and what of a budget is reserved for it.
 * Synchronous; made for one stream.
 */

import type { OutputAllowance } from "../../domain/money/reservation.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatChunkChoice, ChatUsage } from "../../domain/request/chat.ts"
import { bytesOfTokens, bytesSaid, hidesReasoning, mediaSaid, tokensIn } from "../../domain/request/estimate.ts"
import { allMedia, type MediaTokens, mediaTogether, noMedia } from "../../domain/request/MediaTokens.ts"
import { ToolCallFragments } from "../../domain/request/ToolCallFragments.ts"
import type { HostStreamOptions } from "./HostStreamOptions.ts"

export class StreamedOutput {
  /** The usage report that counts so far, by the protocol's rule. */
  usage: ChatUsage | undefined
  /** UTF-8 bytes of the output so far, without images and sound (`domain/request/estimate.ts`: `bytesSaid`). */
  outputBytes = 0
  /** Images and sound so far, as estimated; `undefined`: none. */
  outputMedia: MediaTokens | undefined
  /** Output tokens so far, at least: each delta has one, and the host may report more. */
  tokens = 0
  /** Whether text has come, not only reasoning. A model that thinks may be silent for longer. */
  hasContent = false
  /** Whether some of its reasoning came as text. */
  private reasonedAloud = false
  /** Whether there was more reasoning than its text (`hidesReasoning`). */
  private reasonedUnseen = false
  /** Kept only where the request has tools. */
  private toolCalls: ToolCallFragments | undefined
  /** The part of `outputBytes` that came before the last usage report. */
  private reportedBytes = 0
  /** `outputMedia` at the last report of usage. */
  private reportedMedia: MediaTokens | undefined
  /** As many bytes of text as have the tokens of `outputMedia`, for the comparison with `reservedBytes`. */
  private mediaBytes = 0
  private reservedTokens: number
  private reservedBytes: number
  private readonly rule: HostStreamOptions["usage"]
  private readonly allowance: OutputAllowance | undefined
  private readonly tools: HostStreamOptions["tools"]

  constructor({ usage: rule, output, tools }: Pick<HostStreamOptions, "usage" | "output" | "tools">) {
    this.rule = rule
    this.allowance = output
    this.tools = tools
    this.reservedTokens = output?.outputTokens ?? Number.POSITIVE_INFINITY
    this.reservedBytes = bytesOfTokens(this.reservedTokens)
  }

  /** One delta of so many bytes; 0: none. */
  said(bytes: number): void {
    if (bytes === 0) return
    this.outputBytes += bytes
    this.tokens += 1
  }

  /** Counts what a choice says, whether or not the caller is shown it. */
  add({ index, delta }: ChatChunkChoice): void {
    this.said(bytesSaid(delta))
    if (delta.reasoning) this.reasonedAloud = true
    if (hidesReasoning(delta)) this.reasonedUnseen = true
    const media = mediaSaid(delta)
    if (media !== undefined) {
      this.outputMedia = mediaTogether(this.outputMedia, media)
      this.mediaBytes += bytesOfTokens(allMedia(media))
      this.tokens += 1
      this.hasContent = true
    }
    if (delta.content || delta.tool_calls != null || delta.refusal) this.hasContent = true
    if (delta.tool_calls == null || this.tools === undefined) return
    this.toolCalls ??= new ToolCallFragments()
    this.toolCalls.add(index, delta.tool_calls)
  }

  /** Whether the model's reasoning came as text, and nothing indicated that there was more of it. */
  get showsReasoning(): boolean {
    return this.reasonedAloud && !this.reasonedUnseen
  }

  /** `Sample.areToolCallsSound` of a complete answer; `undefined`: the request has no tools. */
  get areToolCallsSound(): boolean | undefined {
    return this.tools === undefined ? undefined : (this.toolCalls?.areSound(this.tools) ?? true)
  }

  /** A report of the host, which includes the deltas of its own event: those are counted before. */
  report(usage: ChatUsage): void {
    this.usage = this.rule === "last" ? usage : larger(this.usage, usage)
    const { completion_tokens: counted } = usage
    if (isCount(counted) && counted > this.tokens) this.tokens = counted
    this.reportedBytes = this.outputBytes
    this.reportedMedia = this.outputMedia
  }

  /**
   * The usage of an answer that did not end by itself: the host's last report, and an estimate for what came after it. A host
   * may report once at the beginning, when there is next to nothing to count. `undefined`: it sent no report.
   */
  get usageSoFar(): ChatUsage | undefined {
    const { usage } = this
    const counted = usage?.completion_tokens
    if (usage === undefined || !isCount(counted)) return usage
    const since = tokensIn(this.outputBytes - this.reportedBytes)
    const { outputMedia: media, reportedMedia: before = noMedia } = this
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
    return this.outputBytes + this.mediaBytes > this.reservedBytes || this.tokens > this.reservedTokens
  }

  /** Reserves more; `false`: there is nothing left. */
  extend(): boolean {
    const more = this.allowance?.extend() ?? 0
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
