/**
 * Reads the answers of Converse: the events of ConverseStream, and a whole answer as the events that would stream it.
 * The host numbers all blocks of an answer together; canonically calls are numbered from 0, and reasoning by its place
 * among the parts. The usage comes after the finish, in the last event.
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
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  objectIn,
  objectsIn,
  partOrder,
  type ReasoningDetail,
  textOr,
} from "headgate/plugin"
import { bedrockErrorInStream } from "../failure.ts"
import type { Family } from "../model.ts"
import { bedrockFormat, formatOf } from "./converseMessages.ts"

/** A whole answer. */
export const converseAnswer = (body: unknown, family: Family): ChatResponse | HostFailed => {
  const { output, stopReason, usage, serviceTier } = objectIn(body)
  const { content } = objectIn(objectIn(output)["message"])
  if (!Array.isArray(content) || !content.every(isJsonObject)) return malformed()
  return answerFrom(converseDecoder(family), [
    ...content.flatMap(eventsOf),
    ["messageStop", { stopReason }],
    ["metadata", { usage, serviceTier }],
  ])
}

type Event = readonly [name: string, data: JsonObject]

const eventsOf = (block: JsonObject, contentBlockIndex: number): ReadonlyArray<Event> => [
  ["contentBlockStart", { contentBlockIndex, start: block }],
  ...deltasOf(block).map((delta): Event => ["contentBlockDelta", { contentBlockIndex, delta }]),
  ["contentBlockStop", { contentBlockIndex }],
]

const deltasOf = (block: JsonObject): ReadonlyArray<JsonObject> => {
  const { toolUse, reasoningContent, citationsContent } = block
  if (isJsonObject(toolUse)) return [{ toolUse: { input: argumentsOf(toolUse["input"]) } }]
  if (isJsonObject(reasoningContent)) {
    const { text, signature } = objectIn(reasoningContent["reasoningText"])
    return [{ reasoningContent }, { reasoningContent: { text } }, { reasoningContent: { signature } }]
  }
  if (!isJsonObject(citationsContent)) return [block]
  const { content, citations } = citationsContent
  return [...objectsIn(content), ...objectsIn(citations).map((citation) => ({ citation }))]
}

/** Some models' input comes as JSON text, and what cannot be read is not taken for an empty input. */
const argumentsOf = (input: unknown): string =>
  typeof input === "string" && input.trim() !== "" ? input : JSON.stringify(objectIn(input))

/** What is known of a block that has begun. */
interface Block {
  /** Place among the tool calls; `undefined`: it is none of the caller's. */
  readonly call: number | undefined
  /** Whether the call has no arguments yet. */
  empty: boolean
  /** Number of its reasoning, once there is some. */
  thought: number | undefined
  /** Pieces of encrypted reasoning, base64 each. */
  readonly hidden: Array<string>
  readonly citations: Array<unknown>
  /** Format of its image, which comes at the start, and its pieces, base64 each (AWS, `ImageBlockStart`, 2026-11). */
  imageFormat: string
  readonly image: Array<string>
  /** UTF-16 units of text before it. */
  readonly start: number
}

const nothing: ReadonlyArray<ChatChunk> = []

export const converseDecoder = (family: Family): Decoder => new ConverseDecoder(family)

class ConverseDecoder implements Decoder {
  private readonly family: Family
  private readonly blocks = new Map<unknown, Block>()
  private calls = 0
  private readonly order = partOrder()
  private textLength = 0
  private complete = false

  constructor(family: Family) {
    this.family = family
  }

  event(name: string, data: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    const failure = bedrockErrorInStream(name, data)
    if (failure !== undefined) return failure
    if (!isJsonObject(data)) return nothing
    const { contentBlockIndex: place } = data
    switch (name) {
      case "contentBlockDelta":
        return this.delta(this.block(place), data["delta"])
      case "contentBlockStart":
        return this.begin(place, data["start"])
      case "contentBlockStop":
        return this.close(place)
      case "messageStart":
        return chunkOf({ role: "assistant", content: "" })
      case "messageStop":
        return this.finish(data["stopReason"])
      case "metadata":
        return this.metadata(data)
      default:
        return nothing
    }
  }

