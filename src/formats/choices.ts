/**
 * Answers in the formats that have a list of choices, chat completions and legacy completions: whole ones; streamed
 * ones as server-sent events, with the finish and its cost, and failures in the stream.
 */

import type { Failure } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Charge } from "../domain/money/Charge.ts"
import type { ChatChoice, ChatChunk, ChatChunkChoice } from "../domain/request/chat.ts"
import { sseComment, sseDone, sseEvent } from "../wire/sse.ts"
import type { AnswerNames, AnswerWriter } from "./AnswerWriter.ts"
import { chatError } from "./errorBody.ts"
import { noCharge, tierOf, usageBody } from "./routerUsage.ts"
import type { StreamWriter, WriterFor } from "./StreamWriter.ts"

/** What differs between the forms whose answers are a list of choices. */
export interface AnswerShape {
  readonly object: string
  readonly choice: (choice: ChatChoice) => JsonObject
}

export const answerWriter =
  (
    { generationId, created, metadata }: AnswerNames,
    excludeReasoning: boolean,
    { object, choice }: AnswerShape,
  ): AnswerWriter =>
  (host, response) => {
    const { choices, usage: _, unseen: __, system_fingerprint: fingerprint, service_tier: tier, ...rest } = response
    const text = JSON.stringify({
      ...rest,
      id: generationId,
      provider: host.providerName,
      model: host.model,
      object,
      created,
      system_fingerprint: typeof fingerprint === "string" ? fingerprint : null,
      service_tier: tierOf(tier, host),
      openrouter_metadata: metadata?.(host),
      choices: (excludeReasoning ? choices.map(withoutReasoning) : choices).map(choice),
    })
    return (charge) => `${text.slice(0, -1)},"usage":${JSON.stringify(usageBody(charge))}}`
  }

const withoutReasoning = (choice: ChatChoice) => {
  const { reasoning_details: _, ...message } = choice.message
  return { ...choice, message: { ...message, reasoning: null } }
}

// --- streams

/** What differs between the forms whose chunks are a list of choices. */
export interface ChunkShape extends Pick<StreamWriter, "spliceable"> {
  readonly object: string
  readonly choice: (choice: ChatChunkChoice) => JsonObject
}

/**
 * `shapeFor` makes the shape of one host's answer. A shape may keep state, and the answer of a host that broke off
 * leaves none for the next host. `usageChunk`: `ChatRequest.usageChunk`.
 */
export const chunkWriters =
  (names: AnswerNames, shapeFor: () => ChunkShape, usageChunk: boolean): WriterFor =>
  (host) =>
    new ChunkWriter(names, host, shapeFor(), usageChunk)

/** Shared by nearly all streams, which have one choice. */
const noIndexes: ReadonlyArray<number> = []

/** Writes one streamed answer. All its chunks begin with the same members, which are serialized once. */
class ChunkWriter implements StreamWriter {
  readonly spliceable: ChunkShape["spliceable"]
  readonly heartbeat = sseComment
  private readonly head: string
  /** Indexes of the choices beside the first one that have begun. */
  private further = noIndexes
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
    for (const { index } of choices)
      if (index > 0 && !this.further.includes(index)) this.further = [...this.further, index]
    const extras = JSON.stringify(rest)
    const written = JSON.stringify(choices.map(this.choice))
    return sseEvent(`${this.head},"choices":${written}${extras === "{}" ? "}" : `,${extras.slice(1)}`}`)
  }

  /**
   * The usage is on the finish; where the client asked for `include_usage`, in a chunk of its own. See decision 103.
   */
  finish(chunk: ChatChunk, charge: Charge): string {
    const usage = usageBody(charge)
    const finish: ChatChunk = {
      ...chunk,
      service_tier: tierOf(chunk["service_tier"], this.host),
      openrouter_metadata: this.names.metadata?.(this.host),
    }
    const end = this.usageChunk
      ? this.chunk(finish) + this.chunk({ choices: [], usage })
      : this.chunk({ ...finish, usage })
    return end + sseDone
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
        usage: usageBody(charge ?? noCharge),
      }) + sseDone
    )
  }
}
