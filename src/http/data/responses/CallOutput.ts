/** A call of a tool of the caller, as an output item of the Responses form. */
import type { JsonObject } from "../../../domain/Json.ts"
import type { CalledTool } from "./callerTools.ts"
import { type DeltaHead, deltaHead, type EventSink } from "./events.ts"
import { InputText } from "./inputText.ts"
import type { ItemStatus, OutputItem } from "./OutputItem.ts"

export class CallOutput implements OutputItem {
  readonly id: string
  readonly at: number
  private readonly callId: string
  private readonly called: CalledTool
  private readonly events: EventSink | undefined
  private readonly place: JsonObject
  private readonly head: DeltaHead | undefined
  /** Of a call that takes text; hosts write it as JSON. */
  private readonly input: InputText | undefined
  /** Its arguments, or its text, as far as they have come. */
  private said = ""

  constructor(id: string, at: number, callId: string, called: CalledTool, events: EventSink | undefined) {
    this.id = id
    this.at = at
    this.callId = callId
    this.called = called
    this.events = events
    this.place = { item_id: id, output_index: at }
    const { told } = called.kind
    this.head = told && deltaHead(`${told.event}.delta`, this.place)
    this.input = told?.member === "input" ? new InputText() : undefined
  }

  /** Adds a fragment of its arguments. */
  add(fragment: string): void {
    this.tell(this.input === undefined ? fragment : this.input.add(fragment))
  }

  written(status: ItemStatus): JsonObject {
    if (status !== "in_progress") this.tell(this.input?.end() ?? "")
    const { id, callId, said } = this
    const { kind, name, namespace } = this.called
    return {
      id,
      type: kind.call.type,
      status: status === "incomplete" && kind.hasNoIncomplete === true ? "in_progress" : status,
      call_id: callId,
      ...(kind.isNamed ? { name } : {}),
      ...(namespace === undefined ? {} : { namespace }),
      ...kind.itemOf(said),
    }
  }

  close(events: EventSink): void {
    this.tell(this.input?.end() ?? "")
    const { told } = this.called.kind
    if (told === undefined) return
    const named = told.member === "arguments" ? { name: this.called.name } : {}
    events.event(`${told.event}.done`, { ...this.place, ...named, [told.member]: this.said })
  }

  private tell(text: string): void {
    if (text === "") return
    this.said += text
    if (this.head !== undefined) this.events?.delta(this.head, text)
  }
}
