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

/** A text from elsewhere on one line, without control characters, which a terminal would obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced.
export const plain = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ")
