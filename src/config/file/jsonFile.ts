/** JSON with comments and commas at the end of lists: its value, where its parts stand, and why a text is none. */
import { type Node, type ParseError, parse, parseTree } from "jsonc-parser"
import { placeIn } from "../../domain/json/jsonFault.ts"
import { type Path, renderPath } from "../../domain/json/Problem.ts"
import { deepest } from "../../wire/jsonDepth.ts"

const lenient = { allowTrailingComma: true, disallowComments: false, allowEmptyContent: false }

/** What is wrong with a file whose lists and objects are nested more than `deepest` deep. */
export const tooDeep = `expected at most ${deepest} levels of lists and objects, got more`

/** The value of the text, or why it has none, with the place. */
export const parseJson = (text: string): { readonly value: unknown } | { readonly message: string } => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // It may have comments.
  }
  const errors: Array<ParseError> = []
  let value: unknown
  try {
    value = parse(text, errors, lenient)
  } catch {
    // It recurses, and the stack has an end.
    return { message: tooDeep }
  }
  const [first] = errors
  if (first === undefined) return { value }
  const at = Math.min(first.offset, text.length)
  const what = at < text.length ? "an error" : "text that ends too early"
  return { message: `expected JSON, got ${what} at ${placeIn(text, at)}${lineShown(text, at)}` }
}

/** The line of the fault, where it has one, with the names of members alone: every value may be a secret. */
const lineShown = (text: string, at: number): string => {
  const start = text.lastIndexOf("\n", at - 1) + 1
  const [line = ""] = text.slice(start).split("\n", 1)
  const shown = withoutValues(line.trim())
  return shown === "" ? "" : `: ${shown}`
}

const withoutValues = (line: string): string =>
  line
    .replace(
      /"([A-Za-z_][\w-]{0,31})"(?=\s*:)|"(?:[^"\\]|\\.)*("|$)|[\w.+-][^\s,:[\]{}"]*/g,
      (token, name?: string) => {
        if (name !== undefined || /^(true|false|null|-?\d{1,9}(\.\d{1,9})?)$/.test(token)) return token
        return token.startsWith('"') ? '"…"' : "…"
      },
    )
    .slice(0, 120)

/** `line:column` of the member at a rendered path such as `models[0].id`, or of what holds it where it is missing. */
export const placesIn = (text: string): ((path: string) => string | undefined) => {
  const offsets = new Map<string, number>()
  const visit = (node: Node, path: Path): void => {
    offsets.set(renderPath(path), node.offset)
    for (const [at, child] of (node.children ?? []).entries()) {
      if (node.type === "array") visit(child, [...path, at])
      const [name, value] = child.children ?? []
      if (child.type !== "property" || name === undefined) continue
      if (value !== undefined) visit(value, [...path, String(name.value)])
      offsets.set(renderPath([...path, String(name.value)]), name.offset)
    }
  }
  const root = parseTree(text, [], lenient)
  if (root !== undefined) visit(root, [])
  return (path) => {
    for (let known = path; known !== ""; known = parentOf(known)) {
      const offset = offsets.get(known)
      if (offset === undefined) continue
      const lines = text.slice(0, offset).split("\n")
      return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`
    }
    return undefined
  }
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("."), path.lastIndexOf("[")))
