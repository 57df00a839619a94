/**
 * A batch with more inputs than its host takes in one call. One attempt sends it in parts, one after another. It is
 * answered and charged as one. See docs/decisions/0098-long-batches.md.
 */
import { noUsage, parseUsage, type Usage } from "../../../domain/price/Usage.ts"
import type { ChatUsage } from "../../../domain/request/chat.ts"
import {
  type EmbeddingsRequest,
  type EmbeddingsResponse,
  embeddings,
  joined,
  usageOfAll,
} from "../../../domain/request/embeddings.ts"
import { tokensIn } from "../../../domain/request/estimate.ts"
import type { UnaryAnswer } from "../../../domain/request/Operation.ts"
import type { Encoded } from "../../../formats/Protocol.ts"
import { byteLength } from "../encodeFor.ts"

export interface Part {
  readonly request: EmbeddingsRequest
  readonly encoded: Encoded
}

/** The parts of a batch, and the answers so far. */
export class Batch {
  private readonly parts: ReadonlyArray<Part>
  private readonly answers: Array<EmbeddingsResponse> = []
  /** Total bytes of the answers so far. */
  bytesRead = 0
  /** The part that is sent now, or next. */
  private current: Part

  constructor(first: Part, parts: ReadonlyArray<Part>) {
    this.parts = parts
    this.current = first
  }

  /** The request of the current part. */
  get request(): EmbeddingsRequest {
    return this.current.request
  }

  get encoded(): Encoded {
    return this.current.encoded
  }

  /** Bytes of the bodies of all parts. */
  get bytes(): number {
    return this.parts.reduce((sum, { encoded: { body } }) => sum + byteLength(body), 0)
  }

  /** Adds the answer to the current part. Returns the joined answer; `undefined`: parts are left. */
  add(answer: UnaryAnswer): EmbeddingsResponse | undefined {
    if (embeddings.isAnswer(answer, this.request.payload)) this.answers.push(answer)
    const next = this.parts[this.answers.length]
    if (next === undefined) return joined(this.answers)
    this.current = next
    return undefined
  }

  get isAnswered(): boolean {
    return this.answers.length === this.parts.length
  }

  /** The host's usage of the answered parts and of one more; `undefined`: one of them was not counted. */
  usageWith(usage: ChatUsage | undefined): ChatUsage | undefined {
    return usageOfAll([...this.answers.map((answer) => answer.usage), usage])
  }

  /** The host's usage of the answered parts; `undefined`: none was answered, or one was not counted. */
  get counted(): Usage | undefined {
    return this.answers.length === 0 ? undefined : parseUsage(usageOfAll(this.answers.map(({ usage }) => usage)))
  }

  /** `counted`, plus an estimate of the current part. */
  get sent(): Usage {
    const bytes = this.parts.slice(this.counted === undefined ? 0 : this.answers.length, this.answers.length + 1)
    const estimated = tokensIn(bytes.reduce((sum, { encoded: { body } }) => sum + byteLength(body), 0))
    const { counted = noUsage } = this
    return { ...counted, promptTokens: counted.promptTokens + estimated }
  }
}
