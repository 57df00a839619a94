/**
 * The form in which something is written whose Schema is given: the encoded side of the Schema with what its annotations say.
 * `scripts/configSchema.ts` makes types, JSON Schema and tables of it.
 */
import type * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { writtenAs } from "../src/catalogue/setting.ts"

export type Word = string | number | boolean | null

export interface Member {
  readonly name: string
  readonly description: string
  /** JSON; `undefined`: none is shown. */
  readonly default: unknown
  readonly isOptional: boolean
  readonly form: Form
}

export type Form = {
  /** Of its type. */
  readonly name?: string
  /** What is said of its type. */
  readonly documentation?: string
} & (
  | { readonly kind: "anything" | "text" | "number" }
  /** One of some words, in the order in which TypeScript has them. */
  | { readonly kind: "words"; readonly words: ReadonlyArray<Word> }
  | { readonly kind: "list"; readonly item: Form; readonly isEmptyAllowed: boolean }
  /** `others`: the form of members that are not named; `undefined`: there are none. */
  | { readonly kind: "object"; readonly members: ReadonlyArray<Member>; readonly others: Form | undefined }
  | { readonly kind: "either"; readonly forms: ReadonlyArray<Form> }
  /** A value of a program, which no JSON has. */
  | { readonly kind: "value" }
)

/** Throws for what no configuration has had yet. */
export const formOf = (ast: AST.AST): Form => {
  // The type of annotations does not say what `setting.ts` does: it is a function that returns a Schema.
  const written = ast.annotations[writtenAs] as (() => Schema.Schema.All) | undefined
  return written === undefined ? plainForm(ast) : { ...formOf(written().ast), ...named(ast) }
}

const plainForm = (ast: AST.AST): Form => {
  switch (ast._tag) {
    case "UnknownKeyword":
      return { kind: "anything" }
    case "StringKeyword":
      return { kind: "text" }
    case "NumberKeyword":
      return { kind: "number" }
    case "BooleanKeyword":
      return { kind: "words", words: [false, true] }
    case "Literal":
      return { kind: "words", words: [typeof ast.literal === "bigint" ? unknown(ast) : ast.literal] }
    case "Union":
      return { ...eitherOf(ast.types), ...named(ast) }
    case "Refinement":
      return formOf(ast.from)
    case "TupleType":
      return listOf(ast)
    case "TypeLiteral":
      return { ...objectOf(ast, ast, new Map()), ...named(ast) }
    case "Transformation":
      return { ...transformed(ast), ...named(ast) }
    case "Declaration":
      return { kind: "value", ...named(ast) }
    default:
      return unknown(ast)
  }
}

const unknown = (ast: AST.AST): never => {
  throw new Error(`There is no form for ${ast._tag} ${String(ast)}`)
}

const textAt = (annotated: AST.Annotated, id: symbol): string | undefined => {
  const text = annotated.annotations[id]
  return typeof text === "string" ? text : undefined
}

const named = (ast: AST.Annotated) => {
  const name = textAt(ast, AST.IdentifierAnnotationId)
  const documentation = textAt(ast, AST.DocumentationAnnotationId)
  return { ...(name === undefined ? {} : { name }), ...(documentation === undefined ? {} : { documentation }) }
}

/** `null`, then booleans. */
const rankOfWord = (word: Word): number => (word === null ? 0 : typeof word === "boolean" ? 1 : 2)
const rankOfForm = ({ kind }: Form): number => (kind === "text" ? 0 : kind === "number" ? 1 : 2)

const eitherOf = (types: ReadonlyArray<AST.AST>): Form => {
  const forms = types.filter((type) => !AST.isUndefinedKeyword(type)).map(formOf)
  const [only] = forms
  if (only !== undefined && forms.length === 1) return only
  const words = forms.flatMap((form) => (form.kind === "words" ? form.words : []))
  const choice: Form = { kind: "words", words: words.toSorted((a, b) => rankOfWord(a) - rankOfWord(b)) }
  const others = forms.flatMap((form) =>
    form.kind === "words" ? [] : form.kind === "either" && form.name === undefined ? form.forms : [form],
  )
  if (others.length === 0) return choice
  const sorted = others.toSorted((a, b) => rankOfForm(a) - rankOfForm(b))
  return { kind: "either", forms: words.length === 0 ? sorted : [...sorted, choice] }
}

const listOf = (ast: AST.TupleType): Form => {
  const [item] = ast.rest
  return item === undefined
    ? unknown(ast)
    : { kind: "list", item: formOf(item.type), isEmptyAllowed: ast.elements.length === 0 }
}

/** A Schema of an object whose members have defaults or other names in the program is a transformation, with what is said of them. */
const transformed = ({ from, to, transformation }: AST.Transformation): Form => {
  if (!AST.isTypeLiteralTransformation(transformation) || !AST.isTypeLiteral(from) || !AST.isTypeLiteral(to))
    return formOf(from)
  const names = transformation.propertySignatureTransformations.map((each) => [each.from, each.to] as const)
  return objectOf(from, to, new Map(names))
}

const objectOf = (from: AST.TypeLiteral, to: AST.TypeLiteral, names: ReadonlyMap<PropertyKey, PropertyKey>): Form => {
  const members = from.propertySignatures.map((written): Member => {
    const name = names.get(written.name) ?? written.name
    const inside = to.propertySignatures.find((each) => each.name === name)
    const said = { annotations: { ...written.annotations, ...inside?.annotations } }
    return {
      name: String(written.name),
      description: textAt(said, AST.DescriptionAnnotationId) ?? "",
      default: said.annotations[AST.DefaultAnnotationId],
      isOptional: written.isOptional,
      form: formOf(written.type),
    }
  })
  const [others] = from.indexSignatures
  return { kind: "object", members, others: others === undefined ? undefined : formOf(others.type) }
}
