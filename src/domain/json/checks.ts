/**
 * Checks of JSON values. A check reports what is wrong with one value, and has the JSON Schema of the values that it accepts, so that
 * the description of the API (`http/openapi`) is made from what decodes. Checks of lists and objects are made of smaller ones, once,
 * when a module is loaded. They are plain functions in place of effect/Schema, since decoding runs on every request: a Schema of half
 * these members takes five times as long (decision 0005).
 */
import { isJsonObject, type JsonObject } from "./json.ts"
import { escapedControls } from "./plainText.ts"
import { withoutKeys } from "./redaction.ts"

/** One thing wrong with a request, and where: `messages[0].role`. */
export interface Issue {
  readonly path: string
  readonly message: string
}

export type Issues = Array<Issue>

/** JSON Schema 2020-12, as OpenAPI 3.1 has it. */
export type JsonSchema = JsonObject

/** `path`: the place of the value, such as `messages[0].role`. */
export type CheckFunction = (value: unknown, path: string, issues: Issues) => void

export interface Check extends CheckFunction {
  readonly schema: JsonSchema
}

/** The most issues in an error body. Further ones are not reported. */
const mostIssues = 10

/** Path and message may contain text from the client. */
export const report = (issues: Issues, path: string, message: string): void => {
  if (issues.length < mostIssues) issues.push({ path: withoutKeys(path), message: withoutKeys(message) })
}

/** A caller's text for a message: cut to 128 characters, control characters escaped. */
export const quoted = (text: string): string => escapedControls(JSON.stringify(withoutKeys(text).slice(0, 128)))

/** A check of one's own. `check` gets the schema as a property, so it may not be a check already. */
export const checkOf = (schema: JsonSchema, check: CheckFunction & { readonly schema?: never }): Check =>
  Object.assign(check, { schema })

/** The same check with another schema. */
const withSchema = (schema: JsonSchema, check: Check): Check =>
  checkOf(schema, (value, path, issues) => check(value, path, issues))

/** A schema with a title is one that others refer to, so it keeps its own description. */
export const withDescription = (description: string, schema: JsonSchema): JsonSchema =>
  "title" in schema ? { allOf: [schema], description } : { ...schema, description }

/** The same check, with a description for the readers of the API's documentation: Markdown, whole sentences. */
export const described = (description: string, check: Check): Check =>
  withSchema(withDescription(description, check.schema), check)

/** The same check, whose schema is described once, under this name, wherever it is used. */
export const titled = (title: string, check: Check): Check => withSchema({ title, ...check.schema }, check)

/** A check by a predicate. */
export const checkThat = (schema: JsonSchema, holds: (value: unknown) => boolean, message: string): Check =>
  checkOf(schema, (value, path, issues) => {
    if (!holds(value)) report(issues, path, message)
  })

export const anything: Check = checkOf({}, () => {})

export const text: Check = checkThat({ type: "string" }, (value) => typeof value === "string", "must be a string")

export const filledText: Check = checkThat(
  { type: "string", minLength: 1 },
  (value) => typeof value === "string" && value !== "",
  "must be a non-empty string",
)

/** `most` counts UTF-16 units. (A schema counts characters, which may be fewer.) */
export const shortText = (most: number): Check =>
  checkThat(
    { type: "string", maxLength: most },
    (value) => typeof value === "string" && value.length <= most,
    `must be a string of at most ${most} characters`,
  )

/** `pattern`: without flags but `u`, since a schema has none. */
export const matching = (pattern: RegExp, message: string): Check =>
  checkThat(
    { type: "string", pattern: pattern.source },
    (value) => typeof value === "string" && pattern.test(value),
    message,
  )

export const flag: Check = checkThat({ type: "boolean" }, (value) => typeof value === "boolean", "must be a boolean")

export const anyObject: Check = checkThat({ type: "object" }, isJsonObject, "must be an object")

