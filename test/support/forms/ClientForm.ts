/** What a client form is to the tests: how it asks, and how it reads answers, streams and errors. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { Finish, Heard, Part, Question } from "./script.ts"

/** An error of any form, in one shape. */
export interface Failed {
  /** The gateway's own word for it. */
  readonly type: string
  readonly message: string
}

export interface ClientForm {
  readonly name: string
  readonly path: string
  /** Whether it has turns of the assistant, tools and media. */
  readonly isChat: boolean
  /** How many choices it may ask for. */
  readonly choices: number
  /** The form's own words for the end of an answer. */
  readonly ends: Readonly<Record<Finish, string>>
  readonly body: (question: Question) => JsonObject
  /** Asks for this many choices. */
  readonly several: (choices: number) => JsonObject
  /** A whole answer as items of the next request. */
  readonly given: (answer: JsonObject) => ReadonlyArray<JsonObject>
  /** The body that a whole answer would have, from the text of a stream, which has to keep the grammar. */
  readonly assembled: (stream: string) => JsonObject
  /** A body without what differs between two answers with the same content. */
  readonly same: (body: JsonObject) => unknown
  /** Each choice of an answer. */
  readonly heard: (body: JsonObject) => ReadonlyArray<Heard>
  /** The error of a body with another status than 200; its shape is checked. */
  readonly failed: (body: JsonObject, response: Response) => Failed
  /** The error in an assembled stream. */
  readonly broken: (body: JsonObject) => Failed | undefined
  /** `undefined`: the form has no such part. */
  readonly partOf: (part: Part) => JsonObject | undefined
}

export const withoutNames = ({ id: _, created: __, ...body }: JsonObject): JsonObject => body

/** Null, empty texts and empty lists say nothing. */
export const filled = (members: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) => value != null && value !== "" && !(Array.isArray(value) && value.length === 0),
    ),
  )

export const plain = (parts: ReadonlyArray<Part>): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("")

export const userContent = (parts: ReadonlyArray<Part>, partOf: (part: Part) => JsonObject | undefined): unknown =>
  parts.every(({ kind }) => kind === "text") && parts.length === 1 ? plain(parts) : parts.map(partOf)
