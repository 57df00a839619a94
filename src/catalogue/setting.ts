/** How a member of the configuration is declared: once, with its check, its default and what is said of it. */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/** What is said of a member, and what holds where it is left out, as an author would write it. */
export type Meaning<I> = {
  /** For the page, the JSON Schema and editors: what it means, its unit and its bounds. */
  readonly description: string
} & (
  | { readonly default: I }
  /** The same, but not shown beside the description, which says it where there is something to say. */
  | { readonly otherwise: I }
)

export const absentOf = <I>(meaning: Meaning<I>): I => ("default" in meaning ? meaning.default : meaning.otherwise)

/** A member that may be left out. `written`: its name in the file; the program has the name that it is declared under. */
export const setting = <const Name extends string, A, I>(
  written: Name,
  schema: Schema.Schema<A, I>,
  meaning: Meaning<NoInfer<I>>,
) => {
  const absent = absentOf(meaning)
  let read: { readonly value: A } | undefined
  const value = () => {
    read ??= { value: Schema.decodeSync(schema)(absent) }
    return read.value
  }
  return Schema.optionalWith(schema, { default: value })
    .annotations({
      description: meaning.description,
      ...("default" in meaning ? { [AST.DefaultAnnotationId]: absent } : {}),
    })
    .pipe(Schema.fromKey(written))
}

/** A member that has to be there. */
export const required = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

/** A member that stays absent where it is left out. */
export const absentable = <const Name extends string, A, I>(
  written: Name,
  schema: Schema.Schema<A, I>,
  description: string,
) => Schema.optionalWith(schema, { exact: true }).annotations({ description }).pipe(Schema.fromKey(written))

/**
 * Annotates a value that the Schema checks by a function with a Schema of the form in which an author writes it, from which types
 * and JSON Schema are made.
 */
export const writtenAs = Symbol.for("headgate/writtenAs")
