/** What a table does with its rows: sorting, and which of them are in sight. */
import type { Cell } from "./csv.ts"

export interface Sort {
  readonly column: string
  readonly isDescending: boolean
}

/** `-usage` and `usage`, as they stand in an address. `null` for none. */
export const sortOf = (text: string | null): Sort | null => {
  if (text === null || text === "" || text === "-") return null
  return text.startsWith("-") ? { column: text.slice(1), isDescending: true } : { column: text, isDescending: false }
}

export const sortText = ({ column, isDescending }: Sort): string => (isDescending ? `-${column}` : column)

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" })

/** The order of two cells, ascending. Nothing comes after everything, in both directions. */
const compared = (left: Cell, right: Cell, isDescending: boolean): number => {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1
  const order =
    typeof left === "string" || typeof right === "string"
      ? collator.compare(String(left), String(right))
      : left < right
        ? -1
        : left > right
          ? 1
          : 0
  return isDescending ? -order : order
}

/** Rows by what `value` says of each; equal ones keep their order. */
export const sorted = <Row>(
  rows: ReadonlyArray<Row>,
  value: (row: Row) => Cell,
  isDescending: boolean,
): ReadonlyArray<Row> =>
  rows
    .map((row) => ({ row, cell: value(row) }))
    .sort((left, right) => compared(left.cell, right.cell, isDescending))
    .map(({ row }) => row)

export interface Slice {
  readonly first: number
  /** The one behind the last. */
  readonly end: number
}

/** Rows to draw of `total`: those in sight and some on either side. All sizes in pixels. */
export const inSight = (total: number, rowHeight: number, scrolled: number, height: number, spare = 12): Slice => {
  const first = Math.max(0, Math.min(total, Math.floor(scrolled / rowHeight)) - spare)
  return { first, end: Math.min(total, Math.ceil((scrolled + height) / rowHeight) + spare) }
}

/** Where to scroll so that row `at` is in sight below a head of `head` pixels; `scrolled` where it is already. */
export const scrollFor = (at: number, rowHeight: number, scrolled: number, height: number, head: number): number => {
  const top = at * rowHeight
  if (top < scrolled) return top
  const bottom = top + rowHeight + head
  return bottom > scrolled + height ? bottom - height : scrolled
}

/** The row that a key of the keyboard leads to from row `at`, `page` rows at a time; `undefined`: it is no such key. It may be out of bounds. */
export const keyTarget = (key: string, at: number, page: number, total: number): number | undefined => {
  switch (key) {
    case "ArrowDown":
      return at + 1
    case "ArrowUp":
      return at - 1
    case "PageDown":
      return at + page
    case "PageUp":
      return at - page
    case "Home":
      return 0
    case "End":
      return total - 1
    default:
      return undefined
  }
}
