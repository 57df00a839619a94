/**
 * Schemas of answers, which no check decodes, with their examples. Schemas of requests are made by their checks
 * (`domain/json/checks.ts`).
 */
import { type JsonSchema, withDescription } from "../../domain/json/checks.ts"

const example = Symbol("example")

/** A schema with an example of it, which spreading keeps and JSON leaves out. */
export interface Shown extends JsonSchema {
  readonly [example]?: unknown
}

/** The same schema with an example. */
export const like = (schema: JsonSchema, value: unknown): Shown => ({ ...schema, [example]: value })

export const exampleOf = (schema: Shown): unknown => schema[example]

export const text: Shown = { type: "string" }
export const flag: Shown = { type: "boolean" }
export const amount: Shown = { type: "number" }
export const count: Shown = { type: "integer", minimum: 0 }
export const anyObject: Shown = { type: "object" }
export const anything: Shown = {}

export const only = (word: string): Shown => like({ type: "string", const: word }, word)
export const oneOf = (...words: ReadonlyArray<string>): Shown => ({ type: "string", enum: words })
export const anyOf = (...schemas: ReadonlyArray<Shown>): Shown => ({ anyOf: schemas })
/** The example is null where the schema has none. */
export const orNull = (schema: Shown): Shown => like(anyOf(schema, { type: "null" }), exampleOf(schema) ?? null)
export const described = (description: string, schema: Shown): Shown =>
  like(withDescription(description, schema), exampleOf(schema))
/** A schema that is described once, under this name, wherever it is used: `document.ts`. */
export const titled = (title: string, schema: Shown): Shown => ({ title, ...schema })

/** The example is a list of the item's. */
export const listOf = (items: Shown): Shown => {
  const one = exampleOf(items)
  return like({ type: "array", items }, one === undefined ? undefined : [one])
}

/**
 * An object of an answer: null only where its schema says so. Other members may come. The example has the members that
 * have one.
 */
export const given = (members: Readonly<Record<string, Shown>>, ...sometimes: ReadonlyArray<string>): Shown => {
  const shown = Object.entries(members).filter(([, schema]) => exampleOf(schema) !== undefined)
  return like(
    {
      type: "object",
      properties: members,
      required: Object.keys(members).filter((name) => !sometimes.includes(name)),
    },
    shown.length === 0 ? undefined : Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(schema)])),
  )
}

/** The error body of all forms but Messages. The control plane describes it. */
export const errorBody: Shown = { $ref: "#/components/schemas/Error" }
