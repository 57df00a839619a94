/** Tables as CSV after RFC 4180. */

export type Cell = string | number | bigint | null

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe before it: names of keys, models and apps are what their callers
 * wrote. Full-width signs count as well. Numbers, and texts that are amounts, stay as they are.
 */
const safe = (text: string): string =>
  /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text

const written = (cell: Cell): string => {
  if (cell === null) return ""
  const text = typeof cell === "string" ? safe(cell) : String(cell)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Lines end with CR LF; the first has the names of the columns. */
export const csv = (names: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  [names, ...rows].map((row) => `${row.map(written).join(",")}\r\n`).join("")
