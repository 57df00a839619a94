/**
 * Writes `config.schema.json`, and the tables of `docs/configuration.md`, out of the types and comments in
 * `src/config/ConfigInput.ts`: `bun scripts/configSchema.ts`. A test fails when they are not current.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import ts from "typescript-5.9"

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

interface Member {
  readonly name: string
  readonly description: string
  /** JSON, where there is a plain one. */
  readonly fallback: string | undefined
  readonly isOptional: boolean
  readonly type: ts.Type
}

type JsonSchema = Readonly<Record<string, unknown>>

/** Plugins are values of a program, and not of JSON. */
const notInJson = new Set(["inline"])

const program = ts.createProgram([at("src/config/ConfigInput.ts")], {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  module: ts.ModuleKind.Preserve,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  types: ["bun-types"],
})
const checker = program.getTypeChecker()

const textOf = (parts: ReadonlyArray<ts.SymbolDisplayPart> | undefined): string =>
  ts
    .displayPartsToString([...(parts ?? [])])
    .replace(/\s+/g, " ")
    .trim()

const withoutAbsence = (type: ts.Type): ReadonlyArray<ts.Type> =>
  (type.isUnion() ? type.types : [type]).filter((each) => (each.flags & ts.TypeFlags.Undefined) === 0)

const membersOf = (type: ts.Type): ReadonlyArray<Member> =>
  checker.getPropertiesOfType(type).map((symbol) => ({
    name: symbol.name,
    description: textOf(symbol.getDocumentationComment(checker)),
    fallback: symbol
      .getJsDocTags(checker)
      .filter(({ name }) => name === "default")
      .map(({ text }) => textOf(text))
      .at(0),
    isOptional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
    type: checker.getTypeOfSymbol(symbol),
  }))

const schemaOf = (type: ts.Type): JsonSchema => {
  const parts = withoutAbsence(type)
  const literals = parts.flatMap((each) => literalOf(each))
  const others = parts.filter((each) => literalOf(each).length === 0).map(plainSchema)
  const choices = literals.length === 0 ? [] : [{ enum: literals }]
  const [only, ...more] = [...others, ...choices]
  if (only === undefined) return {}
  return more.length === 0 ? only : { anyOf: [only, ...more] }
}

const literalOf = (type: ts.Type): ReadonlyArray<string | number | boolean | null> => {
  if (type.isStringLiteral() || type.isNumberLiteral()) return [type.value]
  if ((type.flags & ts.TypeFlags.Null) !== 0) return [null]
  return (type.flags & ts.TypeFlags.BooleanLiteral) === 0 ? [] : [checker.typeToString(type) === "true"]
}

const plainSchema = (type: ts.Type): JsonSchema => {
  if ((type.flags & ts.TypeFlags.String) !== 0) return { type: "string" }
  if ((type.flags & ts.TypeFlags.Number) !== 0) return { type: "number" }
  if ((type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) !== 0) return {}
  if (checker.isArrayLikeType(type)) {
    const item = checker.getIndexTypeOfType(type, ts.IndexKind.Number)
    return {
      type: "array",
      items: item === undefined ? {} : schemaOf(item),
      ...(checker.isTupleType(type) ? { minItems: 1 } : {}),
    }
  }
  const members = membersOf(type).filter(({ name }) => !notInJson.has(name))
  const index = checker.getIndexTypeOfType(type, ts.IndexKind.String)
  const required = members.filter(({ isOptional }) => !isOptional).map(({ name }) => name)
  return {
    type: "object",
    ...(members.length === 0
      ? {}
      : { properties: Object.fromEntries(members.map((member) => [member.name, memberSchema(member)])) }),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: index === undefined ? false : schemaOf(index),
  }
}

const memberSchema = ({ description, fallback, type }: Member): JsonSchema => ({
  ...(description === "" ? {} : { description }),
  ...(fallback === undefined ? {} : { default: JSON.parse(fallback) }),
  ...schemaOf(type),
})

/** A row for each member that has no members of its own, or any number of them. */
const rowsOf = (type: ts.Type, path: string): ReadonlyArray<string> =>
  membersOf(type).flatMap(({ name, description, fallback, type: inner }) => {
    const at = `${path}${name}`
    const cell = (text: string) => text.replaceAll("|", "\\|")
    const row = `| \`${at}\` | ${cell(description)} | ${fallback === undefined ? "" : `\`${cell(fallback)}\``} |`
    const [only, ...more] = withoutAbsence(inner).filter((each) => (each.flags & ts.TypeFlags.Null) === 0)
    if (only === undefined || more.length > 0) return [row]
    if (checker.isArrayLikeType(only)) {
      const item = checker.getIndexTypeOfType(only, ts.IndexKind.Number)
      return [row, ...(item === undefined || name === "inline" ? [] : rowsOfObject(item, `${at}[].`))]
    }
    const index = checker.getIndexTypeOfType(only, ts.IndexKind.String)
    if (index !== undefined && membersOf(only).length === 0) return [row, ...rowsOfObject(index, `${at}.NAME.`)]
    return isObject(only) ? [row, ...rowsOf(only, `${at}.`)] : [row]
  })

const isObject = (type: ts.Type): boolean => (type.flags & ts.TypeFlags.Object) !== 0

const rowsOfObject = (type: ts.Type, path: string): ReadonlyArray<string> => (isObject(type) ? rowsOf(type, path) : [])

const configType = (): ts.Type => {
  const source = program.getSourceFile(at("src/config/ConfigInput.ts"))
  const module = source && checker.getSymbolAtLocation(source)
  const symbol = module && checker.getExportsOfModule(module).find(({ name }) => name === "GatewayConfigInput")
  if (symbol === undefined) throw new Error("there is no GatewayConfigInput")
  return checker.getDeclaredTypeOfSymbol(symbol)
}

/** The text of `config.schema.json`. */
export const schemaText = (): string => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of Headgate",
    ...plainSchema(configType()),
    allowTrailingCommas: true,
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

const begin = "<!-- made by scripts/configSchema.ts -->"
const end = "<!-- end -->"

/** The page with its table made anew. */
export const pageText = (page: string): string => {
  const table = ["| member | meaning | default |", "| --- | --- | --- |", ...rowsOf(configType(), "")].join("\n")
  return `${page.slice(0, page.indexOf(begin))}${begin}\n\n${table}\n\n${page.slice(page.indexOf(end))}`
}

export const schemaFile = at("config.schema.json")
export const pageFile = at("docs/configuration.md")

if (import.meta.main) {
  writeFileSync(schemaFile, schemaText())
  writeFileSync(pageFile, pageText(readFileSync(pageFile, "utf8")))
}
