/** Members that occur twice in one JSON object, of which a parser silently takes the last one. */
import { visit } from "jsonc-parser"
import { type Path, renderPath } from "../../domain/json/Problem.ts"

export interface Repeated {
  readonly path: string
  /** Of the second one, each from 1. */
  readonly line: number
  readonly column: number
}

/** In a text that parses. */
export const repeatedMembers = (text: string): ReadonlyArray<Repeated> => {
  const found: Array<Repeated> = []
  const names: Array<Set<string>> = []
  visit(text, {
    onObjectBegin: () => {
      names.push(new Set())
    },
    onObjectEnd: () => {
      names.pop()
    },
    onObjectProperty: (name, _offset, _length, line, column, pathOf) => {
      const known = names.at(-1)
      if (known?.has(name) === true) {
        const path: Path = pathOf()
        found.push({ path: renderPath([...path, name]), line: line + 1, column: column + 1 })
      }
      known?.add(name)
    },
  })
  return found
}
