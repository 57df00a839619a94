import { type Cell, csv } from "../lib/csv.ts"

interface Props<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<{ readonly title: string; readonly value: (row: Row) => Cell }>
  readonly rows: ReadonlyArray<Row>
}

/** Saves `text` as a file of the browser's. */
const save = (name: string, text: string) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The download reads it after this event.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** Saves the rows that are shown as CSV, in their order, with all digits. */
export const CsvButton = <Row,>({ label, columns, rows }: Props<Row>) => (
  <button
    type="button"
    class="button button-small"
    disabled={rows.length === 0}
    onClick={() =>
      save(
        `${label.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`,
        csv(
          columns.map((column) => column.title),
          rows.map((row) => columns.map((column) => column.value(row))),
        ),
      )
    }
    aria-label={`Save ${label} as CSV`}
  >
    CSV
  </button>
)
