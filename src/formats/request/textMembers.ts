/** Members of chat and legacy completions that say what the text of the answer is to be. */
import {
  anyObject,
  anything,
  byType,
  type Check,
  flag,
  listOf,
  matching,
  objectOf,
  oneOf,
  text,
  textOrList,
} from "../../domain/json/checks.ts"

/** The name of a schema. */
export const schemaName = matching(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores and dashes")

export const textPart: Check = objectOf({ text }, "text")

/** A text, or parts that `part` accepts. */
export const contentOf = (part: Check): Check => textOrList(listOf(part), "must be a string or an array of parts")

/** Text alone: a string, or text parts. */
export const textContent = contentOf(byType(new Map([["text", textPart]])))

const formats: ReadonlyMap<string, Check> = new Map([
  ["text", anything],
  ["json_object", anything],
  [
    "json_schema",
    objectOf(
      { json_schema: objectOf({ name: schemaName, description: text, schema: anyObject, strict: flag }, "name") },
      "json_schema",
    ),
  ],
  ["grammar", objectOf({ grammar: text }, "grammar")],
  ["python", anything],
])

export const textMembers = {
  prediction: objectOf({ type: oneOf("content"), content: textContent }, "type", "content"),
  response_format: byType(formats),
} satisfies Readonly<Record<string, Check>>
