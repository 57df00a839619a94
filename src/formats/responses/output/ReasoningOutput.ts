/** A reasoning item of the output: parts of a summary, text, and what makes it readable for its host in a later turn. */

import type { JsonObject } from "../../../domain/json/json.ts"
import type { ReasoningDetail } from "../../../domain/request/chat.ts"
import { sealedContent, signedContent, withFormat } from "../responsesReasoning.ts"
import type { ItemStatus, OutputItem } from "./OutputItem.ts"
import { type DeltaHead, deltaHead, type EventSink } from "./responsesEvents.ts"

type PartKind = "summary" | "text"

interface Part {
  readonly kind: PartKind
  /** `ReasoningDetail.index` of its pieces. */
  readonly index: number | undefined
  readonly place: JsonObject
  readonly head: DeltaHead
  text: string
}

/** Whether a piece can be written in this form. */
export const saysReasoning = ({ text, summary, data, signature }: ReasoningDetail): boolean =>
  Boolean(text || summary || data || signature)

export class ReasoningOutput implements OutputItem {
  readonly id: string
  readonly at: number
  /** Of the host's own naming. */
  private readonly givenId: string | undefined
  private readonly format: string | undefined
  /** Of its latest piece. */
  private index: number | undefined
  private readonly events: EventSink | undefined
  private readonly parts: Array<Part> = []
  private encrypted: string | undefined
  private signature: string | undefined

  /**
   * `first`: its first piece, which is not added yet; `undefined`: its host gives reasoning as plain text. `isTaken`:
   * whether another item has an id already: hosts may repeat one.
   */
  constructor(
    ownId: string,
    at: number,
    first: ReasoningDetail | undefined,
    events: EventSink | undefined,
    isTaken: (id: string) => boolean,
  ) {
    this.givenId = first?.id || undefined
    this.at = at
    this.format = first === undefined ? undefined : (first.format ?? "unknown")
    const { givenId } = this
    this.id = givenId === undefined || isTaken(givenId) ? withFormat(ownId, this.format) : givenId
    this.index = first?.index
    this.events = events
  }

  /** Whether its host gives reasoning as plain text. */
  get isPlain(): boolean {
    return this.format === undefined
  }

  /** Whether a piece belongs to this item: one of the same block, or of the same id. */
  takes({ format, id, index, type }: ReasoningDetail): boolean {
    if (this.format !== (format ?? "unknown")) return false
    if (id && id !== this.givenId) return false
    const sameBlock = index === undefined || this.index === undefined || index === this.index
    if (!sameBlock && !id) return false
    // After encrypted content only more of it, in the same block.
    return this.encrypted === undefined || (type === "reasoning.encrypted" && index !== undefined && sameBlock)
  }

  add({ type, text, summary, data, signature, index }: ReasoningDetail): void {
    this.index = index
    if (type === "reasoning.summary" && summary) this.append("summary", summary, index)
    if (type === "reasoning.text" && text) this.append("text", text, undefined)
    if (type === "reasoning.encrypted" && data) this.encrypted = (this.encrypted ?? "") + data
    if (signature) this.signature = (this.signature ?? "") + signature
  }

  addPlain(text: string): void {
    this.append("text", text, undefined)
  }

  written(status: ItemStatus): JsonObject {
    const summary = this.textsOf("summary").map((text) => ({ type: "summary_text", text }))
    const texts = this.textsOf("text")
    const content = texts.map((text) => ({ type: "reasoning_text", text }))
    const format = this.format ?? "unknown"
    const encrypted =
      this.encrypted === undefined
        ? this.signature && signedContent(texts.join(""), this.signature, format)
        : sealedContent(this.encrypted, this.givenId, format)
    return {
      id: this.id,
      type: "reasoning",
      status,
      summary,
      ...(content.length === 0 ? {} : { content }),
      ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
      ...(this.signature === undefined ? {} : { signature: this.signature }),
      ...(this.format === undefined ? {} : { format: this.format }),
    }
  }

  close(events: EventSink): void {
    for (const part of this.parts) endPart(part, events)
  }

  private append(kind: PartKind, text: string, index: number | undefined): void {
    const part = this.parts.findLast((one) => one.kind === kind)
    const into = part !== undefined && part.index === index ? part : this.begin(kind, index)
    into.text += text
    this.events?.delta(into.head, text)
  }

  private begin(kind: PartKind, index: number | undefined): Part {
    const at = this.textsOf(kind).length
    const where = kind === "summary" ? { summary_index: at } : { content_index: at }
    const place = { item_id: this.id, output_index: this.at, ...where }
    const type = kind === "summary" ? "response.reasoning_summary_text.delta" : "response.reasoning_text.delta"
    const part: Part = { kind, index, place, head: deltaHead(type, place), text: "" }
    this.parts.push(part)
    const added = kind === "summary" ? "response.reasoning_summary_part.added" : "response.content_part.added"
    this.events?.event(added, { ...place, part: writtenPart(part) })
    return part
  }

  private textsOf(kind: PartKind): ReadonlyArray<string> {
    return this.parts.filter((part) => part.kind === kind).map(({ text }) => text)
  }
}

const writtenPart = ({ kind, text }: Part) => ({ type: kind === "summary" ? "summary_text" : "reasoning_text", text })

const endPart = (part: Part, events: EventSink): void => {
  const { kind, place, text } = part
  const [textDone, partDone] =
    kind === "summary"
      ? ["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"]
      : ["response.reasoning_text.done", "response.content_part.done"]
  events.event(textDone, { ...place, text })
  events.event(partDone, { ...place, part: writtenPart(part) })
}
