/** Output items of the Responses form, but for reasoning and calls: messages, images. */

import { isJsonObject, type JsonObject, objectsIn } from "../../../domain/json/json.ts"
import type { Annotation } from "../../../domain/request/chat.ts"
import { type DeltaHead, deltaHead, type EventSink } from "./responsesEvents.ts"

export type ItemStatus = "in_progress" | "completed" | "incomplete"

export interface OutputItem {
  readonly id: string
  /** Its place in the output, from 0. */
  readonly at: number
  readonly written: (status: ItemStatus) => JsonObject
  /** Reports the end of its parts. `status`: that it ends with. */
  readonly close: (events: EventSink, status: ItemStatus) => void
}

/** Of an answer without events. */
const noHead: DeltaHead = { type: "", json: "" }

type PartKind = "text" | "refusal"

interface Part {
  readonly kind: PartKind
  readonly place: JsonObject
  readonly head: DeltaHead
  text: string
  readonly annotations: Array<JsonObject>
  readonly logprobs: Array<JsonObject>
}

/** What the assistant says. It has one text at most, and one refusal. */
export class MessageOutput implements OutputItem {
  readonly id: string
  readonly at: number
  private readonly events: EventSink | undefined
  private readonly parts: Array<Part> = []

  constructor(id: string, at: number, events: EventSink | undefined) {
    this.id = id
    this.at = at
    this.events = events
  }

  get text(): string {
    return this.parts.find(({ kind }) => kind === "text")?.text ?? ""
  }

  /** `logprobs`: of this text, in the canonical form. */
  addText(text: string, logprobs: unknown): void {
    const part = this.part("text")
    part.text += text
    if (logprobs == null) {
      this.events?.delta(part.head, text, ',"logprobs":[]')
      return
    }
    const probabilities = logprobsOf(logprobs)
    part.logprobs.push(...probabilities)
    this.events?.delta(part.head, text, `,"logprobs":${JSON.stringify(probabilities)}`)
  }

  addRefusal(text: string): void {
    const part = this.part("refusal")
    part.text += text
    this.events?.delta(part.head, text)
  }

  /** `offset`: UTF-16 units of the answer's text before this message. */
  cite(annotation: Annotation, offset: number): void {
    const { annotations, place } = this.part("text")
    const cited = urlCitation(annotation, offset)
    annotations.push(cited)
    const annotation_index = annotations.length - 1
    this.events?.event("response.output_text.annotation.added", { ...place, annotation_index, annotation: cited })
  }

  written(status: ItemStatus): JsonObject {
    return { id: this.id, type: "message", role: "assistant", status, content: this.parts.map(writtenPart) }
  }

  close(events: EventSink): void {
    for (const part of this.parts) {
      const { kind, place, text, logprobs } = part
      if (kind === "refusal") events.event("response.refusal.done", { ...place, refusal: text })
      else events.event("response.output_text.done", { ...place, text, logprobs })
      events.event("response.content_part.done", { ...place, part: writtenPart(part) })
    }
  }

  private part(kind: PartKind): Part {
    const known = this.parts.find((part) => part.kind === kind)
    if (known !== undefined) return known
    const place = { item_id: this.id, output_index: this.at, content_index: this.parts.length }
    const type = kind === "text" ? "response.output_text.delta" : "response.refusal.delta"
    const head = this.events === undefined ? noHead : deltaHead(type, place)
    const part: Part = { kind, place, head, text: "", annotations: [], logprobs: [] }
    this.parts.push(part)
    this.events?.event("response.content_part.added", { ...place, part: writtenPart(part) })
    return part
  }
}

const writtenPart = ({ kind, text, annotations, logprobs }: Part): JsonObject =>
  kind === "refusal" ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations, logprobs }

/** Strict clients require places. */
const urlCitation = ({ url_citation: cited }: Annotation, offset: number): JsonObject => ({
  type: "url_citation",
  ...cited,
  start_index: placeFrom(cited["start_index"], offset),
  end_index: placeFrom(cited["end_index"], offset),
})

const placeFrom = (place: unknown, offset: number): number =>
  typeof place === "number" && Number.isInteger(place) ? Math.max(place - offset, 0) : 0

const logprobsOf = (logprobs: unknown): ReadonlyArray<JsonObject> =>
  objectsIn(isJsonObject(logprobs) ? logprobs["content"] : undefined).map((token) => ({
    ...logprobOf(token),
    top_logprobs: objectsIn(token["top_logprobs"]).map(logprobOf),
  }))

const logprobOf = ({ token, logprob, bytes }: JsonObject): JsonObject => ({ token, logprob, bytes: bytes ?? [] })

/** An image that the model made. */
export class ImageOutput implements OutputItem {
  readonly id: string
  readonly at: number
  private readonly result: string

  /** `result`: base64, or a URL. */
  constructor(id: string, at: number, result: string) {
    this.id = id
    this.at = at
    this.result = result
  }

  written(status: ItemStatus): JsonObject {
    const result = status === "in_progress" ? null : this.result
    return { id: this.id, type: "image_generation_call", status, result }
  }

  close(): void {}
}
