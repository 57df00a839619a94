/** Output items as they are made of what a model says: messages, reasoning, images, and calls of the caller's tools. */

import { type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import type { Annotation, ReasoningDetail } from "../../domain/request/chat.ts"
import { CustomToolInput } from "../customTools.ts"
import {
  callInputs,
  type DeltaHead,
  deltaHead,
  type EventSink,
  endingsOf,
  type PartKind,
  partKinds,
} from "./responsesEvents.ts"
import { sealedContent, signedContent, withFormat } from "./responsesReasoning.ts"
import type { ToolIdentity } from "./tools/callerTools.ts"

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

interface Part {
  readonly kind: PartKind
  /** `ReasoningDetail.index` of its pieces. */
  readonly index: number | undefined
  readonly place: JsonObject
  readonly head: DeltaHead
  text: string
  readonly annotations: Array<JsonObject>
  readonly logprobs: Array<JsonObject>
}

const writtenPart = ({ kind: { type, text: member }, text, annotations, logprobs }: Part): JsonObject => ({
  type,
  [member]: text,
  ...(type === "output_text" ? { annotations, logprobs } : {}),
})

/** An item with parts that have a text. `events`: absent for a whole answer. */
abstract class ItemOfParts {
  readonly id: string
  readonly at: number
  protected readonly events: EventSink | undefined
  protected readonly parts: Array<Part> = []

  constructor(id: string, at: number, events: EventSink | undefined) {
    this.id = id
    this.at = at
    this.events = events
  }

  close(events: EventSink): void {
    for (const part of this.parts)
      for (const [type, members] of endingsOf(part.kind, part.place, part.text, writtenPart(part)))
        events.event(type, members)
  }

  protected begin(kind: PartKind, index?: number): Part {
    const place = { item_id: this.id, output_index: this.at, [kind.index]: this.partsIn(kind.list).length }
    const head = this.events === undefined ? noHead : deltaHead(`${kind.event}.delta`, place)
    const part: Part = { kind, index, place, head, text: "", annotations: [], logprobs: [] }
    this.parts.push(part)
    this.events?.event(`${kind.part}.added`, { ...place, part: writtenPart(part) })
    return part
  }

  protected append(part: Part, text: string, rest?: string): void {
    part.text += text
    this.events?.delta(part.head, text, rest)
  }

  protected partsIn(list: PartKind["list"]): ReadonlyArray<Part> {
    return this.parts.filter(({ kind }) => kind.list === list)
  }
}

/** What the assistant says. It has one text at most, and one refusal. */
export class MessageOutput extends ItemOfParts implements OutputItem {
  get text(): string {
    return this.parts.find(({ kind }) => kind === partKinds.output_text)?.text ?? ""
  }

  /** `logprobs`: of this text, in the canonical form. */
  addText(text: string, logprobs: unknown): void {
    const part = this.part(partKinds.output_text)
    if (logprobs == null) {
      this.append(part, text, ',"logprobs":[]')
      return
    }
    const probabilities = logprobsOf(logprobs)
    part.logprobs.push(...probabilities)
    this.append(part, text, `,"logprobs":${JSON.stringify(probabilities)}`)
  }

  addRefusal(text: string): void {
    this.append(this.part(partKinds.refusal), text)
  }

  /** `offset`: UTF-16 units of the answer's text before this message. */
  cite(annotation: Annotation, offset: number): void {
    const { annotations, place } = this.part(partKinds.output_text)
    const cited = urlCitation(annotation, offset)
    annotations.push(cited)
    const annotation_index = annotations.length - 1
    this.events?.event("response.output_text.annotation.added", { ...place, annotation_index, annotation: cited })
  }

  written(status: ItemStatus): JsonObject {
    return { id: this.id, type: "message", role: "assistant", status, content: this.parts.map(writtenPart) }
  }

  private part(kind: PartKind): Part {
    return this.parts.find((part) => part.kind === kind) ?? this.begin(kind)
  }
}

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
  objectsIn(objectIn(logprobs)["content"]).map((token) => ({
    ...logprobOf(token),
    top_logprobs: objectsIn(token["top_logprobs"]).map(logprobOf),
  }))

const logprobOf = ({ token, logprob, bytes }: JsonObject): JsonObject => ({ token, logprob, bytes: bytes ?? [] })

/** Whether a piece can be written in this form. */
export const saysReasoning = ({ text, summary, data, signature }: ReasoningDetail): boolean =>
  Boolean(text || summary || data || signature)

/** Parts of a summary, text, and what makes it readable for its host in a later turn. */
export class ReasoningOutput extends ItemOfParts implements OutputItem {
  /** Of the host's own naming. */
  private readonly givenId: string | undefined
  private readonly format: string | undefined
  /** Of its latest piece. */
  private index: number | undefined
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
    const givenId = first?.id || undefined
    const format = first === undefined ? undefined : (first.format ?? "unknown")
    super(givenId === undefined || isTaken(givenId) ? withFormat(ownId, format) : givenId, at, events)
    this.givenId = givenId
    this.format = format
    this.index = first?.index
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
    if (type === "reasoning.summary" && summary) this.say(partKinds.summary_text, summary, index)
    if (type === "reasoning.text" && text) this.addPlain(text)
    if (type === "reasoning.encrypted" && data) this.encrypted = (this.encrypted ?? "") + data
    if (signature) this.signature = (this.signature ?? "") + signature
  }

  addPlain(text: string): void {
    this.say(partKinds.reasoning_text, text, undefined)
  }

  written(status: ItemStatus): JsonObject {
    const { givenId, signature, encrypted: sealed, format = "unknown" } = this
    const content = this.partsIn("content")
    const text = content.map((part) => part.text).join("")
    const encrypted =
      sealed === undefined
        ? signature && signedContent(text, signature, format)
        : sealedContent(sealed, givenId, format)
    return {
      id: this.id,
      type: "reasoning",
      status,
      summary: this.partsIn("summary").map(writtenPart),
      ...(content.length === 0 ? {} : { content: content.map(writtenPart) }),
      ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
      ...(signature === undefined ? {} : { signature }),
      ...(this.format === undefined ? {} : { format }),
    }
  }

  private say(kind: PartKind, text: string, index: number | undefined): void {
    const last = this.partsIn(kind.list).at(-1)
    this.append(last !== undefined && last.index === index ? last : this.begin(kind, index), text)
  }
}

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

