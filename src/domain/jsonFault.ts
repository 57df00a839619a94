/** Where a text stops being JSON. JavaScriptCore does not say, so the text is read again after it was refused. */
import { printParseErrorCode, visit } from "jsonc-parser"

const strictly = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }

/**
 * The index where the first thing stands that cannot stand there, a string or number as a whole; the text's length where
 * it ends too early. Some 30 ns a character. Recursive: the text must not be nested deep.
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