  done(): boolean {
    return this.complete
  }

  /** Returns nothing, since nothing is held back. */
  end(): ReadonlyArray<ChatChunk> {
    return nothing
  }

  /** Blocks of text and reasoning have no start, only deltas. */
  private block(place: unknown): Block {
    return this.blocks.get(place) ?? this.open(place, undefined)
  }

  private open(place: unknown, call: number | undefined): Block {
    const block: Block = {
      ...{ call, empty: true, thought: undefined, hidden: [], citations: [] },
      ...{ imageFormat: "png", image: [], start: this.textLength },
    }
    this.blocks.set(place, block)
    return block
  }

  private begin(place: unknown, start: unknown): ReadonlyArray<ChatChunk> {
    const { toolUse, image } = objectIn(start)
    if (isJsonObject(image)) this.block(place).imageFormat = textOr(image["format"], "png")
    if (!isJsonObject(toolUse) || isOfHost(toolUse)) return nothing
    const index = this.calls++
    this.open(place, index)
    const id = callIdOf(toolUse["toolUseId"])
    this.order.call(id)
    const called = { name: textOr(toolUse["name"], ""), arguments: "" }
    return chunkOf({ tool_calls: [{ index, id, type: "function", function: called }] })
  }

  private delta(block: Block, delta: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(delta)) return malformed()
    const { text, toolUse, reasoningContent, citation, image } = delta
    if (typeof text === "string") return this.text(text)
    if (isJsonObject(toolUse)) return this.input(block, toolUse["input"])
    if (isJsonObject(reasoningContent)) return this.reasoning(block, reasoningContent)
    if (citation !== undefined) block.citations.push(citation)
    const { bytes } = objectIn(objectIn(image)["source"])
    if (typeof bytes === "string") block.image.push(bytes)
    return nothing
  }

  private text(text: string): ReadonlyArray<ChatChunk> {
    if (text === "") return nothing
    this.textLength += text.length
    this.order.text(text)
    return chunkOf({ content: text })
  }

  private input(block: Block, json: unknown): ReadonlyArray<ChatChunk> {
    if (block.call === undefined || typeof json !== "string" || json === "") return nothing
    block.empty = false
    return chunkOf({ tool_calls: [{ index: block.call, function: { arguments: json } }] })
  }

  private reasoning(block: Block, { text, signature, redactedContent }: JsonObject): ReadonlyArray<ChatChunk> {
    block.thought ??= this.order.reasoning()
    if (typeof redactedContent === "string") {
      block.hidden.push(redactedContent)
      return nothing
    }
    if (typeof text === "string" && text !== "") {
      return chunkOf({ reasoning: text, reasoning_details: [this.thought(block.thought, { text })] })
    }
    if (typeof signature !== "string" || signature === "") return nothing
    return chunkOf({ reasoning_details: [this.thought(block.thought, { signature })] })
  }

  private thought(index: number, said: Pick<ReasoningDetail, "text" | "signature">): ReasoningDetail {
    return this.piece({ type: "reasoning.text", ...said, format: formatOf(this.family), index })
  }

  private piece(detail: ReasoningDetail & { readonly index: number }): ReasoningDetail {
    this.order.reasoned(detail.index, detail)
    return detail
  }

  /**
   * Now a call without arguments gets `{}`, encrypted reasoning and an image are whole, and the end of a cited text is
   * known.
   */
  private close(place: unknown): ReadonlyArray<ChatChunk> {
    const block = this.blocks.get(place)
    this.blocks.delete(place)
    if (block === undefined) return nothing
    if (block.call !== undefined && block.empty) return this.input(block, "{}")
    if (block.hidden.length > 0 && block.thought !== undefined) {
      const data = joinedBase64(block.hidden)
      const hidden = { type: "reasoning.encrypted", data, format: bedrockFormat, index: block.thought } as const
      return chunkOf({ reasoning_details: [this.piece(hidden)] })
    }
    if (block.image.length > 0) {
      const url = `data:image/${block.imageFormat};base64,${joinedBase64(block.image)}`
      return chunkOf({ images: [{ type: "image_url", image_url: { url } }] })
    }
    const annotations = block.citations.flatMap((citation) => annotationsOf(citation, block.start, this.textLength))
    return annotations.length === 0 ? nothing : chunkOf({ annotations })
  }

  private finish(stopReason: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (typeof stopReason !== "string") return malformed()
    const reason = finishReasonOf(stopReason, this.calls > 0)
    const rest = [...this.blocks.keys()].flatMap((place) => this.close(place))
    const order = this.order.entry()
    if (order.length > 0) rest.push(...chunkOf({ reasoning_details: order }))
    const delta = { content: "" }
    return [...rest, { choices: [{ index: 0, delta, finish_reason: reason, native_finish_reason: stopReason }] }]
  }

  private metadata({ usage, serviceTier }: JsonObject): ReadonlyArray<ChatChunk> {
    this.complete = true
    const counted = usageOf(usage)
    const { type: tier } = objectIn(serviceTier)
    const served = typeof tier === "string" ? { service_tier: tier } : {}
    return [{ choices: [], ...(counted === undefined ? {} : { usage: counted }), ...served }]
  }
}

