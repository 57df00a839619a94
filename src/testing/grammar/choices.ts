/**
 * The grammar that streams of the chat form and of the legacy completions form share. All chunks have the same names.
 * Pieces of choices come first; one chunk ends every choice and has the usage with its cost, which comes in a chunk
 * without choices instead where the client asked for `include_usage`; then `[DONE]`. A chunk with an error may be the
 * last one at any place.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { countIn, listIn, objectIn, readEvents, textIn, wrong } from "./events.ts"

/** Checks what is particular to a form in one choice. Made for one stream. */
export type ChoiceCheck = (choice: JsonObject) => void

/** The chunks of a whole stream. Throws at the first thing that breaks the grammar. */
export const readChoices = (text: string, object: string, check: ChoiceCheck): ReadonlyArray<JsonObject> => {
  const chunks = readEvents(text, { isNamed: false, hasDone: true }).map(([, chunk]) => chunk)
  const grammar = new ChoicesGrammar(object, check)
  for (const chunk of chunks) grammar.chunk(chunk)
  grammar.end()
  return chunks
}

class ChoicesGrammar {
  private readonly object: string
  private readonly check: ChoiceCheck
  /** Members that all chunks share, as JSON. */
  private names: string | undefined
  private readonly begun = new Set<number>()
  private isFinished = false
  private isEnded = false

  constructor(object: string, check: ChoiceCheck) {
    this.object = object
    this.check = check
  }

  chunk(chunk: JsonObject): void {
    if (this.isEnded) wrong("a chunk after the one with the usage", chunk)
    this.sameNames(chunk)
    this.isEnded = chunk["usage"] !== undefined
    if (this.isFinished) usageAlone(chunk)
    else this.saying(chunk)
    if (this.isEnded) usage(objectIn(chunk, "usage"))
  }

  private saying(chunk: JsonObject): void {
    for (const member of ["system_fingerprint", "service_tier"]) if (chunk[member] !== undefined) textIn(chunk, member)
    const choices = listIn(chunk, "choices").map((choice) =>
      isJsonObject(choice) ? choice : wrong("a choice that is no object", chunk),
    )
    if (choices.length === 0) wrong("a chunk without a choice", chunk)
    this.isFinished = choices.some((choice) => choice["finish_reason"] !== null)
    if (this.isEnded && !this.isFinished) wrong("a usage without a finish", chunk)
    const indexes = new Set(choices.map((choice) => this.choice(choice)))
    if (indexes.size < choices.length) wrong("a choice twice in one chunk", chunk)
    if (chunk["error"] !== undefined) this.error(chunk, choices)
    else if (this.isFinished && this.begun.size > indexes.size) wrong("a choice without an end", chunk)
  }

  end(): void {
    if (!this.isEnded) wrong("no chunk with the usage", "")
    for (let index = 0; index < this.begun.size; index++) {
      if (!this.begun.has(index)) wrong(`choices without number ${index}`, [...this.begun])
    }
  }

  private sameNames(chunk: JsonObject): void {
    const { id, object, created, model, provider } = chunk
    textIn(chunk, "id")
    textIn(chunk, "model")
    countIn(chunk, "created")
    if (object !== this.object) wrong(`an object that is no ${this.object}`, chunk)
    const names = JSON.stringify({ id, created, model, provider })
    this.names ??= names
    if (this.names !== names) wrong(`other names than ${this.names}`, chunk)
  }

  private choice(choice: JsonObject): number {
    const index = countIn(choice, "index")
    this.begun.add(index)
    if (this.isFinished) textIn(choice, "finish_reason")
    if (choice["native_finish_reason"] !== null) textIn(choice, "native_finish_reason")
    this.check(choice)
    return index
  }

  private error(chunk: JsonObject, choices: ReadonlyArray<JsonObject>): void {
    const error = objectIn(chunk, "error")
    countIn(error, "code")
    textIn(error, "message")
    textIn(objectIn(error, "metadata"), "error_type")
    if (!this.isEnded) wrong("an error without the usage", chunk)
    if (choices.some((choice) => choice["finish_reason"] !== "error")) wrong("an error with another finish", chunk)
  }
}

/** The chunk of a client that asked for `include_usage`. */
const usageAlone = (chunk: JsonObject): void => {
  if (listIn(chunk, "choices").length > 0) wrong("a choice after the finish", chunk)
  if (chunk["usage"] === undefined) wrong("a chunk after the finish without the usage", chunk)
}

const usage = (counts: JsonObject): void => {
  const total = countIn(counts, "prompt_tokens") + countIn(counts, "completion_tokens")
  if (countIn(counts, "total_tokens") !== total) wrong("a total that is no sum", counts)
  const { cost } = counts
  if (typeof cost !== "number" || !(cost >= 0)) wrong("a usage without its cost", counts)
}
