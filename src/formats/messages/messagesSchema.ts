/**
 * A JSON schema as Claude's structured outputs take it (platform.claude.com, structured outputs, and AWS's page of the same
 * name, read in 2026-11): objects are closed, and bounds of numbers, texts and lists are refused with 400. The description
 * lists what was taken out, as Anthropic's own SDKs do.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

const refused: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"],
])

/** Members that have schemas by name. */
const named: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])

/** Members that are a schema, or a list of some. */
const inner: ReadonlySet<string> = new Set(["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "contains"])

export const exactSchema = (schema: JsonObject): JsonObject => {
  const exact: Record<string, unknown> = {}
  const told: Array<string> = []
  for (const [name, value] of Object.entries(schema)) {
    const isRefused = refused.has(name) || (name === "minItems" && value !== 0 && value !== 1)
    if (isRefused) told.push(`${name}: ${JSON.stringify(value)}`)
    else if (named.has(name) && isJsonObject(value)) exact[name] = mapped(value)
    else exact[name === "oneOf" ? "anyOf" : name] = inner.has(name) ? exactInner(value) : value
  }
  const { type, properties, description } = schema
  const isOfObjects = type === "object" || (Array.isArray(type) && type.includes("object")) || isJsonObject(properties)
  if (isOfObjects) exact["additionalProperties"] = false
  if (told.length > 0) {
    const note = `{${told.join(", ")}}`
    exact["description"] = typeof description === "string" ? `${description}\n\n${note}` : note
  }
  return exact
}

const mapped = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, exactInner(schema)]))

const exactInner = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(exactInner)
  return isJsonObject(schema) ? exactSchema(schema) : schema
}
