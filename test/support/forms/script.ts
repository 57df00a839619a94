/**
 * One description of what is asked and what is answered, for every form. A host form (`hosts.ts`) writes an `Answer` and
 * reads what it was asked; a client form (`clients.ts`) writes a `Question` and reads the answer. A new form is an entry
 * there.
 */

import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { ReasoningDetail } from "../../../src/domain/request/chat.ts"

export type Finish = "stop" | "length" | "tool_calls" | "content_filter"

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

/** What a model says: its reasoning, then text, then calls. */
export interface Said {
  /** Each piece with its format, and without an index. */
  readonly thoughts: ReadonlyArray<ReasoningDetail>
  readonly text: string
  readonly refusal: string
  readonly calls: ReadonlyArray<Call>
}

export interface Answer extends Partial<Said> {
  readonly finish: Finish
  /** The stop sequence at which it ended. */
  readonly stoppedAt?: string
}

/** The tokens of every answer. Cached ones are part of the prompt, reasoning is part of the completion. */
export const counts = { prompt: 30, cached: 6, completion: 12, reasoning: 4 }

export type Part =
  | { readonly kind: "text"; readonly text: string }
  /** `url`: of the web, or a data URL. */
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly data: string }
  | { readonly kind: "audio"; readonly data: string; readonly format: string }
  | { readonly kind: "video"; readonly url: string }
  /** A file that a host has stored. */
  | { readonly kind: "stored"; readonly id: string }

export type Turn =
  | { readonly role: "system" | "user"; readonly parts: ReadonlyArray<Part> }
  | { readonly role: "result"; readonly id: string; readonly text: string }

/** An earlier answer, as the caller gives it back in its own form. */
export interface GivenBack {
  readonly role: "assistant"
  readonly items: ReadonlyArray<JsonObject>
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface Wishes {
  readonly tools?: ReadonlyArray<Tool>
  readonly stop?: ReadonlyArray<string>
  /** JSON Schema of the answer. */
  readonly schema?: JsonObject
  readonly temperature?: number
}

export interface Question extends Wishes {
  readonly turns: ReadonlyArray<Turn | GivenBack>
}

/** What a host was asked. Members are undefined where it was not asked for them. */
export interface Asked extends Readonly<Partial<Record<keyof Wishes, unknown>>> {
  readonly turns: ReadonlyArray<Turn | ({ readonly role: "assistant" } & Said)>
}

/** What a caller reads of an answer. */
export interface Heard {
  readonly reasoning: string
  readonly text: string
  readonly refusal: string
  readonly calls: ReadonlyArray<Call>
  /** How it ended, in the form's own words. */
  readonly end: string
  readonly counts: typeof counts
  /** USD. */
  readonly cost: number
  readonly model: string
}

export const textPart = (text: string): Part => ({ kind: "text", text })
export const user = (...parts: ReadonlyArray<Part | string>): Turn => ({
  role: "user",
  parts: parts.map((part) => (typeof part === "string" ? textPart(part) : part)),
})

/** A text in pieces, as a stream brings it. */
export const pieces = (text: string, most = 12): ReadonlyArray<string> => {
  const characters = Array.from(text)
  const found: Array<string> = []
  const length = Math.max(3, Math.ceil(characters.length / most))
  for (let at = 0; at < characters.length; at += length) found.push(characters.slice(at, at + length).join(""))
  return found
}

export const textIn = (value: unknown): string => (typeof value === "string" ? value : "")
export const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
export const numberIn = (value: unknown): number => (typeof value === "number" ? value : Number.NaN)

/** A call's arguments; those of a call that broke off as they are. */
export const inputOf = (json: unknown): JsonObject => {
  try {
    const parsed: unknown = JSON.parse(textIn(json))
    return objectIn(parsed)
  } catch {
    return { broken: json }
  }
}

/** Members that are not absent. */
export const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Reasoning whose pieces of one index are fragments of one text, as whole pieces without an index. */
export const joined = (details: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const found: Array<Record<string, unknown>> = []
  for (const detail of details) {
    const last = found.at(-1)
    const goesOn = last?.["index"] === detail["index"] && last?.["type"] === detail["type"]
    if (last === undefined || !goesOn) found.push({ ...detail })
    else {
      for (const [name, value] of Object.entries(detail)) {
        const text = name === "text" || name === "summary" || name === "data"
        last[name] = text ? textIn(last[name]) + textIn(value) : value
      }
    }
  }
  return found
}

export const withoutIndex = ({ index: _, ...detail }: JsonObject): JsonObject => detail
