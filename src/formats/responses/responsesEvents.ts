/** Events of the Responses form: each has its type, also as the event's name, and the next number of the stream. */
import type { JsonObject } from "../../../domain/json/json.ts"
import { sseNamed } from "../../../wire/sse.ts"

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
