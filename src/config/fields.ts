/** How a member of the configuration is declared, and kinds of values that several members have. */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { wholeNumber } from "../catalogue/schema.ts"
import { isJsonObject, type JsonObject } from "../domain/json/Json.ts"
import { shownText } from "../domain/json/Problem.ts"

/** What is said of a member, and what holds where it is left out, as an author would write it. */
type Meaning<I> = {
  /** For the page, the JSON Schema and editors: what it means, its unit and its bounds. */
  readonly description: string
} & (
  | { readonly default: I }
  /** The same, but not shown: the description says it, or there is nothing to say. */
  | { readonly otherwise: I }
)

/** A member that may be left out. `written`: its name in the file; the program has the name that it is declared under. */
export const setting = <const Name extends string, A, I>(
  written: Name,
  schema: Schema.Schema<A, I>,
  meaning: Meaning<NoInfer<I>>,
) => {
  const isShown = "default" in meaning
  const absent = isShown ? meaning.default : meaning.otherwise
  return Schema.optionalWith(schema, { default: () => Schema.decodeSync(schema)(absent) })
    .annotations({ description: meaning.description, ...(isShown ? { [AST.DefaultAnnotationId]: absent } : {}) })
    .pipe(Schema.fromKey(written))
}

/** A member that this version does not act on yet: any value but its default is refused. */
export const later = <const Name extends string, A, I>(
  written: Name,
  schema: Schema.Schema<A, I>,
  meaning: { readonly description: string; readonly default: NoInfer<I> },
) => {
  const only = JSON.stringify(meaning.default)
  const isDefault = Schema.filter((value: A) => JSON.stringify(value) === only, {
    description: `${only} (anything else is not available in this version yet)`,
  })
  return setting(written, schema.pipe(isDefault), meaning)
}

/**
 * Annotates a value that the Schema checks by a function with a Schema of the form in which an author writes it, from which types
 * and JSON Schema are made.
 */
export const writtenAs = Symbol.for("headgate/writtenAs")

/** A whole number of at least 0. */
export const amount = wholeNumber(0)

/** From 0 to what a timer of JavaScript can wait at most. */
export const milliseconds = wholeNumber(0, 2 ** 31 - 1)

/** Text for which `holds`; `description` says in an error what was expected. */
export const text = (description: string, holds: (written: string) => boolean) =>
  Schema.String.pipe(Schema.filter(holds, { description }))

/** The same for a field that is not for secrets, so that the error may repeat a wrong value. */
export const publicText = (description: string, holds: (written: string) => boolean) =>
  text(description, holds).annotations({ description, [shownText]: true })

export const name = text("a text that is not empty", (written) => written !== "")

/** A number from 0 to 1. */
export const share = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && written <= 1, { description: "a number from 0 to 1" }),
)

export const notNegative = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && Number.isFinite(written), { description: "a number of at least 0" }),
)

export const anyObject = Schema.declare((value: unknown): value is JsonObject => isJsonObject(value), {
  identifier: "JsonObject",
  description: "an object",
  [writtenAs]: () => Schema.Record({ key: Schema.String, value: Schema.Unknown }),
})
