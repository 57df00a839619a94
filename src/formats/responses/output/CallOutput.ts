/** A call of a tool of the caller, as an output item of the Responses form. */
import type { JsonObject } from "../../../domain/json/json.ts"
import { JsonCount } from "../../../wire/jsonDepth.ts"
import type { ToolIdentity } from "../tools/callerTools.ts"
import { CustomToolInput } from "./CustomToolInput.ts"
import type { ItemStatus, OutputItem } from "./OutputItem.ts"
import { type DeltaHead, deltaHead, type EventSink } from "./responsesEvents.ts"

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
    this.head = streamed && deltaHead(`${streamed.event}.delta`, this.place)
    this.input = streamed?.member === "input" ? new CustomToolInput() : undefined
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
    const { id, callId, text } = this
    const { kind, name, namespace } = this.tool
    return {
      id,
      type: kind.call.type,
      status: status === "incomplete" && kind.hasNoIncomplete === true ? "in_progress" : status,
      call_id: callId,
      ...(kind.isNamed ? { name } : {}),
      ...(namespace === undefined ? {} : { namespace }),
      ...kind.itemOf(text),
    }
  }

  close(events: EventSink, status: ItemStatus): void {
    this.end(status)
    const { streamed } = this.tool.kind
    if (streamed === undefined) return
    const named = streamed.member === "arguments" ? { name: this.tool.name } : {}
    events.event(`${streamed.event}.done`, { ...this.place, ...named, [streamed.member]: this.text })
  }

  /** A function that is given nothing gets an empty object, which is JSON; not one whose arguments were cut off. */
  private end(status: ItemStatus): void {
    if (this.input !== undefined) this.append(this.input.end())
    else if (this.text === "" && status === "completed" && this.tool.kind.streamed?.member === "arguments")
      this.append("{}")
  }

  private append(text: string): void {
    if (text === "") return
    this.text += text
    if (this.head !== undefined) this.events?.delta(this.head, text)
  }
}
