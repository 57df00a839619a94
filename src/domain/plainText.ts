/**
 * Characters that a text from elsewhere must not have where people read it: in a terminal, a log, a table. Controls are obeyed by
 * terminals (U+0080 to U+009F too: U+009B begins a command), and formats such as U+202E change the order in which the text
 * around them is shown, or are not seen at all. https://www.unicode.org/reports/tr36/, "Bidirectional Text Spoofing", 2026-11-23.
 */
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const oneControl = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** A cell or a line of the log may have several lines. */
const oneControlButLines = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export const hasControls = (text: string): boolean => oneControl.test(text)

/** Each run of them as `instead`. */
export const withoutControls = (text: string, instead: string): string =>
  oneControl.test(text) ? text.replace(control, instead) : text

/** Each of them but line ends and tabs as `instead`. */
export const withoutHidden = (text: string, instead: string): string => text.replace(oneControlButLines, instead)

/** Each of them but line ends and tabs as `\u202e`, as it stands in JSON. */
export const escapedControls = (text: string): string =>
  text.replace(oneControlButLines, (sign) => [...new Array(sign.length).keys()].map((at) => escape(sign, at)).join(""))

const escape = (text: string, at: number): string => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`
