/** Events of the Responses form: each has its type, also as the event's name, and the next number of the stream. */
import type { JsonObject } from "../../domain/json/json.ts"
import { sseNamed } from "../../wire/sse.ts"

/** A kind of part that has a text: how its events are named, and where it belongs. */
export interface PartKind {
  readonly type: "output_text" | "refusal" | "reasoning_text" | "summary_text"
  /** The item's list that it stands in, and the member of an event with its place there. */
  readonly list: "content" | "summary"
  readonly index: "content_index" | "summary_index"
  /** The member with its text. */
  readonly text: "text" | "refusal"
  /** Of the events of its text: `<event>.delta`, `<event>.done`. */
  readonly event: string
  /** Of the events of the part as a whole: `<part>.added`, `<part>.done`. */
  readonly part: string
}

const inContent = { list: "content", index: "content_index", part: "response.content_part" } as const

export const partKinds: Readonly<Record<PartKind["type"], PartKind>> = {
  output_text: { type: "output_text", ...inContent, text: "text", event: "response.output_text" },
  refusal: { type: "refusal", ...inContent, text: "refusal", event: "response.refusal" },
  reasoning_text: { type: "reasoning_text", ...inContent, text: "text", event: "response.reasoning_text" },
  summary_text: {
    ...{ type: "summary_text", list: "summary", index: "summary_index", text: "text" },
    ...{ event: "response.reasoning_summary_text", part: "response.reasoning_summary_part" },
  },
}

/** The kind of part that an event of its text speaks of, by the event's type. */
export const kindOfEvent: ReadonlyMap<unknown, { readonly kind: PartKind; readonly isDelta: boolean }> = new Map(
  Object.values(partKinds).flatMap(
    (kind): ReadonlyArray<[string, { kind: PartKind; isDelta: boolean }]> => [
      [`${kind.event}.delta`, { kind, isDelta: true }],
      [`${kind.event}.done`, { kind, isDelta: false }],
    ],
  ),
)

/** The input of a call: how the names of its events begin, and the member of the item. */
export const callInputs = {
  arguments: "response.function_call_arguments",
  input: "response.custom_tool_call_input",
} as const

/** Of a stream that is written: a text and its part as they end. `part`: as the item has it. */
export const endingsOf = (
  { event, part: whole, text: member, type }: PartKind,
  place: JsonObject,
  text: string,
  part: JsonObject,
): readonly [
  text: readonly [type: string, members: JsonObject],
  part: readonly [type: string, members: JsonObject],
] => {
  const logprobs = type === "output_text" ? { logprobs: part["logprobs"] ?? [] } : {}
  return [
    [`${event}.done`, { ...place, [member]: text, ...logprobs }],
    [`${whole}.done`, { ...place, part }],
  ]
}

/** What the deltas of one text have in common. */
export interface DeltaHead {
  readonly type: string
  /** The JSON before the delta's text. */
  readonly json: string
}

export const deltaHead = (type: string, place: JsonObject): DeltaHead => ({
  type,
  json: `${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`,
})

/** The events of one stream, as text that was not taken yet. */
export class EventSink {
  private text = ""
  private next = 0

  event(type: string, members: JsonObject): void {
    this.text += sseNamed(type, JSON.stringify({ type, ...members, sequence_number: this.next++ }))
  }

  /** Written for each chunk, so the members that stay the same are serialized once. `rest`: the JSON of further members. */
  delta(head: DeltaHead, text: string, rest = ""): void {
    const json = `${head.json}${JSON.stringify(text)}${rest},"sequence_number":${this.next++}}`
    this.text += sseNamed(head.type, json)
  }

  take(): string {
    const { text } = this
    this.text = ""
    return text
  }
}
