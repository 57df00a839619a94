/**
 * Makes a reader out of a schema. It reads as the schema does, in a small part of the time: a catalogue has a thousand hosts, and is
 * read at each start. A value that the schema would refuse, or whose schema has a form that is not known here, is left to the schema,
 * which says what is wrong with it. Pure.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { isJsonObject } from "../domain/json/json.ts"

/** What a reader gives for a value that is left to the schema. */
const left = Symbol("left to the schema")

type Reader = (value: unknown) => unknown

/** `undefined`: the value is left to the schema. */
export const quickReader = <A extends object, I>(schema: Schema.Schema<A, I>) => {
  const read = readerOf(schema.ast)
  return (entry: unknown): A | undefined => {
    const value = read(entry)
    // The reader was made from the schema of A.
    return value === left ? undefined : (value as A)
  }
}

const leave: Reader = () => left

const when =
  (holds: (value: unknown) => boolean): Reader =>
  (value) =>
    holds(value) ? value : left

const readerOf = (ast: AST.AST): Reader => {
  switch (ast._tag) {
    case "UnknownKeyword":
      return (value) => value
    case "StringKeyword":
      return when((value) => typeof value === "string")
    case "NumberKeyword":
      return when((value) => typeof value === "number")
    case "BooleanKeyword":
      return when((value) => typeof value === "boolean")
    case "UndefinedKeyword":
      return when((value) => value === undefined)
    case "Literal":
      return when((value) => value === ast.literal)
    case "Union":
      return firstOf(ast.types.map(readerOf))
    case "Refinement":
      return refined(ast)
    case "TupleType":
      return listOf(ast)
    case "TypeLiteral":
      return structOf(ast, [])
    case "Transformation":
      return transformed(ast)
    default:
      return leave
  }
}

const firstOf =
  (readers: ReadonlyArray<Reader>): Reader =>
  (value) => {
    for (const read of readers) {
      const found = read(value)
      if (found !== left) return found
    }
    return left
  }

const defaults: AST.ParseOptions = {}

const refined = (ast: AST.Refinement): Reader => {
  const read = readerOf(ast.from)
  return (value) => {
    const found = read(value)
    return found === left || Option.isSome(ast.filter(found, defaults, ast)) ? left : found
  }
}

const listOf = ({ elements, rest }: AST.TupleType): Reader => {
  const [every, ...more] = rest
  if (elements.length > 0 || every === undefined || more.length > 0) return leave
  const read = readerOf(every.type)
  return (value) => {
    if (!Array.isArray(value)) return left
    const list: Array<unknown> = []
    for (const one of value) {
      const found = read(one)
      if (found === left) return left
      list.push(found)
    }
    return list
  }
}

interface Member {
  readonly wire: string
  readonly name: PropertyKey
  readonly read: Reader
  /** What the member is where it was written: it may be replaced by a default. */
  readonly decode: ((written: Option.Option<unknown>) => Option.Option<unknown>) | undefined
  /** What it is where it was not, the same for all values; without it, it has to be written. */
  readonly absent: (() => Option.Option<unknown>) | undefined
}

/** Defaults are decoded by the schema, which takes long the first time: only when one is needed. */
const once = <A extends object>(make: () => A): (() => A) => {
  let made: A | undefined
  return () => {
    made ??= make()
    return made
  }
}

const memberOf = (
  { name: wire, isOptional, type }: AST.PropertySignature,
  changes: ReadonlyArray<AST.PropertySignatureTransformation>,
): Member => {
  const change = changes.find(({ from }) => from === wire)
  const absent = isOptional ? once(() => change?.decode(Option.none()) ?? Option.none()) : undefined
  return { wire: String(wire), name: change?.to ?? wire, read: readerOf(type), decode: change?.decode, absent }
}

const structOf = (
  { propertySignatures, indexSignatures }: AST.TypeLiteral,
  changes: ReadonlyArray<AST.PropertySignatureTransformation>,
): Reader => {
  const members = propertySignatures.map((signature) => memberOf(signature, changes))
  if (indexSignatures.length > 0) return members.length > 0 ? leave : recordOf(indexSignatures)
  const names = new Set(members.map(({ wire }) => wire))
  return (value) => {
    if (!isJsonObject(value)) return left
    for (const name in value) if (!names.has(name)) return left
    const made: Record<PropertyKey, unknown> = {}
    for (const { wire, name, read, decode, absent } of members) {
      let found = Option.none<unknown>()
      if (Object.hasOwn(value, wire)) {
        const written = read(value[wire])
        if (written === left) return left
        found = decode === undefined ? Option.some(written) : decode(Option.some(written))
      } else if (absent === undefined) return left
      else found = absent()
      if (Option.isSome(found)) made[name] = found.value
    }
    return made
  }
}

const recordOf = ([index, ...more]: ReadonlyArray<AST.IndexSignature>): Reader => {
  if (index === undefined || more.length > 0 || !AST.isStringKeyword(index.parameter)) return leave
  const read = readerOf(index.type)
  return (value) => {
    if (!isJsonObject(value)) return left
    const made: Record<string, unknown> = {}
    for (const [name, one] of Object.entries(value)) {
      const found = read(one)
      if (found === left) return left
      made[name] = found
    }
    return made
  }
}

/** The side after the transformation is not read again: it is what the transformation gives. */
const transformed = (ast: AST.Transformation): Reader => {
  const { from, transformation } = ast
  if (AST.isTypeLiteralTransformation(transformation))
    return AST.isTypeLiteral(from) ? structOf(from, transformation.propertySignatureTransformations) : leave
  if (!AST.isFinalTransformation(transformation)) return leave
  const read = readerOf(from)
  return (value) => {
    const found = read(value)
    if (found === left) return left
    const made = transformation.decode(found, defaults, ast, found)
    return Either.isEither(made) && Either.isRight(made) ? made.right : left
  }
}
