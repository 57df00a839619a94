/** Examples of answers, made from their schemas. */
import type { JsonSchema } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/**
 * An example of a schema. `values`: of members, by their names, wherever they stand. A member without one is null where it may be,
 * else the least that its schema allows; one that is not required is left out. `schemas`: those that are referred to.
 */
export const exampleOf = (schema: unknown, values: JsonObject, schemas: JsonObject, name = ""): unknown => {
  const wanted = chosen(schema, values[name] !== undefined, schemas)
  const value = values[name]
  const within = (inner: unknown, of: string) => exampleOf(inner, values, schemas, of)
  switch (wanted["type"]) {
    case "object":
      return isJsonObject(value) && Object.keys(value).length > 0 ? value : objectOf(wanted, within)
    case "array":
      return Array.isArray(value) ? value : [within(wanted["items"], name)]
    case "string":
      return wordOf(wanted, value) ?? (value === undefined ? "" : String(value))
    case "number":
    case "integer":
      return wordOf(wanted, value) ?? (typeof value === "number" ? value : (wanted["minimum"] ?? 0))
    case "boolean":
      return wordOf(wanted, value) ?? value === true
    default:
      return null
  }
}

const objectOf = (
  { properties, required }: JsonSchema,
  within: (schema: unknown, name: string) => unknown,
): JsonObject => {
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  return Object.fromEntries(
    members.filter(([name]) => names.includes(name)).map(([name, inner]) => [name, within(inner, name)]),
  )
}

/** Of a schema that lists its values, or has one alone. */
const wordOf = ({ enum: words, const: only }: JsonSchema, value: unknown): unknown => {
  if (!Array.isArray(words)) return only
  return words.includes(value) ? value : words[0]
}

/** The schema that a reference leads to, or the one of several alternatives that the example is of. */
const chosen = (schema: unknown, hasValue: boolean, schemas: JsonObject): JsonSchema => {
  if (!isJsonObject(schema)) return {}
  const { $ref: reference, anyOf, allOf } = schema
  if (typeof reference === "string") return chosen(schemas[reference.split("/").at(-1) ?? ""], hasValue, schemas)
  if (Array.isArray(allOf)) return chosen(allOf[0], hasValue, schemas)
  if (!Array.isArray(anyOf)) return schema
  const alternatives = anyOf.filter(isJsonObject)
  const empty = alternatives.find(({ type }) => type === "null")
  const other = alternatives.find(({ type }) => type !== "null")
  return chosen(hasValue ? other : (empty ?? other), hasValue, schemas)
}
