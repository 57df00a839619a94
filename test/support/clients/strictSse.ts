/**
 * A strict reader of the gateway's streams in the chat form, independent of the gateway's own reader. Whatever a faulty
 * or hostile host sends, a caller must get lines that the strictest client can read (docs/guarantees.md#g28).
 */
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readChatStream } from "../../../src/testing/grammar/chat.ts"

export interface StrictStream {
  /** The JSON of each event, in order, without `[DONE]`. */
  readonly events: ReadonlyArray<JsonObject>
  readonly comments: number
  /** Whether `[DONE]` came. It may only come last. */
  readonly done: boolean
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const wrong = (what: string, at: string): never => {
  throw new Error(`${what}: ${JSON.stringify(at.slice(0, 300))}`)
}

const eventOf = (json: string): JsonObject => {
  const event: unknown = JSON.parse(json)
  return isJsonObject(event) ? event : wrong("an event that is no object", json)
}

/** As `readLines`, and throws where a stream with an end breaks the grammar of the chat form. */
export const readStrictly = (bytes: Uint8Array | string): StrictStream => {
  const stream = readLines(bytes)
  if (stream.done) readChatStream(typeof bytes === "string" ? bytes : decoder.decode(bytes))
  return stream
}

/**
 * Throws at anything but `data: <one line of JSON>`, `: <comment>` and `data: [DONE]`, each followed by one empty line.
 */
export const readLines = (bytes: Uint8Array | string): StrictStream => {
  const text = typeof bytes === "string" ? bytes : decoder.decode(bytes)
  if (text.includes("\r")) wrong("a carriage return", text)
  if (text !== "" && !text.endsWith("\n\n")) wrong("an unfinished event", text.slice(-300))
  const events: Array<JsonObject> = []
  let comments = 0
  let done = false
  for (const block of text.split("\n\n").slice(0, -1)) {
    if (done) wrong("something after [DONE]", block)
    if (block.includes("\n")) wrong("an event of several lines", block)
    if (block.startsWith(": ")) comments += 1
    else if (block === "data: [DONE]") done = true
    else if (block.startsWith("data: ")) events.push(eventOf(block.slice(6)))
    else wrong("a line that is neither data nor comment", block)
  }
  return { events, comments, done }
}

interface GatheredChoice {
  content: string
  reasoning: string
  refusal: string
  finishes: Array<unknown>
  calls: Array<{ id: unknown; name: string; arguments: string }>
}

/** What the deltas of a stream add up to, by choice. */
export const gather = (events: ReadonlyArray<JsonObject>): ReadonlyMap<unknown, GatheredChoice> => {
  const choices = new Map<unknown, GatheredChoice>()
  for (const event of events) {
    for (const choice of listOf(event["choices"])) {
      const known = choices.get(choice["index"])
      const into: GatheredChoice = known ?? { content: "", reasoning: "", refusal: "", finishes: [], calls: [] }
      choices.set(choice["index"], into)
      const delta = isJsonObject(choice["delta"]) ? choice["delta"] : {}
      for (const member of ["content", "reasoning", "refusal"] as const) into[member] += textOf(delta[member])
      for (const piece of listOf(delta["tool_calls"])) addPiece(into.calls, piece)
      if (choice["finish_reason"] != null) into.finishes.push(choice["finish_reason"])
    }
  }
  return choices
}

const addPiece = (calls: GatheredChoice["calls"], piece: JsonObject): void => {
  const at = Number(piece["index"])
  const called = isJsonObject(piece["function"]) ? piece["function"] : {}
  calls[at] ??= { id: piece["id"], name: "", arguments: "" }
  calls[at].name += textOf(called["name"])
  calls[at].arguments += textOf(called["arguments"])
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const listOf = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/** The content of the first choice. */
export const contentOf = (events: ReadonlyArray<JsonObject>): string => gather(events).get(0)?.content ?? ""

/** The events that end a choice. */
export const finishesOf = (events: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  events.filter((event) => listOf(event["choices"]).some((choice) => choice["finish_reason"] != null))
