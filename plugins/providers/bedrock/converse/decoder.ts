/**
 * Reads the events of ConverseStream. The host numbers all blocks of an answer together; canonically calls are numbered
 * from 0, and reasoning by its place among the parts. The usage comes after the finish, in the last event.
 */
import {
  type ChatChunk,
  callIdOf,
  chunkOf,
  type Decoder,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  partOrder,
  type ReasoningDetail,
  textOr,
} from "headgate/plugin"
import { bedrockErrorInStream } from "../failure.ts"
import type { Family } from "../model.ts"
import {
  annotationsOf,
  finishReasonOf,
  hiddenThought,
  imageOf,
  isOfHost,
  thought,
  tierField,
  usageOf,
} from "./answer.ts"

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
    const [kind, problem] = name.split(":", 2)
    if (problem !== undefined && (kind === "exception" || kind === "error")) return bedrockErrorInStream(problem, data)
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
    const known = this.blocks.get(place)
    if (known !== undefined) return known
    return this.open(place, undefined)
  }

  private open(place: unknown, call: number | undefined): Block {
    const block = { call, empty: true, thought: undefined, hidden: [], citations: [], start: this.textLength }
    this.blocks.set(place, block)
    return block
  }

  private begin(place: unknown, start: unknown): ReadonlyArray<ChatChunk> {
    const toolUse = isJsonObject(start) ? start["toolUse"] : undefined
    if (!isJsonObject(toolUse) || isOfHost(toolUse)) return nothing
    const index = this.calls++
    this.open(place, index)
    const { toolUseId, name } = toolUse
    const called = { name: textOr(name, ""), arguments: "" }
    const id = callIdOf(toolUseId)
    this.order.call(id)
    return chunkOf({ tool_calls: [{ index, id, type: "function", function: called }] })
  }

  private delta(block: Block, delta: unknown): ReadonlyArray<ChatChunk> | HostFailed {
    if (!isJsonObject(delta)) return malformed()
    const { text, toolUse, reasoningContent, citation, image } = delta
    if (typeof text === "string") return this.text(text)
    if (isJsonObject(toolUse)) return this.input(block, toolUse["input"])
    if (isJsonObject(reasoningContent)) return this.reasoning(block, reasoningContent)
    if (citation !== undefined) block.citations.push(citation)
    const made = imageOf(image)
    return made === undefined ? nothing : chunkOf({ images: [made] })
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
      return chunkOf({
        reasoning: text,
        reasoning_details: [this.piece(block.thought, thought(this.family, { text }))],
      })
    }
    if (typeof signature !== "string" || signature === "") return nothing
    return chunkOf({ reasoning_details: [this.piece(block.thought, thought(this.family, { signature }))] })
  }

  private piece(index: number, detail: ReasoningDetail): ReasoningDetail {
    this.order.reasoned(index, detail)
    return { ...detail, index }
  }

  /** A call without arguments gets `{}`; encrypted reasoning is whole, and the end of a cited text is known, only now. */
  private close(place: unknown): ReadonlyArray<ChatChunk> {
    const block = this.blocks.get(place)
    this.blocks.delete(place)
    if (block === undefined) return nothing
    if (block.call !== undefined && block.empty) return this.input(block, "{}")
    if (block.hidden.length > 0 && block.thought !== undefined) {
      const hidden = this.piece(block.thought, hiddenThought(joinedBase64(block.hidden)))
      return chunkOf({ reasoning_details: [hidden] })
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
    return counted === undefined ? nothing : [{ choices: [], usage: counted, ...tierField(serviceTier) }]
  }
}

/** Base64 of all pieces together. One piece is left as it is. */
const joinedBase64 = (pieces: ReadonlyArray<string>): string => {
  const [only, ...more] = pieces
  if (only !== undefined && more.length === 0) return only
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64")
}
