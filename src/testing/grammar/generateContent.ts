/**
 * The grammar of a stream in Google's form, as server-sent events (`alt=sse`) or as one JSON array. Each event is a
 * `GenerateContentResponse` (https://ai.google.dev/api/generate-content): candidates whose parts each have one kind of data.
 * All events have the same names. The last one finishes every candidate and has the usage with its cost. An event with an
 * error may be the last one at any place.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { countIn, listIn, objectIn, readEvents, readerOf, textIn, wrong } from "./events.ts"

/** Reads a whole stream, and throws at the first thing that breaks the grammar. Returns its events. */
export const readGenerateContentStream = readerOf("generateContent", (text) => {
  const events = text.trimStart().startsWith("[") ? readArray(text) : readSse(text)
  const grammar = new EventsGrammar()
  for (const event of events) grammar.event(event)
  grammar.end()
  return events
})

const readSse = (text: string): ReadonlyArray<JsonObject> =>
  readEvents(text, { isNamed: false, hasDone: false }).map(([, event]) => event)

/** Blanks may stand between its events. */
const readArray = (text: string): ReadonlyArray<JsonObject> => {
  const events = arrayIn(text)
  return events.map((event) => (isJsonObject(event) ? event : wrong("an event that is no object", event)))
}

const arrayIn = (text: string): ReadonlyArray<unknown> => {
  try {
    const events: unknown = JSON.parse(text)
    return Array.isArray(events) ? events : wrong("no array", text)
  } catch {
    return wrong("an array that is no JSON", text)
  }
}

/** The kinds of data, of which a part has one, and the members that each has. */
const kinds: Readonly<Record<string, ReadonlyArray<string>>> = {
  inlineData: ["mimeType", "data"],
  fileData: ["fileUri"],
  functionCall: ["name"],
  functionResponse: ["name"],
  executableCode: ["code"],
  codeExecutionResult: ["outcome"],
}

class EventsGrammar {
  /** Members that all events share, as JSON. */
  private names: string | undefined
  private readonly begun = new Set<number>()
  private isEnded = false

  event(event: JsonObject): void {
    if (this.isEnded) wrong("an event after the one with the usage", event)
    this.isEnded = event["usageMetadata"] !== undefined
    if (event["error"] !== undefined) this.error(event)
    else this.saying(event)
    if (this.isEnded) usage(objectIn(event, "usageMetadata"))
  }

  end(): void {
    if (!this.isEnded) wrong("no event with the usage", "")
  }

  private saying(event: JsonObject): void {
    this.sameNames(event)
    if (event["candidates"] === undefined && event["promptFeedback"] !== undefined) {
      textIn(objectIn(event, "promptFeedback"), "blockReason")
      return
    }
    const candidates = listIn(event, "candidates").map((one) =>
      isJsonObject(one) ? one : wrong("a candidate that is no object", event),
    )
    if (candidates.length === 0) wrong("an event without a candidate", event)
    const indexes = new Set(candidates.map((candidate) => this.candidate(candidate)))
    if (indexes.size < candidates.length) wrong("a candidate twice in one event", event)
    if (this.isEnded && this.begun.size > indexes.size) wrong("a candidate without an end", event)
  }

  private sameNames(event: JsonObject): void {
    const { modelVersion, responseId, provider } = event
    textIn(event, "modelVersion")
    textIn(event, "responseId")
    const names = JSON.stringify({ modelVersion, responseId, provider })
    this.names ??= names
    if (this.names !== names) wrong(`other names than ${this.names}`, event)
  }

  private candidate(candidate: JsonObject): number {
    // Google leaves zeros out.
    const index = candidate["index"] === undefined ? 0 : countIn(candidate, "index")
    this.begun.add(index)
    const { content, index: _, ...facts } = candidate
    // A host of the form may send sources alone.
    if (content !== undefined || Object.keys(facts).length === 0) partsCheck(objectIn(candidate, "content"))
    if (this.isEnded) textIn(candidate, "finishReason")
    else if (candidate["finishReason"] !== undefined) wrong("a finish before the last event", candidate)
    return index
  }

  private error(event: JsonObject): void {
    const error = objectIn(event, "error")
    countIn(error, "code")
    textIn(error, "message")
    textIn(error, "status")
    listIn(error, "details")
    if (event["candidates"] !== undefined) wrong("an error beside candidates", event)
    if (!this.isEnded) wrong("an error without the usage", event)
  }
}

const partsCheck = (content: JsonObject): void => {
  if (content["role"] !== "model") wrong("content that is not the model's", content)
  const parts = listIn(content, "parts")
  if (parts.length === 0) wrong("a candidate without a part", content)
  for (const part of parts) partCheck(isJsonObject(part) ? part : wrong("a part that is no object", content))
}

const partCheck = (part: JsonObject): void => {
  const kind = Object.keys(kinds).filter((name) => part[name] !== undefined)
  if (part["text"] !== undefined) kind.push("text")
  const [name, more] = kind
  if (name === undefined || more !== undefined) wrong("a part without one kind of data", part)
  if (name === "text") textIn(part, name)
  else for (const member of kinds[name] ?? []) textIn(objectIn(part, name), member)
  if (name === "functionCall") objectIn(objectIn(part, name), "args")
  const { thought, thoughtSignature } = part
  if (thought !== undefined && typeof thought !== "boolean") wrong("a thought that is no boolean", part)
  // Clients decode it as bytes.
  if (thoughtSignature !== undefined && !/^[\w+/-]+=*$/.test(textIn(part, "thoughtSignature")))
    wrong("a signature that is no base64", part)
}

const usage = (counts: JsonObject): void => {
  const prompt = countIn(counts, "promptTokenCount")
  if (countIn(counts, "totalTokenCount") < prompt) wrong("a total that is less than the prompt", counts)
  for (const name of ["candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"])
    if (counts[name] !== undefined) countIn(counts, name)
  const { cost } = counts
  if (typeof cost !== "number" || !(cost >= 0)) wrong("a usage without its cost", counts)
}
