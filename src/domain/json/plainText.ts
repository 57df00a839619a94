/**
 * Control and format characters in text from callers and hosts, before people read it in a terminal, a log or a table. A terminal obeys
 * control characters (U+0080 to U+009F too: U+009B begins a command). Format characters such as U+202E change the order in which the
 * text around them is shown, or are invisible. https://www.unicode.org/reports/tr36/, "Bidirectional Text Spoofing", 2026-11-23.
 */
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const oneControl = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** The same without line ends and tabs, which a cell of a table or an entry of the log may have. */
const oneControlButLines = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export const hasControls = (text: string): boolean => oneControl.test(text)

/** The text with `instead` in place of each run of control and format characters. */
export const withoutControls = (text: string, instead: string): string =>
  oneControl.test(text) ? text.replace(control, instead) : text

/** The text with `instead` in place of each of them, but for line ends and tabs. */
export const withoutHidden = (text: string, instead: string): string => text.replace(oneControlButLines, instead)

/** The text with each of them, but for line ends and tabs, escaped as in JSON: `\u202e`. */
export const escapedControls = (text: string): string =>
  text.replace(oneControlButLines, (sign) => [...new Array(sign.length).keys()].map((at) => escape(sign, at)).join(""))

const escape = (text: string, at: number): string => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`
