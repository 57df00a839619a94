/**
 * Turns a Schema's issues into paths and sentences for the author of a configuration. A value is repeated only where a number, a
 * boolean or one of some words was expected, and where it cannot be a secret in the wrong place.
 */
import * as Data from "effect/Data"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as AST from "effect/SchemaAST"
import { distance } from "fastest-levenshtein"
import { isPlainObject } from "./json.ts"
import { looksLikeKey } from "./redaction.ts"

export interface Problem {
  /** `models[0].hosts[1].pricing`; empty: the whole. */
  readonly path: string
  /** Without the path and without a full stop: `expected a number, got list`. */
  readonly message: string
}

/** The gateway does not start. `message` is a line per problem, all of them at once, and holds no secret. */
export class ConfigInvalid extends Data.TaggedError("ConfigInvalid")<{
  readonly problems: readonly [Problem, ...ReadonlyArray<Problem>]
}> {
  override get message() {
    return this.problems.map(configErrorLine).join("\n")
  }
}

const configErrorLine = ({ path, message }: Problem): string =>
  `config error: ${path}: ${message}`.replace(/[\r\n]+/g, " ")

/** All of them in one line. */
export const sentence = (problems: ReadonlyArray<Problem>): string =>
  problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ")

export type Path = ReadonlyArray<PropertyKey>

/**
 * One problem per issue. Decode with `errors: "all"` for all of them, and with `onExcessProperty: "error"` for unknown
 * fields.
 */
export const problemsOf = (issue: ParseResult.ParseIssue, at: Path = []): ReadonlyArray<Problem> =>
  findingsOf(issue, at, undefined).map(({ path, message }) => ({ path: renderPath(path), message }))

/** Where the problems are, one path per issue. */
export const pathsOf = (issue: ParseResult.ParseIssue): ReadonlyArray<Path> =>
  findingsOf(issue, [], undefined).map(({ path }) => path)

