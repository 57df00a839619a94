/** A table of any length: rows out of sight are not in the document, so 100,000 scroll like ten. */
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Cell } from "../lib/csv.ts"
import { inSight, keyTarget, type Sort, scrollFor, sorted, sortOf, sortText } from "../lib/rows.ts"
import { announce } from "../state/notices.ts"
import { go, parameters, setParameters } from "../state/router.ts"
import { CsvButton } from "./CsvButton.tsx"

export interface Column<Row> {
  readonly name: string
  readonly title: string
  /** What CSV and sorting take: plain, exact. */
  readonly value: (row: Row) => Cell
  /** What sorting takes, where the value is a text of a number. */
  readonly order?: (row: Row) => Cell
  /** What is shown; the value as text where it is left out. */
  readonly cell?: (row: Row) => ComponentChildren
  /** In rem. Columns without a width share what is left. */
  readonly width?: number
  /** Numbers stand at the right. */
  readonly isNumber?: boolean
}

interface Props<Row> {
  /** What it is a table of, for a screen reader and the name of the CSV file: "Requests". */
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
  /** Where Enter and a click on a row lead. */
  readonly hrefOf?: (row: Row) => string | undefined
  /** The parameter of the address that holds the order. Only where all rows are there; without it rows stay in their order. */
  readonly sortParameter?: string
  readonly hasCsv?: boolean
  /** Below the last row: a button for more. */
  readonly foot?: ComponentChildren
}

/** Rem, as in `table.css`. */
const rowRem = 2.25

/** Rem that a column without a width has at least. */
const leastRem = 10

