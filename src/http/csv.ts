/** Tables as CSV (RFC 4180), for spreadsheets. */
import { withoutHidden } from "../domain/json/plainText.ts"

/** Text, or an amount that is written as it is. */
export type Cell = string | { readonly amount: string | number }

/** Spreadsheets take a cell that begins so for a formula, also in its full-width form. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

const special = /[",\r\n]/

const written = (cell: Cell): string => {
  if (typeof cell !== "string") return String(cell.amount)
  // An apostrophe makes it a text. Names of models and apps come from elsewhere.
  const named = withoutHidden(cell, " ")
  const text = formula.test(named) ? `'${named}` : named
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line for the names, and one for each row. Each ends with CRLF. */
export const csv = (names: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  [names, ...rows].map((cells) => `${cells.map(written).join(",")}\r\n`).join("")

export const csvType = "text/csv"

/**
 * Whether an `Accept` header asks for CSV: it names `text/csv`, and JSON not with a higher weight. A range such as
 * `*`/`*` does not name it.
 */
export const wantsCsv = (accept: string | undefined): boolean => {
  const weights = new Map<string, number>()
  for (const entry of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
    weights.set(type, weight === undefined ? 1 : Number(weight))
  }
  const weight = weights.get(csvType) ?? 0
  return weight > 0 && weight >= (weights.get("application/json") ?? 0)
}
