/**
 * A streamed answer in the formats whose answers are a list of choices: chunks as server-sent events, the finish with
 * its cost, and failures in the stream.
 */

import type { Failure } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Charge } from "../domain/money/Charge.ts"
import { noCost } from "../domain/price/price.ts"
import { noUsage } from "../domain/price/Usage.ts"
import type { ChatChunk, ChatChunkChoice } from "../domain/request/chat.ts"
import { sseComment, sseDone, sseEvent } from "../wire/sse.ts"
import type { AnswerNames } from "./AnswerWriter.ts"
import { chatError } from "./errorBody.ts"
import { tierOf, usageBody } from "./routerUsage.ts"
import type { StreamWriter } from "./StreamWriter.ts"

const nothing = { usage: noUsage, cost: noCost, upstream: noCost }

/** What differs between the forms whose chunks are a list of choices. Made for one answer. */
export interface ChunkShape extends Pick<StreamWriter, "spliceable"> {
  readonly object: string
  readonly choice: (choice: ChatChunkChoice) => JsonObject
}

/** `usageChunk`: `ChatRequest.usageChunk`. */
export const chunkWriter = (
  names: AnswerNames,
  host: Host | undefined,
  shape: ChunkShape,
  usageChunk: boolean,
): StreamWriter => new ChunkWriter(names, host, shape, usageChunk)

/** Writes one streamed answer. All its chunks begin with the same members, which are serialized once. */
class ChunkWriter implements StreamWriter {
  readonly spliceable: ChunkShape["spliceable"]
  readonly heartbeat = sseComment
  private readonly head: string
  /** Indexes of the choices beside the first one that have begun. */
  private readonly further: Array<number> = []
  private readonly names: AnswerNames
  private readonly host: Host | undefined
  private readonly choice: ChunkShape["choice"]
  private readonly usageChunk: boolean

  constructor(
    names: AnswerNames,
    host: Host | undefined,
    { object, choice, spliceable }: ChunkShape,
    usageChunk: boolean,
  ) {
    this.usageChunk = usageChunk
    this.names = names
    this.host = host
    this.choice = choice
    this.spliceable = spliceable
    const { generationId, created, model } = names
    const head = {
      id: generationId,
      ...(host === undefined ? {} : { provider: host.providerName }),
      model: host?.model ?? model,
      object,
      created,
    }
    this.head = JSON.stringify(head).slice(0, -1)
  }

  chunk({ choices, ...rest }: ChatChunk): string {
    for (const { index } of choices) if (index > 0 && !this.further.includes(index)) this.further.push(index)
    const extras = JSON.stringify(rest)
    const written = JSON.stringify(choices.map(this.choice))
    return sseEvent(`${this.head},"choices":${written}${extras === "{}" ? "}" : `,${extras.slice(1)}`}`)
  }

  /** The usage rides on the finish, which some clients read, and where it was asked for in a chunk of its own, as others do. */
  finish(chunk: ChatChunk, charge: Charge): string {
    const usage = usageBody(charge)
    const finish = this.chunk({
      ...chunk,
      service_tier: tierOf(chunk["service_tier"], this.host),
      openrouter_metadata: this.names.metadata?.(this.host),
      usage,
    })
    return finish + (this.usageChunk ? this.chunk({ choices: [], usage }) : "") + sseDone
  }

  failure(failure: Failure | undefined, charge: Charge | undefined): string {
    const rendered = this.names.rendered(failure)
    const { metadata, ...error } = chatError(rendered)
    const end = { delta: { content: "" }, finish_reason: "error", native_finish_reason: null } as const
    return (
      this.chunk({
        error: { ...error, metadata: metadata ?? { error_type: rendered.errorType } },
        choices: [0, ...this.further].map((index) => ({ index, ...end })),
        openrouter_metadata: this.names.metadata?.(this.host),
        usage: usageBody(charge ?? nothing),
      }) + sseDone
    )
  }
}
