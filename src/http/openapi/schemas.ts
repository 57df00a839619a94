/** Functions that write the schemas of answers, which no check decodes. Those of requests are made by their checks (`domain/json/checks.ts`). */
import type { JsonSchema } from "../../domain/json/checks.ts"

export const text: JsonSchema = { type: "string" }
export const flag: JsonSchema = { type: "boolean" }
export const amount: JsonSchema = { type: "number" }
export const count: JsonSchema = { type: "integer", minimum: 0 }
export const anyObject: JsonSchema = { type: "object" }
export const anything: JsonSchema = {}

export const only = (word: string): JsonSchema => ({ type: "string", const: word })
export const oneOf = (...words: ReadonlyArray<string>): JsonSchema => ({ type: "string", enum: words })
export const listOf = (items: JsonSchema): JsonSchema => ({ type: "array", items })
export const anyOf = (...schemas: ReadonlyArray<JsonSchema>): JsonSchema => ({ anyOf: schemas })
export const orNull = (schema: JsonSchema): JsonSchema => anyOf(schema, { type: "null" })
export { withDescription as described } from "../../domain/json/checks.ts"
/** A schema that is described once, under this name, wherever it is used: `document.ts`. */
export const titled = (title: string, schema: JsonSchema): JsonSchema => ({ title, ...schema })

/** An object of an answer: null only where its schema says so. Other members may come. */
export const given = (
  members: Readonly<Record<string, JsonSchema>>,
  ...sometimes: ReadonlyArray<string>
): JsonSchema => ({
  type: "object",
  properties: members,
  required: Object.keys(members).filter((name) => !sometimes.includes(name)),
})

/** The error body of all forms but Messages. The control plane describes it. */
export const errorBody: JsonSchema = { $ref: "#/components/schemas/Error" }