/** A path as it is written in code; what is no plain name stands in brackets and quotes. */
export const renderPath = (path: Path): string => {
  let text = ""
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`
    else if (typeof step === "string" && !/^[A-Za-z_][\w-]*$/.test(step)) text += `[${JSON.stringify(step)}]`
    else text += `${text === "" ? "" : "."}${String(step)}`
  }
  return text
}

/** What `value` is, without saying its value. */
export const kindOf = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Array.isArray(value)) return "list"
  return typeof value === "object" && !isPlainObject(value) ? `an instance of ${className(value)}` : typeof value
}

const className = (value: object): string => {
  const made: unknown = "constructor" in value ? value.constructor : undefined
  return typeof made === "function" && /^[A-Za-z]\w{0,39}$/.test(made.name) ? made.name : "a class"
}

/** Whether a name stands for a longer one: `url` for `base_url`, `price` for `pricing`. */
const isPartOf = (name: string, known: string): boolean =>
  name.length >= 3 && (known.endsWith(name) || (name.length >= 5 && known.startsWith(name.slice(0, -1))))

/** `, did you mean "port"?` when one of `names` is close to `name`, else nothing. */
export const hint = (name: string, names: Iterable<string>): string => {
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, "")
  let nearest: string | undefined
  // Two swapped letters count as two edits.
  let least = (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) + 1
  const all = [...names]
  for (const known of all) {
    const steps = distance(plain(name), plain(known))
    if (steps < least) [nearest, least] = [known, steps]
  }
  nearest ??= all.find((known) => isPartOf(plain(name), plain(known)))
  return nearest === undefined ? "" : `, did you mean ${JSON.stringify(nearest)}?`
}

interface Finding {
  readonly path: Path
  readonly message: string
}

const findingsOf = (issue: ParseResult.ParseIssue, path: Path, within: AST.AST | undefined): ReadonlyArray<Finding> => {
  switch (issue._tag) {
    case "Pointer":
      return findingsOf(issue.issue, path.concat(issue.path), within)
    case "Composite": {
      const issues = "_tag" in issue.issues ? [issue.issues] : issue.issues
      if (!AST.isUnion(issue.ast)) return issues.flatMap((inner) => findingsOf(inner, path, issue.ast))
      const [only, ...more] = issues.filter((inner) => !isAboutAbsence(inner))
      return only !== undefined && more.length === 0
        ? findingsOf(only, path, within)
        : [mismatch(issue.ast, issue.actual, path)]
    }
    case "Refinement":
    case "Transformation": {
      const own = Option.isSome(AST.getDescriptionAnnotation(issue.ast))
      const hasMessage = issue.kind === "Predicate" || issue.kind === "Transformation"
      return own && !hasMessage ? [mismatch(issue.ast, issue.actual, path)] : findingsOf(issue.issue, path, within)
    }
    case "Type":
    case "Forbidden":
      return issue.message === undefined
        ? [mismatch(issue.ast, issue.actual, path)]
        : [{ path, message: issue.message }]
    case "Missing":
      return [{ path, message: `expected ${describe(issue.ast.type)}, got nothing` }]
    case "Unexpected":
      return [{ path, message: unexpected(String(path.at(-1)), within) }]
  }
}

/**
 * Whether the issue only says that a value is not `null` or not absent. That does not help an author who gave a value.
 */
const isAboutAbsence = (issue: ParseResult.ParseIssue): boolean =>
  issue._tag === "Type" &&
  (AST.isUndefinedKeyword(issue.ast) || (AST.isLiteral(issue.ast) && issue.ast.literal === null))

const unexpected = (name: string, within: AST.AST | undefined): string => {
  if (within === undefined || !AST.isTypeLiteral(within)) return "unknown field"
  const [index] = within.indexSignatures
  if (index !== undefined) return `expected ${describe(index.parameter)} as its name`
  return `unknown field${hint(
    name,
    within.propertySignatures.map((field) => String(field.name)),
  )}`
}

const mismatch = (ast: AST.AST, actual: unknown, path: Path): Finding => ({
  path,
  message: `expected ${describe(ast)}, got ${shown(actual, ast)}`,
})

/** Annotates a text field that is not for secrets: an error repeats a wrong value of it, unless that looks like a key. */
export const shownText = Symbol.for("headgate/shownText")

/** Whether it may have a key or a password in it, is long, or has characters that a terminal does not show. */
const mayHaveSecret = (text: string): boolean =>
  !/^[\x20-\x7e]{0,80}$/.test(text) || /^sk-|@/i.test(text) || text.split(/[^A-Za-z0-9]/).some(looksLikeKey)

const shown = (actual: unknown, ast: AST.AST): string => {
  if (typeof actual === "number" && wantsNumber(ast)) return String(actual)
  if (typeof actual !== "string") return kindOf(actual)
  const isShort = /^(?:[A-Za-z][A-Za-z _-]{0,19}|[\x20-\x7e]{1,9})$/.test(actual)
  const isShown = (isShort && isClosed(ast)) || (ast.annotations[shownText] === true && !mayHaveSecret(actual))
  return isShown ? `string ${JSON.stringify(actual)}` : "string"
}

/** Whether only numbers, booleans and certain words are expected. */
const isClosed = (ast: AST.AST): boolean => {
  if (AST.isUnion(ast)) return ast.types.every(isClosed)
  if (AST.isRefinement(ast)) return isClosed(ast.from)
  return AST.isLiteral(ast) || AST.isNumberKeyword(ast) || AST.isBooleanKeyword(ast) || AST.isUndefinedKeyword(ast)
}

const wantsNumber = (ast: AST.AST): boolean => {
  if (AST.isUnion(ast)) return ast.types.some(wantsNumber)
  return AST.isRefinement(ast) ? wantsNumber(ast.from) : AST.isNumberKeyword(ast)
}

const describe = (ast: AST.AST): string => {
  const described = AST.getDescriptionAnnotation(ast)
  if (Option.isSome(described)) return described.value
  switch (ast._tag) {
    case "Literal":
      return JSON.stringify(ast.literal)
    case "Union": {
      const members = ast.types.filter((member) => !AST.isUndefinedKeyword(member)).map(describe)
      const last = members.pop() ?? ""
      return members.length === 0 ? last : `${members.join(", ")} or ${last}`
    }
    case "TypeLiteral":
      return "an object"
    case "TupleType":
      return "a list"
    case "Refinement":
    case "Transformation":
      return describe(ast.from)
    default:
      return "something else"
  }
}
