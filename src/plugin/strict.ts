/** Decoding of a plugin's own configuration: every problem at once, and no field that it does not declare. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/** A struct without fields means "anything" to Schema; here it means that there is nothing to configure. */
const nothing = Schema.Record({
  key: Schema.String,
  value: Schema.Never.annotations({ description: "no field: there is nothing to configure" }),
})

const isEmpty = ({ ast }: Schema.Schema.All): boolean =>
  AST.isTypeLiteral(ast) && ast.propertySignatures.length === 0 && ast.indexSignatures.length === 0

export const decodeStrictly = <A, I>(schema: Schema.Schema<A, I>): ((raw: unknown) => Either.Either<A, ParseError>) => {
  const strictly = { errors: "all", onExcessProperty: "error" } as const
  const decode = Schema.decodeUnknownEither(schema, strictly)
  if (!isEmpty(schema)) return decode
  const decodeNothing = Schema.decodeUnknownEither(nothing, strictly)
  return (raw) => Either.flatMap(decodeNothing(raw), decode)
}
