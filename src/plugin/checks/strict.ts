/** Decoding of a plugin's own configuration. Reports every problem at once, and refuses undeclared fields. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/** For Schema an empty struct accepts anything. Here it means that there is nothing to configure. */
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
