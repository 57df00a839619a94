/**
 * A batch of inputs that is longer than its host takes in one call. It is sent in parts, one after another, by one attempt, and is answered
 * and paid for as one. See docs/decisions/0098-long-batches.md.
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
import type { Encoded } from "../../../wire/Protocol.ts"
import { byteLength } from "../encodeFor.ts"

export interface Part {
  readonly request: EmbeddingsRequest
  readonly encoded: Encoded
}

/** What was sent of a batch, and what has come for it. */
export class Batch {
  private readonly parts: ReadonlyArray<Part>
  private readonly answers: Array<EmbeddingsResponse> = []
  /** Of the answers to its parts. */
  bytesRead = 0
  /** The part that is sent now, or is sent next. */
  private current: Part

  constructor(first: Part, parts: ReadonlyArray<Part>) {
    this.parts = parts
    this.current = first
  }

  /** Of the part that is sent now. */
  get request(): EmbeddingsRequest {
    return this.current.request
  }

  get encoded(): Encoded {
    return this.current.encoded
  }

  /** Of the bodies of all parts. */
  get bytes(): number {
    return this.parts.reduce((sum, { encoded: { body } }) => sum + byteLength(body), 0)
  }

  /** The answer to the part that was sent. Returns the one to all of the batch; `undefined`: a part is left. */
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

  /** What its host counted of the parts that were answered, and of one more; `undefined`: one of them was not counted. */
  usageWith(usage: ChatUsage | undefined): ChatUsage | undefined {
    return usageOfAll([...this.answers.map((answer) => answer.usage), usage])
  }

  /** What its host counted of the parts that were answered; `undefined`: none was, or one of them was not counted. */
  get counted(): Usage | undefined {
    return this.answers.length === 0 ? undefined : parseUsage(usageOfAll(this.answers.map(({ usage }) => usage)))
  }

  /** The same with an estimate of the part that is sent now. */
  get sent(): Usage {
    const bytes = this.parts.slice(this.counted === undefined ? 0 : this.answers.length, this.answers.length + 1)
    const estimated = tokensIn(bytes.reduce((sum, { encoded: { body } }) => sum + byteLength(body), 0))
    const { counted = noUsage } = this
    return { ...counted, promptTokens: counted.promptTokens + estimated }
  }
}
