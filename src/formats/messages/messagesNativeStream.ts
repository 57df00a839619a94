/**
 * The events of a host that speaks the Messages form, passed on as the host wrote them. Only the start of the message and
 * its end are written anew: with the gateway's ids, the model's name, usage and cost. The end is withheld until the answer
 * is booked.
 */

import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { ChatChunkChoice } from "../../domain/request/chat.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { sseNamed, ssePassed } from "../../wire/sse.ts"
import type { NativeWriter } from "../ChunkWriter.ts"
import { inputOf } from "./messagesBlocks.ts"
import { ending, wordBesideCalls } from "./messagesStop.ts"
import type { MessageNames } from "./messagesThinking.ts"
import { laterUsage, usageAtStart, usageWithCost } from "./messagesUsage.ts"

/** How a text delta begins in the form's usual spelling, before its index. */
const deltaHead = '{"type":"content_block_delta","index":'
const textHead = ',"delta":{"type":"text_delta","text":"'

// Without any of these characters, the content of a JSON string equals its text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar of JSON excludes them.
const needsReading = /["\\\u0000-\u001f]/

const broken = (cause: string): HostFailed => new HostFailed({ reason: "malformed", cause })

/** `input`: JSON text that the host wrote as a call's input at its start, until pieces of the input come; "" for none. */
interface Block {
  readonly number: number
  input: string
}

export class NativeEvents implements NativeWriter {
  hasStarted = false
  hasSpoken = false
  private readonly names: MessageNames
  private readonly host: Host | undefined
  /** Blocks that have begun. They are numbered without gaps. */
  private blocks = 0
  /** The open ones, by the host's own numbers. */
  private readonly open = new Map<unknown, Block>()
  private hasCalled = false
  /** How a text delta of the block that was opened last begins. */
  private plainHead = none
  /** The host's `usage` at the start. The one at the end replaces what has changed. */
  private startUsage: JsonObject = {}
  /** The host's `message_delta`: of several, the last value of each member. */
  private last: JsonObject | undefined

  constructor(names: MessageNames, host: Host | undefined) {
    this.names = names
    this.host = host
  }

  plainBytes(json: string): number {
    const { plainHead } = this
    if (!json.startsWith(plainHead)) return 0
    const end = endOfText(json)
    if (end <= plainHead.length) return 0
    const inside = json.slice(plainHead.length, end)
    if (!needsReading.test(inside)) return Buffer.byteLength(inside)
    const text = innerJson(`"${inside}"`)
    return typeof text === "string" ? Buffer.byteLength(text) : 0
  }

  plain(json: string): string {
    return sseNamed("content_block_delta", json)
  }

  event(name: string, event: JsonObject, json: string): string | HostFailed {
    const type = textOr(event["type"], name)
    switch (type) {
      case "message_start":
        return this.hasStarted ? broken("a second start of the message") : this.start(event)
      case "message_delta":
        this.withhold(event)
        return ""
      case "message_stop":
        return ""
      case "ping":
        return this.hasStarted ? ssePassed(type, event, json) : ""
    }
    if (!this.hasStarted) return broken("an event before the start of the message")
    if (type === "content_block_start") return this.startBlock(event, json)
    if (type !== "content_block_delta" && type !== "content_block_stop") return ssePassed(type, event, json)
    const block = this.open.get(event["index"])
    if (block === undefined) return broken("an event of a block that is not open")
    if (type === "content_block_stop") {
      this.open.delete(event["index"])
      this.plainHead = none
      return inputLeft(block) + numbered(type, event, json, block)
    }
    this.hasSpoken = true
    if (block.input !== "" && objectIn(event["delta"])["partial_json"]) block.input = ""
    return numbered(type, event, json, block)
  }

  /** Some hosts give every block the same number, or leave numbers out; and write the input of a call as JSON text. */
  private startBlock(event: JsonObject, json: string): string | HostFailed {
    const { index, content_block: started } = event
    if (!isJsonObject(started)) return broken("the start of a block without it")
    const { type, text, thinking, input } = started
    const before = this.open.get(index)
    const ended = before === undefined ? "" : stopped(before)
    const isCall = type === "tool_use"
    const isWrong = isCall && !isJsonObject(input)
    const block: Block = { number: this.blocks++, input: isWrong ? textOr(input, "").trim() : "" }
    this.open.set(index, block)
    this.plainHead = index === block.number ? `${deltaHead}${block.number}${textHead}` : none
    // Until a block says something, another host may still take over.
    this.hasSpoken ||= !((type === "text" && !text) || (type === "thinking" && !thinking))
    this.hasCalled ||= isCall
    if (!isWrong) return ended + numbered("content_block_start", event, json, block)
    const begun = { ...event, index: block.number, content_block: { ...started, input: {} } }
    return ended + sseNamed("content_block_start", JSON.stringify(begun))
  }

  /** The end of the answer. `choice`: how it ended, where the host did not say so. */
  finish(choice: ChatChunkChoice | undefined, charge: Charge): string {
    let text = ""
    for (const block of this.open.values()) text += stopped(block)
    this.open.clear()
    const { stop_reason: word, ...rest } = objectIn(this.last?.["delta"])
    const isEnded = typeof word === "string"
    const own = isEnded ? { stop_reason: wordBesideCalls(word, this.hasCalled) } : ending(choice, this.hasCalled, "")
    const usage = usageWithCost(laterUsage(this.startUsage, this.last?.["usage"]), charge)
    const written = { ...this.last, type: "message_delta", delta: { ...own, ...rest }, usage }
    return text + sseNamed("message_delta", JSON.stringify(written))
  }

  private start(event: JsonObject): string | HostFailed {
    const { message } = event
    if (!isJsonObject(message)) return broken("a start without a message")
    this.hasStarted = true
    this.startUsage = objectIn(message["usage"])
    const { generationId, model } = this.names
    const names = { id: generationId, model: this.host?.model ?? model, provider: this.host?.providerName }
    // Clients read the usage here without looking whether it is there.
    const usage = isJsonObject(message["usage"]) ? {} : { usage: usageAtStart(this.names.promptTokens) }
    return sseNamed("message_start", JSON.stringify({ ...event, message: { ...message, ...names, ...usage } }))
  }

  private withhold(event: JsonObject): void {
    const { last } = this
    const delta = { ...objectIn(last?.["delta"]), ...objectIn(event["delta"]) }
    this.last = { ...last, ...event, delta, usage: laterUsage(objectIn(last?.["usage"]), event["usage"]) }
  }
}

/** No JSON begins so. */
const none = "-"

/** Where the text of a delta ends: before a quote and two braces, among which hosts may write spaces. -1: nowhere. */
const endOfText = (json: string): number => {
  let at = json.length - 1
  for (let braces = 0; braces < 2; at--) {
    const code = json.charCodeAt(at)
    if (code === 125) braces += 1
    else if (code !== 32) return -1
  }
  while (json.charCodeAt(at) === 32) at -= 1
  return json.charCodeAt(at) === 34 ? at : -1
}

const stopped = (block: Block): string =>
  inputLeft(block) + sseNamed("content_block_stop", JSON.stringify({ type: "content_block_stop", index: block.number }))

/** Input that stood at the start of its block alone, as the piece that clients read it from. */
const inputLeft = ({ number, input }: Block): string => {
  if (input === "") return ""
  const delta = { type: "input_json_delta", partial_json: JSON.stringify(inputOf(input)) }
  return sseNamed("content_block_delta", JSON.stringify({ type: "content_block_delta", index: number, delta }))
}

/** The event with the number of its block. */
const numbered = (type: string, event: JsonObject, json: string, { number }: Block): string =>
  event["index"] === number ? ssePassed(type, event, json) : sseNamed(type, JSON.stringify({ ...event, index: number }))
