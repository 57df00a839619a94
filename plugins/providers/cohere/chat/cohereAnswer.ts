/**
 * Reads the answers of Cohere's chat: the events of a stream, and a whole answer as the events that would stream it.
 * The host numbers blocks of content and calls of tools each from 0; reasoning has the plan in it, which has no number.
 */
import {
  type Annotation,
  answerFrom,
  type ChatChunk,
  type ChatResponse,
  type ChatUsage,
  callIdOf,
  chunkOf,
  type Decoder,
  errorInBody,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  objectIn,
  objectsIn,
  partOrder,
  textOr,
} from "headgate/plugin"
import { brokenOff } from "../failure.ts"
import { planId, reasoningFormat } from "./cohereMessages.ts"

/** A whole answer. */
export const cohereAnswer = (body: unknown): ChatResponse | HostFailed => {
  const { message, finish_reason, usage } = objectIn(body)
  if (!isJsonObject(message)) return malformed()
  const { content, tool_plan, tool_calls: calls, citations } = message
  const blocks = typeof content === "string" ? [{ text: content }] : Array.isArray(content) ? content : []
  const called = objectsIn(calls).filter((call) => isJsonObject(call["function"]))
  return answerFrom(cohereDecoder(), [
    ...blocks.map((block: unknown, index) => eventOf("content-start", { content: block }, index)),
    eventOf("tool-plan-delta", { tool_plan }),
    ...called.map((call, index) => eventOf("tool-call-start", { tool_calls: call }, index)),
    ...objectsIn(citations).map((citation) => eventOf("citation-start", { citations: citation })),
    ["message-end", { delta: { finish_reason, usage } }],
  ])
}

const eventOf = (type: string, message: JsonObject, index?: number): readonly [name: string, data: JsonObject] => [
  type,
  { index, delta: { message } },
]

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
    const piece = objectIn(objectIn(delta)["message"])
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
    const plan = place === "plan" ? { id: planId } : {}
    const detail = { type: "reasoning.text", text, format: reasoningFormat, index, ...plan } as const
    this.order.reasoned(index, detail)
    return chunkOf({ reasoning: text, reasoning_details: [detail] })
  }

  private begin(place: unknown, called: unknown): ReadonlyArray<ChatChunk> {
    if (!isJsonObject(called)) return nothing
    const { name, arguments: written } = objectIn(called["function"])
    const call = { index: this.calls.size, empty: !written }
    this.calls.set(place, call)
    const begun = { name: textOr(name, ""), arguments: textOr(written, "") }
    const id = callIdOf(called["id"])
    this.order.call(id)
    return chunkOf({ tool_calls: [{ index: call.index, id, type: "function", function: begun }] })
  }

  private arguments(place: unknown, called: unknown): ReadonlyArray<ChatChunk> {
    const call = this.calls.get(place)
    const { arguments: written } = objectIn(objectIn(called)["function"])
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
    const { finish_reason: native, usage } = objectIn(delta)
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
      const block = this.texts.get(objectIn(citation)["content_index"] ?? first)
      return block === undefined ? [] : annotationsOf(citation, block.text, block.offset)
    })
    return annotations.length === 0 ? nothing : chunkOf({ annotations })
  }
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["TOOL_CALL", "tool_calls"],
  ["MAX_TOKENS", "length"],
  ["ERROR_LIMIT", "length"],
  ["ERROR_TOXIC", "content_filter"],
])

/** How an answer ended. Unknown words count as a stop. */
const finishReasonOf = (native: string): FinishReason | HostFailed =>
  native === "ERROR" || native === "TIMEOUT" ? brokenOff(native) : (finishReasons.get(native) ?? "stop")

/**
 * The canonical `usage`, of `billed_units`: Cohere adds tokens of its own to prompts and answers, counts them in
 * `tokens`, and does not charge for them ("How does Cohere's pricing work", read in 2026-11). Thinking is billed as
 * output. `cached_tokens` are part of `tokens`, often more than all that is billed, and have no price of their own, so
 * they are left out.
 */
const usageOf = (usage: unknown): ChatUsage | undefined => {
  const { billed_units: billed, tokens } = objectIn(usage)
  const { input_tokens: input, output_tokens: output } = objectIn(isJsonObject(billed) ? billed : tokens)
  // Without a count it is estimated: nobody says that zeros are left out.
  if (input == null || output == null) return undefined
  const parts = objectIn(tokens)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { image_tokens: parts["image_tokens"] ?? 0 },
    completion_tokens_details: { reasoning_tokens: parts["reasoning_tokens"] ?? 0 },
  }
}

/**
 * The sources of a citation. `text`: the block that it is about; `offset`: UTF-16 units of the answer's text before
 * that. A source is a document of the request or a result of a tool: without an address, its id stands for one.
 */
const annotationsOf = (citation: unknown, text: string, offset: number): ReadonlyArray<Annotation> => {
  const { type, start, end, text: cited, sources } = objectIn(citation)
  // Other kinds are about the plan or the thinking.
  if ((type !== undefined && type !== "TEXT_CONTENT") || typeof start !== "number" || typeof end !== "number") return []
  const isUtf16 = text.slice(start, end) === cited
  const place = (at: number): number => offset + (isUtf16 ? at : unitsBefore(text, at))
  return objectsIn(sources).flatMap(({ id, document }): ReadonlyArray<Annotation> => {
    if (typeof id !== "string") return []
    const { url, title } = objectIn(document)
    const cited = { url: textOr(url, id), title: textOr(title, id), start_index: place(start), end_index: place(end) }
    return [{ type: "url_citation", url_citation: cited }]
  })
}

/** UTF-16 units of so many characters: Cohere counts characters. */
const unitsBefore = (text: string, characters: number): number => Array.from(text).slice(0, characters).join("").length