/** Base64 of all pieces together. One piece is left as it is. */
const joinedBase64 = (pieces: ReadonlyArray<string>): string => {
  const [only, ...more] = pieces
  if (only !== undefined && more.length === 0) return only
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64")
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool_calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["guardrail_intervened", "content_filter"],
  ["content_filtered", "content_filter"],
])

/**
 * How an answer ended. `malformed_tool_use` and the like: the model wrote what the host could not read, which is an
 * answer, and billed. Unknown ones: a stop, which beside calls is one for the calls.
 */
const finishReasonOf = (stopReason: string, hasCalls: boolean): FinishReason => {
  if (stopReason.startsWith("malformed_")) return "error"
  const reason = finishReasons.get(stopReason) ?? "stop"
  return reason === "stop" && hasCalls ? "tool_calls" : reason
}

/**
 * The canonical `usage`. The host counts cached reads and writes apart from its input tokens; canonically they are part
 * of the prompt. `undefined` when a count is missing or invalid, because the sum would be wrong.
 */
const usageOf = (raw: unknown): ChatUsage | undefined => {
  const usage = objectIn(raw)
  const input = count(usage["inputTokens"])
  const output = count(usage["outputTokens"])
  const read = count(usage["cacheReadInputTokens"] ?? 0)
  const written = count(usage["cacheWriteInputTokens"] ?? 0)
  if (input === undefined || output === undefined || read === undefined || written === undefined) return undefined
  // The others are kept for five minutes. Without details, the host does not tell.
  const details = objectsIn(usage["cacheDetails"])
  const hourly = details.filter(({ ttl }) => ttl === "1h")
  return {
    prompt_tokens: input + read + written,
    completion_tokens: output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      ...(details.length > 0 && {
        cache_write_1h_tokens: hourly.reduce((sum, { inputTokens }) => sum + (count(inputTokens) ?? 0), 0),
      }),
    },
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined

/** Whether the host ran the tool itself: then its call and result are not the caller's. */
const isOfHost = (toolUse: JsonObject): boolean => toolUse["type"] === "server_tool_use"

/**
 * A source with an address, for the text between two places in the whole answer (UTF-16 units); others have no place in
 * the form.
 */
const annotationsOf = (citation: unknown, start: number, end: number): ReadonlyArray<Annotation> => {
  const { location, title, sourceContent } = objectIn(citation)
  const { url } = objectIn(objectIn(location)["web"])
  if (typeof url !== "string") return []
  const text = objectsIn(sourceContent)[0]?.["text"]
  const content = typeof text === "string" ? { content: text } : {}
  const cited = { url, title: textOr(title, ""), ...content, start_index: start, end_index: end }
  return [{ type: "url_citation", url_citation: cited }]
}
