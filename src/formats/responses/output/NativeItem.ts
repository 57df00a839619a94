/**
 * An output item of a host of the Responses form, as far as it has come: where the gateway ends a stream in the place of the
 * host, the item and its parts have to be ended with what was said.
 */
import { isJsonObject, type JsonObject } from "../../../domain/json/json.ts"

/** A kind of part: how its events are named, and where it belongs. */
interface Kind {
  /** Of its events: `<event>.delta`, `<event>.done`. */
  readonly event: string
  /** Of the events of the part as a whole: `<part>.added`, `<part>.done`. */
  readonly part: string
  readonly list: "content" | "summary"
  readonly index: "content_index" | "summary_index"
  readonly text: "text" | "refusal"
}

const content = { part: "response.content_part", list: "content", index: "content_index" } as const

const kinds: Readonly<Record<string, Kind>> = {
  output_text: { ...content, event: "response.output_text", text: "text" },
  refusal: { ...content, event: "response.refusal", text: "refusal" },
  reasoning_text: { ...content, event: "response.reasoning_text", text: "text" },
  summary_text: {
    event: "response.reasoning_summary_text",
    part: "response.reasoning_summary_part",
    list: "summary",
    index: "summary_index",
    text: "text",
  },
}

/** The type of the part that an event of its text belongs to. */
const typeOfEvent: ReadonlyMap<string, string> = new Map(
  Object.entries(kinds).flatMap(([type, { event }]) =>
    ["delta", "done"].map((end) => [`${event}.${end}`, type] as const),
  ),
)

/** Members of calls that come in pieces, by the beginning of the events' type. */
const inputs: Readonly<Record<string, string>> = {
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input",
}

interface Part {
  readonly kind: Kind
  readonly begun: JsonObject
  text: string
  isTextEnded: boolean
  isEnded: boolean
}

export interface Ending {
  readonly type: string
  readonly members: JsonObject
}

export class NativeItem {
  readonly begun: JsonObject
  /** As its host ended it. */
  done: JsonObject | undefined
  private readonly parts = { content: new Map<number, Part>(), summary: new Map<number, Part>() }
  private input = ""
  private isInputEnded = false

  constructor(begun: JsonObject) {
    this.begun = begun
  }

  add(type: string, event: JsonObject): void {
    const dot = type.lastIndexOf(".")
    const [head, end] = [type.slice(0, dot), type.slice(dot + 1)]
    if (Object.hasOwn(inputs, head)) {
      if (end === "done") this.isInputEnded = true
      else if (typeof event["delta"] === "string") this.input += event["delta"]
      return
    }
    const { part: whole, delta } = event
    const kind = typeOfEvent.get(type) ?? (isJsonObject(whole) ? String(whole["type"]) : "")
    const part = this.part(kind, event, isJsonObject(whole) ? whole : { type: kind })
    if (part === undefined) return
    if (typeof delta === "string" && end === "delta") part.text += delta
    if (end === "done") part.isTextEnded = true
    if (end === "done" && head === part.kind.part) part.isEnded = true
  }

  /** What ends the parts that are open. */
  endings(at: number): ReadonlyArray<Ending> {
    const place = { item_id: this.begun["id"], output_index: at }
    const endings: Array<Ending> = []
    for (const list of [this.parts.summary, this.parts.content]) {
      for (const [index, part] of list) {
        const { kind, text, isTextEnded, isEnded } = part
        const where = { ...place, [kind.index]: index }
        const logprobs = kind.event === "response.output_text" ? { logprobs: [] } : {}
        if (!isTextEnded)
          endings.push({ type: `${kind.event}.done`, members: { ...where, [kind.text]: text, ...logprobs } })
        if (!isEnded) endings.push({ type: `${kind.part}.done`, members: { ...where, part: written(part) } })
      }
    }
    const input = this.inputMember()
    if (input !== undefined && !this.isInputEnded) {
      const [event, member] = input
      endings.push({ type: `${event}.done`, members: { ...place, [member]: this.input } })
    }
    return endings
  }

  /** The item as its host ended it, or as far as it has come. */
  written(): JsonObject {
    if (this.done !== undefined) return this.done
    const { content: said, summary } = this.parts
    const input = this.inputMember()
    return {
      ...this.begun,
      ...(said.size === 0 ? {} : { content: Array.from(said.values(), written) }),
      ...(summary.size === 0 ? {} : { summary: Array.from(summary.values(), written) }),
      ...(input === undefined ? {} : { [input[1]]: this.input }),
      status: "incomplete",
    }
  }

  private inputMember(): readonly [event: string, member: string] | undefined {
    return Object.entries(inputs).find(([, member]) => typeof this.begun[member] === "string")
  }

  private part(type: string, event: JsonObject, begun: JsonObject): Part | undefined {
    const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
    const index = kind && event[kind.index]
    if (kind === undefined || typeof index !== "number") return undefined
    const known = this.parts[kind.list].get(index)
    if (known !== undefined) return known
    const part = { kind, begun, text: "", isTextEnded: false, isEnded: false }
    this.parts[kind.list].set(index, part)
    return part
  }
}

const written = ({ kind, begun, text }: Part): JsonObject => ({ ...begun, [kind.text]: text })
