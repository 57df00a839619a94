/**
 * How commands write: to a terminal aligned and in colour, to anything else a line per row with tabs between the values and no
 * heading, or JSON where it is asked for.
 */
import * as Effect from "effect/Effect"
import { plain, styleOf } from "../process/terminal.ts"

export { plain } from "../process/terminal.ts"

const { isTerminal, hasColour } = styleOf(process.stdout)

const coloured = (code: number, text: string): string => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text)

export const write = (text: string): Effect.Effect<void> =>
  Effect.sync(() => {
    process.stdout.write(text.endsWith("\n") ? text : `${text}\n`)
  })

/** What only a person at a terminal wants to know. */
export const writeNote = (text: string): Effect.Effect<void> => (isTerminal ? write(coloured(2, text)) : Effect.void)

export const writeJson = (value: unknown): Effect.Effect<void> => write(JSON.stringify(value, null, 2))

export interface Column<A> {
  readonly title: string
  readonly value: (row: A) => string
  /** What a terminal shows in place of a long value. */
  readonly short?: (row: A) => string
  readonly align?: "right"
}

const padded = (text: string, width: number, align: "right" | undefined): string =>
  align === "right" ? text.padStart(width) : text.padEnd(width)

/** Rows in columns. `isFaint`: rows that matter less. `empty`: what a terminal is told when there are none. */
export const writeTable = <A>(
  rows: ReadonlyArray<A>,
  columns: ReadonlyArray<Column<A>>,
  options: { readonly empty: string; readonly isFaint?: (row: A) => boolean },
): Effect.Effect<void> => {
  if (!isTerminal) {
    const lines = rows.map((row) => `${columns.map(({ value }) => plain(value(row))).join("\t")}\n`)
    return lines.length === 0 ? Effect.void : write(lines.join(""))
  }
  if (rows.length === 0) return write(options.empty)
  const cells = rows.map((row) => columns.map(({ value, short = value }) => plain(short(row))))
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...cells.map((row) => row[at]?.length ?? 0)))
  const lineOf = (values: ReadonlyArray<string>) =>
    values
      .map((text, at) => padded(text, widths[at] ?? 0, columns[at]?.align))
      .join("  ")
      .trimEnd()
  const head = coloured(1, lineOf(columns.map(({ title }) => title)))
  const lines = rows.map((row, at) => {
    const line = lineOf(cells[at] ?? [])
    return options.isFaint?.(row) === true ? coloured(2, line) : line
  })
  return write([head, ...lines].join("\n"))
}

/** Rows of which more are to come: to a terminal two spaces between the values, without a heading. */
export const writeLines = <A>(rows: ReadonlyArray<A>, columns: ReadonlyArray<Column<A>>): Effect.Effect<void> => {
  const between = isTerminal ? "  " : "\t"
  const cell = (row: A, { value, short = value }: Column<A>) => plain((isTerminal ? short : value)(row))
  const lines = rows.map((row) => columns.map((column) => cell(row, column)).join(between))
  return lines.length === 0 ? Effect.void : write(lines.join("\n"))
}

/** One record, a line per member. */
export const writeRecord = (members: ReadonlyArray<readonly [name: string, value: string]>): Effect.Effect<void> => {
  const width = Math.max(...members.map(([name]) => name.length))
  const lines = members.map(([name, value]) =>
    isTerminal ? `${coloured(1, name.padEnd(width))}  ${plain(value)}` : `${name}\t${plain(value)}`,
  )
  return write(lines.join("\n"))
}
