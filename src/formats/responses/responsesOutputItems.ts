/** Output items: a client's, made of what a model says, and a host's, as they are read. */

import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Annotation, OutputImage, ReasoningDetail, ToolCall } from "../../domain/request/chat.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import { JsonCount } from "../../wire/jsonDepth.ts"
import { callIdOf } from "../callId.ts"
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
import { imageOf } from "./responsesParts.ts"
import { sealedContent, signedContent, withFormat } from "./responsesReasoning.ts"
import type { ToolIdentity } from "./responsesToolKinds.ts"

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
    const last = this.parts.findLast((part) => part.kind.list === kind.list)
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
  private readonly json = new JsonCount(false)

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

  /** Whether its arguments have ended in a stream, as far as brackets tell. */
  get isComplete(): boolean {
    return this.json.isClosed
  }

  /** Adds a fragment of its arguments. */
  add(fragment: string): void {
    if (this.events !== undefined) this.json.add(fragment)
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

// --- of a host

/** Citations with an address, of a text that begins at `offset` of the whole answer's. */
export const annotationsOf = (cited: unknown, offset: number): ReadonlyArray<Annotation> =>
  objectsIn(cited).flatMap(
    ({ type, url, title, start_index: start, end_index: end, ...rest }): ReadonlyArray<Annotation> =>
      type === "url_citation" && typeof url === "string"
        ? [
            {
              type,
              url_citation: {
                ...rest,
                url,
                title: textOr(title, ""),
                ...(typeof start === "number" ? { start_index: start + offset } : {}),
                ...(typeof end === "number" ? { end_index: end + offset } : {}),
              },
            },
          ]
        : [],
  )

/** The call that an item begins; `undefined`: it calls none of the caller's tools. A custom tool gets text, not JSON. */
export const callOf = ({ type, call_id: id, name }: JsonObject): ToolCall | undefined => {
  const kind = type === "function_call" ? "function" : type === "custom_tool_call" ? "custom" : undefined
  return kind && { id: callIdOf(id), type: kind, function: { name: textOr(name, ""), arguments: "" } }
}

/** What a call gives its tool: JSON, which some hosts write as the object itself, or the text of a custom tool. */
export const givenIn = ({ type, input, arguments: given }: JsonObject): string => {
  if (type === "custom_tool_call") return textOr(input, "")
  return isJsonObject(given) ? JSON.stringify(given) : textOr(given, "")
}

/** A function that is given nothing gets an empty object, unless its call was cut off. */
export const nothingGiven = ({ type, status }: JsonObject): string =>
  type === "function_call" && status !== "incomplete" ? "{}" : ""

export const imagesOf = ({ result, output_format: format }: JsonObject): ReadonlyArray<OutputImage> =>
  typeof result === "string" && result !== "" ? [imageOf(result, format)] : []

type PlacedPart = readonly [kind: PartKind, at: number, part: JsonObject]

/** The parts of an item, each with its kind. SGLang called texts `text` (sglang#12652), and a text may stand for its only part. */
export const partsOf = ({ type, content, summary }: JsonObject): ReadonlyArray<PlacedPart> => {
  if (type === "reasoning") {
    const { summary_text, reasoning_text } = partKinds
    return [
      ...objectsIn(summary).map((part, at) => [summary_text, at, part] as const),
      ...objectsIn(content).map((part, at) => [reasoning_text, at, part] as const),
    ]
  }
  const parts = typeof content === "string" ? [{ type: "output_text", text: content }] : objectsIn(content)
  return parts.flatMap((part: JsonObject, at): ReadonlyArray<PlacedPart> => {
    if (part["type"] === "refusal") return [[partKinds.refusal, at, part]]
    return part["type"] === "output_text" || part["type"] === "text" ? [[partKinds.output_text, at, part]] : []
  })
}

/**
 * UTF-8 bytes of what the host has made of a conversation, whatever it calls the item: output that is no text, and that other
 * forms do not have. Encrypted reasoning is counted as reasoning.
 */
export const compactedBytes = ({ encrypted_content: data }: JsonObject): number => bytesOf(data)