export const Table = <Row,>(props: Props<Row>) => {
  const { label, columns, rows, keyOf, hrefOf, sortParameter, foot } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ scrolled: 0, height: 600, rowHeight: 36 })
  const [active, setActive] = useState<number | null>(null)
  const sort = sortParameter === undefined ? null : sortOf(parameters.value.get(sortParameter))
  const ordered = useMemo(() => {
    const column = sort === null ? undefined : columns.find(({ name }) => name === sort.column)
    return column === undefined || sort === null ? rows : sorted(rows, column.order ?? column.value, sort.isDescending)
  }, [rows, sort?.column, sort?.isDescending, columns])

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const measure = () => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
      setView((last) => ({ ...last, height: element.clientHeight, rowHeight: rowRem * rem }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])

  const { first, end } = inSight(ordered.length, view.rowHeight, view.scrolled, view.height)
  const move = (to: number) => {
    const at = Math.max(0, Math.min(ordered.length - 1, to))
    setActive(at)
    const row = ordered[at]
    if (row !== undefined) announce(`Row ${at + 1} of ${ordered.length}. ${rowText(columns, row)}`)
    const element = scroller.current
    if (element !== null) {
      element.scrollTop = scrollFor(at, view.rowHeight, element.scrollTop, element.clientHeight, view.rowHeight)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || ordered.length === 0) return
    const page = Math.max(1, Math.floor(view.height / view.rowHeight) - 2)
    const target = keyTarget(event.key, active ?? -1, page, ordered.length)
    if (target !== undefined) {
      event.preventDefault()
      move(target)
    } else if (event.key === "Enter" && active !== null) {
      const row = ordered[active]
      const to = row === undefined ? undefined : hrefOf?.(row)
      if (to !== undefined) go(to)
    }
  }

  return (
    <div class="table">
      {/* biome-ignore lint/a11y/useSemanticElements: it is the part of a page that scrolls. */}
      <div
        class="table-scroll"
        ref={scroller}
        onScroll={(event) => {
          const scrolled = event.currentTarget.scrollTop
          setView((last) => (last.scrolled === scrolled ? last : { ...last, scrolled }))
        }}
        onKeyDown={onKeyDown}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
        tabIndex={0}
        role="region"
        aria-label={`${label}: arrow keys move through the rows${hrefOf === undefined ? "" : ", Enter opens one"}`}
      >
        <table
          aria-label={label}
          aria-rowcount={ordered.length + 1}
          style={{ minWidth: `${columns.reduce((sum, { width = leastRem }) => sum + width, 0)}rem` }}
        >
          <colgroup>
            {columns.map((column) => (
              <col key={column.name} style={column.width === undefined ? {} : { width: `${column.width}rem` }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <Head key={column.name} column={column} sort={sort} parameter={sortParameter} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer rows={first} rowHeight={view.rowHeight} columns={columns.length} />
            {ordered.slice(first, end).map((row, offset) => (
              <Row
                key={keyOf(row)}
                row={row}
                columns={columns}
                at={first + offset}
                isActive={first + offset === active}
                to={hrefOf?.(row)}
              />
            ))}
            <Spacer rows={ordered.length - end} rowHeight={view.rowHeight} columns={columns.length} />
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        <div>{foot}</div>
        {props.hasCsv === false ? null : <CsvButton label={label} columns={columns} rows={ordered} />}
      </div>
    </div>
  )
}

interface RowProps<Item> {
  readonly row: Item
  readonly columns: ReadonlyArray<Column<Item>>
  /** Its place among all rows, from 0. */
  readonly at: number
  readonly isActive: boolean
  /** Where a click leads. */
  readonly to: string | undefined
}

const Row = <Item,>({ row, columns, at, isActive, to }: RowProps<Item>) => (
  <tr
    aria-rowindex={at + 2}
    class={`${isActive ? "is-active" : ""} ${to === undefined ? "" : "has-link"}`}
    onClick={(event) => {
      if (to === undefined || isOnControl(event) || hasSelection()) return
      go(to)
    }}
  >
    {columns.map((column, place) => {
      const value = column.value(row)
      const shown = column.cell === undefined ? String(value ?? "–") : column.cell(row)
      return (
        <td
          key={column.name}
          class={column.isNumber === true ? "is-number" : undefined}
          // What is cut off can be read by pointing at it.
          title={column.cell === undefined && typeof value === "string" ? value : undefined}
        >
          {place === 0 && to !== undefined ? <a href={to}>{shown}</a> : shown}
        </td>
      )
    })}
  </tr>
)

/** A row as a screen reader says it. */
const rowText = <Row,>(columns: ReadonlyArray<Column<Row>>, row: Row): string =>
  columns
    .map((column) => [column.title, column.value(row)] as const)
    .filter(([, value]) => value !== null)
    .map(([title, value]) => `${title}: ${value}`)
    .join(", ")

/** The place of the rows that are out of sight. */
const Spacer = (props: { readonly rows: number; readonly rowHeight: number; readonly columns: number }) =>
  props.rows <= 0 ? null : (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus.
    <tr class="spacer" aria-hidden="true">
      <td colSpan={props.columns} style={{ height: `${props.rows * props.rowHeight}px` }} />
    </tr>
  )

const isOnControl = (event: MouseEvent): boolean =>
  event.target instanceof Element && event.target.closest("a, button, input, select") !== null

/** Whoever selects text in a row does not want to go elsewhere. */
const hasSelection = (): boolean => (getSelection()?.toString() ?? "") !== ""

interface HeadProps<Row> {
  readonly column: Column<Row>
  readonly sort: Sort | null
  readonly parameter: string | undefined
}

const Head = <Row,>({ column, sort, parameter }: HeadProps<Row>) => {
  const isSorted = sort?.column === column.name
  const side = column.isNumber === true ? "is-number" : undefined
  if (parameter === undefined) {
    return (
      <th scope="col" class={side}>
        {column.title}
      </th>
    )
  }
  // Numbers are mostly asked for from the largest on.
  const next: Sort = {
    column: column.name,
    isDescending: isSorted ? !sort.isDescending : column.isNumber === true,
  }
  return (
    <th scope="col" class={side} aria-sort={isSorted ? (sort.isDescending ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => setParameters({ [parameter]: sortText(next) })}>
        {column.title}
        {isSorted ? (
          <span class="sort-mark" aria-hidden="true">
            {sort.isDescending ? "↓" : "↑"}
          </span>
        ) : null}
      </button>
    </th>
  )
}
