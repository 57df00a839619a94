/**
 * What the grammars of all forms share. Server-sent events are read strictly: one line of JSON each, a name where the form
 * has names, a blank line after each, comments in between.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

export interface EventFormat {
  /** Whether every event has a name. Otherwise none has. */
  readonly isNamed: boolean
  /** Whether `data: [DONE]` is the last line. */
  readonly hasDone: boolean
}

export type NamedEvent = readonly [name: string, event: JsonObject]

const named = /^event: ([a-z_.]+)\ndata: ([^\n]*)$/
const unnamed = /^()data: ([^\n]*)$/

/** A reader that says which form it read where it throws. */
export const readerOf =
  (form: string, read: (text: string) => ReadonlyArray<JsonObject>) =>
  (text: string): ReadonlyArray<JsonObject> => {
    try {
      return read(text)
    } catch (cause) {
      throw new Error(`A stream in the ${form} form has ${cause instanceof Error ? cause.message : cause}`, { cause })
    }
  }

/** The events of a whole stream. Throws at anything that is not in the format, and where the end is missing. */
export const readEvents = (text: string, { isNamed, hasDone }: EventFormat): ReadonlyArray<NamedEvent> => {
  if (text.includes("\r")) wrong("a carriage return", text)
  const events: Array<NamedEvent> = []
  let isDone = false
  const blocks = text.split("\n\n")
  if (blocks.pop() !== "") wrong("an unfinished event", text.slice(-300))
  for (const block of blocks) {
    if (isDone) wrong("something after [DONE]", block)
    if (block.startsWith(": ") && !block.includes("\n")) continue
    if (hasDone && block === "data: [DONE]") isDone = true
    else events.push(eventOf(block, isNamed ? named : unnamed))
  }
  if (hasDone && !isDone) wrong("no [DONE]", text.slice(-300))
  return events
}

const eventOf = (block: string, format: RegExp): NamedEvent => {
  const [, name, json] = format.exec(block) ?? []
  if (name === undefined || json === undefined) return wrong("a block that is no event of the form", block)
  const event = parsed(json)
  return isJsonObject(event) ? [name, event] : wrong("an event that is no object", block)
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return wrong("an event that is no JSON", json)
  }
}

/** Throws, for `readerOf`: the stream has `what` at this place. */
export function wrong(what: string, at: unknown): never {
  const shown = typeof at === "string" ? at : JSON.stringify(at)
  throw new Error(`${what}: ${shown?.slice(0, 400)}`)
}

export const objectIn = (value: JsonObject, member: string): JsonObject => {
  const found = value[member]
  return isJsonObject(found) ? found : wrong(`something without the object ${member}`, value)
}

export const listIn = (value: JsonObject, member: string): ReadonlyArray<unknown> => {
  const found = value[member]
  return Array.isArray(found) ? found : wrong(`something without the list ${member}`, value)
}

export const textIn = (value: JsonObject, member: string): string => {
  const found = value[member]
  return typeof found === "string" ? found : wrong(`something without the text ${member}`, value)
}

/** A whole number from 0. */
export const countIn = (value: JsonObject, member: string): number => {
  const found = value[member]
  return typeof found === "number" && Number.isInteger(found) && found >= 0
    ? found
    : wrong(`something without the count ${member}`, value)
}
