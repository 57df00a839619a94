/**
 * Reads the events of a streamed chat. The host numbers blocks of content and calls of tools each from 0; reasoning has the
 * plan in it, which has no number.
 */
import {
  type ChatChunk,
  callIdOf,
  chunkOf,
  type Decoder,
  errorInBody,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  partOrder,
  textOr,
} from "headgate/plugin"
import { annotationsOf, finishReasonOf, plan, thought, usageOf } from "./answer.ts"

interface Call {
  readonly index: number
  /** Whether it has no arguments yet. */
  empty: boolean
}

/** A block of text: what was said in it, and how much before it. */
interface TextBlock {
  text: string
  readonly offset: number
}

const nothing: ReadonlyArray<ChatChunk> = []

export const cohereDecoder = (): Decoder => new CohereDecoder()

class CohereDecoder implements Decoder {
  private readonly calls = new Map<unknown, Call>()
  private readonly texts = new Map<unknown, TextBlock>()
  /** By block. The plan has the key `plan`. */
  private readonly thoughts = new Map<unknown, number>()
  private readonly order = partOrder()
  private readonly citations: Array<unknown> = []
  private textLength = 0
  private ended = false

  event(name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(data)) return nothing
    const { index, delta } = data
    const message = isJsonObject(delta) ? delta["message"] : undefined
    const piece: JsonObject = isJsonObject(message) ? message : {}
    switch (data["type"] ?? name) {
      case "content-delta":
      case "content-start":
        return this.content(index, piece["content"])
      case "tool-plan-delta":
        return this.think("plan", piece["tool_plan"])
      case "tool-call-start":
        return this.begin(index, piece["tool_calls"])
      case "tool-call-delta":
        return this.arguments(index, piece["tool_calls"])
      case "tool-call-end":
        return this.complete(index)
      case "citation-start":
        this.citations.push(piece["citations"])
        return nothing
      case "message-start":
        return chunkOf({ role: "assistant", content: "" })
      case "message-end":
        return this.finish(delta)
      default:
        return data["error"] == null ? nothing : errorInBody(data["error"])
    }
  }

  done(): boolean {
    return this.ended
  }

  /** Returns nothing, since nothing is held back. */
  end(): ReadonlyArray<ChatChunk> {
    return nothing
  }

  private content(place: unknown, content: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(content)) return nothing
    const { thinking, text } = content
    if (typeof thinking === "string") return this.think(place, thinking)
    if (typeof text !== "string" || text === "") return nothing
    const block = this.texts.get(place) ?? { text: "", offset: this.textLength }
    this.texts.set(place, block)
    block.text += text
    this.textLength += text.length
    this.order.text(text)
    return chunkOf({ content: text })
  }

  private think(place: unknown, text: unknown): ReadonlyArray<ChatChunk> {
    if (typeof text !== "string" || text === "") return nothing
    const index = this.thoughts.get(place) ?? this.order.reasoning()
    this.thoughts.set(place, index)
    const detail = place === "plan" ? plan(index, text) : thought(index, text)
    this.order.reasoned(index, detail)
    return chunkOf({ reasoning: text, reasoning_details: [detail] })
  }

  private begin(place: unknown, called: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(called)) return nothing
    const { id, function: named } = called
    const { name, arguments: written }: JsonObject = isJsonObject(named) ? named : {}
    const call = { index: this.calls.size, empty: !written }
    this.calls.set(place, call)
    const begun = { name: textOr(name, ""), arguments: textOr(written, "") }
    const given = callIdOf(id)
    this.order.call(given)
    return chunkOf({ tool_calls: [{ index: call.index, id: given, type: "function", function: begun }] })
  }

  private arguments(place: unknown, called: unknown): ReadonlyArray<ChatChunk> {
    const call = this.calls.get(place)
    const named = isJsonObject(called) ? called["function"] : undefined
    const written = isJsonObject(named) ? named["arguments"] : undefined
    if (call === undefined || typeof written !== "string" || written === "") return nothing
    call.empty = false
    return chunkOf({ tool_calls: [{ index: call.index, function: { arguments: written } }] })
  }

  /** A call without arguments gets `{}`. */
  private complete(place: unknown): ReadonlyArray<ChatChunk> {
    const call = this.calls.get(place)
    if (call === undefined || !call.empty) return nothing
    call.empty = false
    return chunkOf({ tool_calls: [{ index: call.index, function: { arguments: "{}" } }] })
  }

  private finish(delta: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    const { finish_reason: native, usage }: JsonObject = isJsonObject(delta) ? delta : {}
    if (typeof native !== "string") return malformed()
    const reason = finishReasonOf(native)
    if (typeof reason !== "string") return reason
    this.ended = true
    const counted = usageOf(usage)
    const order = this.order.entry()
    return [
      ...(order.length === 0 ? nothing : chunkOf({ reasoning_details: order })),
      ...[...this.calls.keys()].flatMap((place) => this.complete(place)),
      ...this.cited(),
      {
        choices: [{ index: 0, delta: { content: "" }, finish_reason: reason, native_finish_reason: native }],
        ...(counted === undefined ? {} : { usage: counted }),
      },
    ]
  }

  /** Places are converted when the whole text is known. */
  private cited(): ReadonlyArray<ChatChunk> {
    const [first] = this.texts.keys()
    const annotations = this.citations.flatMap((citation) => {
      const block = this.texts.get(isJsonObject(citation) ? (citation["content_index"] ?? first) : first)
      return block === undefined ? [] : annotationsOf(citation, block.text, block.offset)
    })
    return annotations.length === 0 ? nothing : chunkOf({ annotations })
  }
}
