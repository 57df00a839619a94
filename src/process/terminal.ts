/** What a terminal is, and what may be written to it. */

export interface Style {
  readonly isTerminal: boolean
  readonly hasColour: boolean
}

/** Colours only on a terminal, and not with NO_COLOR: https://no-color.org */
export const styleOf = ({ isTTY }: { readonly isTTY?: boolean }): Style => {
  const isTerminal = isTTY === true
  return { isTerminal, hasColour: isTerminal && (process.env["NO_COLOR"] ?? "") === "" }
}

/**
 * A text from elsewhere on one line, without characters that a terminal would obey or that change how others are shown. The same
 * characters as in `domain/json/plainText.ts`, which this file does not import because it is used before anything is loaded.
 */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