export const integer = (least: number, most: number): Check =>
  checkThat(
    { type: "integer", minimum: least, maximum: most },
    (value) => typeof value === "number" && Number.isInteger(value) && value >= least && value <= most,
    `must be an integer from ${least} to ${most}`,
  )

export const anyInteger: Check = checkThat({ type: "integer" }, Number.isInteger, "must be an integer")

export const numberWithin = (least: number, most: number): Check =>
  checkThat(
    { type: "number", minimum: least, maximum: most },
    (value) => typeof value === "number" && value >= least && value <= most,
    `must be a number from ${least} to ${most}`,
  )

export const notNegative: Check = checkThat(
  { type: "number", minimum: 0 },
  (value) => typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY,
  "must be a non-negative number",
)

const wordSchema = (words: ReadonlyArray<string>): JsonSchema =>
  words.length === 1 ? { type: "string", const: words[0] } : { type: "string", enum: words }

export const oneOf = (...known: ReadonlyArray<string>): Check =>
  checkThat(
    wordSchema(known),
    (value) => typeof value === "string" && known.includes(value),
    `must be one of ${known.join(", ")}`,
  )

const nothing: JsonSchema = { type: "null" }

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`

/** One value alone. The message is the description too. */
export const exactly = (only: string | number | boolean, message: string): Check =>
  checkThat({ const: only, description: sentence(message) }, (value) => value === only, message)

/** `false` alone. `message`: why there can be no `true`. */
export const onlyFalse = (message: string): Check =>
  checkOf({ const: false, description: sentence(message) }, (value, path, issues) => {
    if (value === true) report(issues, path, message)
    else if (value !== false) report(issues, path, "must be a boolean")
  })

/** What is checked elsewhere: only its schema is of use. */
export const checkedElsewhere = (schema: JsonSchema): Check => checkOf(schema, () => {})

/** Refuses every value. The message is the description too. */
export const refused = (message: string): Check =>
  checkThat({ ...nothing, description: `Refused: ${message}.` }, (value) => value === null, message)

/** Refuses lists with entries, and all other values. The message is the description too. */
export const emptyList = (message: string): Check =>
  checkThat(
    { type: "array", maxItems: 0, description: sentence(message) },
    (value) => Array.isArray(value) && value.length === 0,
    message,
  )

const takesNull = ({ type, anyOf, description: _, ...others }: JsonSchema): boolean =>
  type === "null" ||
  (Array.isArray(anyOf) && anyOf.some((schema) => takesNull(schema))) ||
  (type === undefined && anyOf === undefined && Object.keys(others).length === 0)

/** The description stays outside, where readers look for it. */
const orNothing = (schema: JsonSchema): JsonSchema => {
  if (takesNull(schema)) return schema
  if ("title" in schema) return { anyOf: [schema, nothing] }
  const { description, ...others } = schema
  return { anyOf: [others, nothing], ...(description === undefined ? {} : { description }) }
}

export const orNull = (check: Check): Check =>
  checkOf(orNothing(check.schema), (value, path, issues) => {
    if (value !== null) check(value, path, issues)
  })

export const listOf = (item: Check, most: number = Number.POSITIVE_INFINITY, least = 0): Check =>
  checkOf(
    {
      type: "array",
      items: item.schema,
      ...(least === 0 ? {} : { minItems: least }),
      ...(most === Number.POSITIVE_INFINITY ? {} : { maxItems: most }),
    },
    (value, path, issues) => {
      if (!Array.isArray(value)) report(issues, path, "must be an array")
      else if (value.length < least)
        report(issues, path, `must have at least ${least} ${least === 1 ? "entry" : "entries"}`)
      else if (value.length > most) report(issues, path, `must have at most ${most} entries, not ${value.length}`)
      else for (let at = 0; at < value.length; at++) item(value[at], `${path}[${at}]`, issues)
    },
  )

/** The schema of an object by its known members. Those that are not required may be null. Other members pass. */
export const objectSchema = (
  known: Readonly<Record<string, Check>>,
  required: ReadonlyArray<string> = [],
): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(known).map(([name, { schema }]) => [name, required.includes(name) ? schema : orNothing(schema)]),
  ),
  ...(required.length === 0 ? {} : { required }),
})

/** The schema of objects that have a member. `value`: its schema; without it anything but null. */
export const hasMember = (name: string, value: JsonSchema = { not: nothing }): JsonSchema => ({
  type: "object",
  properties: { [name]: value },
  required: [name],
})

/** Checks an object by its known members, some of them required. Other members pass. */
export const objectOf = (known: Readonly<Record<string, Check>>, ...required: ReadonlyArray<string>): Check => {
  // A map, not the record: a member may be called `toString`.
  const checks = new Map(Object.entries(known))
  return checkOf(objectSchema(known, required), (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    for (const name of required) {
      if (value[name] === undefined) report(issues, `${path}.${name}`, "is required")
    }
    for (const name in value) {
      const check = checks.get(name)
      const member = value[name]
      // Optional members may be null, since some clients write all their fields.
      const isAbsent = member === undefined || (member === null && !required.includes(name))
      if (check !== undefined && !isAbsent) check(member, `${path}.${name}`, issues)
    }
  })
}

/** What a check refuses besides. `restriction`: keywords that the check's own schema does not have. */
export const refined = (check: Check, restriction: JsonSchema, further: CheckFunction): Check =>
  checkOf({ ...check.schema, ...restriction }, (value, path, issues) => {
    check(value, path, issues)
    further(value, path, issues)
  })

/** A string, or what another check takes. `message`: for what is neither a string nor an array. */
export const textOrList = (list: Check, message: string): Check =>
  checkOf({ anyOf: [text.schema, list.schema] }, (value, path, issues) => {
    if (Array.isArray(value)) list(value, path, issues)
    else if (typeof value !== "string") report(issues, path, message)
  })

/** Checks objects by the one, and other values by the other. */
export const objectOr = (object: Check, other: Check): Check =>
  checkOf({ anyOf: [other.schema, object.schema] }, (value, path, issues) =>
    (isJsonObject(value) ? object : other)(value, path, issues),
  )

/** The schema of objects whose `member` is the name of one of the checks, and that pass it. */
export const choiceSchema = (member: string, known: ReadonlyMap<string, Check>): ReadonlyArray<JsonSchema> =>
  [...known].map(([name, { schema }]) => {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {}
    const required = Array.isArray(schema["required"]) ? schema["required"] : []
    return {
      ...schema,
      type: "object",
      properties: { [member]: wordSchema([name]), ...properties },
      required: [member, ...required],
    }
  })

/** Checks an object by its `type`. Objects of types that are not listed go to `other`; without it they are refused. */
export const byType = (known: ReadonlyMap<string, Check>, other?: Check): Check =>
  checkOf({ anyOf: [...choiceSchema("type", known), ...otherTypes(known, other)] }, (value, path, issues) => {
    if (!isJsonObject(value)) return report(issues, path, "must be an object")
    const { type } = value
    if (typeof type !== "string")
      return report(issues, `${path}.type`, type === undefined ? "is required" : "must be a string")
    const check = known.get(type) ?? other
    if (check === undefined) report(issues, `${path}.type`, `must be one of ${[...known.keys()].join(", ")}`)
    else check(value, path, issues)
  })

const otherTypes = (known: ReadonlyMap<string, Check>, other: Check | undefined): ReadonlyArray<JsonSchema> =>
  other === undefined
    ? []
    : [
        {
          type: "object",
          properties: { type: { type: "string", not: { enum: [...known.keys()] } } },
          required: ["type"],
          ...(Object.keys(other.schema).length === 0 ? {} : { allOf: [other.schema] }),
        },
      ]