/** A call of a tool of the caller. */
export class CallOutput implements OutputItem {
  readonly id: string
  readonly at: number
  private readonly callId: string
  private readonly tool: ToolIdentity
  private readonly events: EventSink | undefined
  private readonly place: JsonObject
  private readonly head: DeltaHead | undefined
  /** Reads the text of a custom tool, which hosts write as JSON. */
  private readonly input: CustomToolInput | undefined
  /** Its arguments, or its text, as far as they have come. */
  private text = ""

  constructor(id: string, at: number, callId: string, tool: ToolIdentity, events: EventSink | undefined) {
    this.id = id
    this.at = at
    this.callId = callId
    this.tool = tool
    this.events = events
    this.place = { item_id: id, output_index: at }
    const { streamed } = tool.kind
    this.head = streamed && deltaHead(`${callInputs[streamed]}.delta`, this.place)
    this.input = streamed === "input" ? new CustomToolInput() : undefined
  }

  /** Adds a fragment of its arguments. */
  add(fragment: string): void {
    this.append(this.input === undefined ? fragment : this.input.add(fragment))
  }

  written(status: ItemStatus): JsonObject {
    if (status !== "in_progress") this.end(status)
    const { kind, name, namespace } = this.tool
    return {
      id: this.id,
      type: kind.call.type,
      status: status === "incomplete" && kind.hasNoIncomplete === true ? "in_progress" : status,
      call_id: this.callId,
      ...(kind.isNamed ? { name } : {}),
      ...(namespace === undefined ? {} : { namespace }),
      ...kind.itemOf(this.text),
    }
  }

  close(events: EventSink, status: ItemStatus): void {
    this.end(status)
    const { streamed } = this.tool.kind
    if (streamed === undefined) return
    const named = streamed === "arguments" ? { name: this.tool.name } : {}
    events.event(`${callInputs[streamed]}.done`, { ...this.place, ...named, [streamed]: this.text })
  }

  /** A function that is given nothing gets an empty object, which is JSON; not one whose arguments were cut off. */
  private end(status: ItemStatus): void {
    if (this.input !== undefined) this.append(this.input.end())
    else if (this.text === "" && status === "completed" && this.tool.kind.streamed === "arguments") this.append("{}")
  }

  private append(text: string): void {
    if (text === "") return
    this.text += text
    if (this.head !== undefined) this.events?.delta(this.head, text)
  }
}
