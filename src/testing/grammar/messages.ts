/**
 * The grammar of a stream in the Messages form. `message_start` begins it; blocks open in the order of their indexes, get
 * pieces of their own kind, and close once; `message_delta` says how the message ended once all blocks are closed, and
 * `message_stop` ends the stream. An `error` may end it at any place. Pings and comments may stand anywhere after the start.
 */
import type { JsonObject } from "../../domain/json/json.ts"
import { objectIn, readEvents, readerOf, wrong } from "./events.ts"

/** Reads a whole stream, and throws at the first thing that breaks the grammar. Returns its events. */
export const readMessagesStream = readerOf("Messages", (text) => {
  const grammar = new MessagesGrammar()
  for (const [name, event] of readEvents(text, { isNamed: true, hasDone: false })) grammar.event(name, event)
  if (!grammar.isEnded) wrong("no end", text.slice(-300))
  return grammar.events
})

/** The pieces that a block may get, for the kinds that have a rule. */
const pieces: ReadonlyMap<unknown, ReadonlyArray<string>> = new Map([
  ["text", ["text_delta", "citations_delta"]],
  ["thinking", ["thinking_delta", "signature_delta"]],
  ["redacted_thinking", []],
  ["tool_use", ["input_json_delta"]],
  ["image", []],
])

/** The text member of a piece. */
const texts: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
}

class MessagesGrammar {
  readonly events: Array<JsonObject> = []
  isEnded = false
  private isStarted = false
  private hasDelta = false
  private blocks = 0
  private readonly open = new Map<unknown, JsonObject>()

  event(name: string, event: JsonObject): void {
    const { type } = event
    if (type !== name) wrong("an event whose name is not its type", event)
    if (this.isEnded) wrong("something after its end", event)
    this.events.push(event)
    if (type === "error") this.error(event)
    else if (type === "message_start") this.start(event)
    else if (!this.isStarted) wrong("an event before message_start", event)
    else if (type !== "ping") this.progress(event)
  }

  private progress(event: JsonObject): void {
    const { type } = event
    if (this.hasDelta && type !== "message_stop") wrong("something between message_delta and message_stop", event)
    switch (type) {
      case "content_block_start":
        this.begin(event)
        break
      case "content_block_delta":
        this.piece(event)
        break
      case "content_block_stop":
        if (!this.open.delete(event["index"])) wrong("the end of a block that is not open", event)
        break
      case "message_delta":
        this.delta(event)
        break
      case "message_stop":
        if (!this.hasDelta) wrong("no message_delta", event)
        this.isEnded = true
    }
  }

  private start(event: JsonObject): void {
    if (this.isStarted) wrong("two starts", event)
    this.isStarted = true
    const message = objectIn(event, "message")
    const { type, role, id, model, content } = message
    if (type !== "message" || role !== "assistant" || typeof id !== "string" || typeof model !== "string") {
      wrong("a start that is no message", event)
    }
    if (!Array.isArray(content) || content.length > 0) wrong("a start with content", event)
    objectIn(message, "usage")
  }

  private begin(event: JsonObject): void {
    const { index } = event
    if (index !== this.blocks) wrong(`a block that is not number ${this.blocks}`, event)
    this.blocks += 1
    const block = objectIn(event, "content_block")
    if (typeof block["type"] !== "string") wrong("a block without a type", event)
    this.open.set(index, block)
  }

  private piece(event: JsonObject): void {
    const block = this.open.get(event["index"]) ?? wrong("a piece of a block that is not open", event)
    const { type, ...delta } = objectIn(event, "delta")
    const allowed = pieces.get(block["type"])
    if (typeof type !== "string" || allowed?.includes(type) === false) wrong("a piece of another kind of block", event)
    const text = texts[String(type)]
    if (text !== undefined && typeof delta[text] !== "string") wrong(`a piece without ${text}`, event)
  }

  private delta(event: JsonObject): void {
    if (this.open.size > 0) wrong("blocks that are open at its end", event)
    this.hasDelta = true
    if (typeof objectIn(event, "delta")["stop_reason"] !== "string") wrong("no stop_reason", event)
    if (typeof objectIn(event, "usage")["output_tokens"] !== "number") wrong("no output_tokens", event)
  }

  private error(event: JsonObject): void {
    const { type, message } = objectIn(event, "error")
    if (typeof type !== "string" || typeof message !== "string") wrong("an error without type and message", event)
    this.isEnded = true
  }
}
