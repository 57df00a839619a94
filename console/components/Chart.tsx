/** Figures over time as a picture; a sentence and a table say the same. */
import { useId, useState } from "preact/hooks"
import type { Cell } from "../lib/csv.ts"
import { localMinute, utcSecond } from "../lib/time.ts"
import { Plot } from "./Plot.tsx"
import type { PlotProps, Series } from "./plotOptions.ts"
import { Table } from "./Table.tsx"

interface Props extends PlotProps {
  /** The name of the table and of its CSV. */
  readonly title: string
}

export const Chart = (props: Props) => {
  const [isTable, setTable] = useState(false)
  const id = useId()
  return (
    <div class="chart">
      <div class="chart-head">
        <Legend series={props.series} />
        <button
          type="button"
          class="button button-small"
          aria-expanded={isTable}
          aria-controls={id}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? "Show as chart" : "Show as table"}
        </button>
      </div>
      <div id={id}>{isTable ? <Numbers {...props} /> : <Plot {...props} />}</div>
    </div>
  )
}

const Legend = ({ series }: { readonly series: ReadonlyArray<Series> }) => (
  <ul class="legend" aria-hidden="true">
    {series.map((one) => (
      <li key={one.title}>
        <span class={`key key-${one.colour} ${one.isBefore === true ? "key-before" : ""}`} />
        {one.title}
      </li>
    ))}
  </ul>
)

const Numbers = ({ title, times, series, text }: Props) => {
  const rows = times.map((at, place) => ({ at, place }))
  return (
    <Table
      label={title}
      rows={rows}
      keyOf={({ at }) => at.toISOString()}
      columns={[
        {
          name: "at",
          title: "Time",
          width: 9,
          value: ({ at }) => at.toISOString(),
          cell: ({ at }) => (
            <time dateTime={at.toISOString()} title={utcSecond(at)}>
              {localMinute(at, at)}
            </time>
          ),
        },
        ...series.map((one, index) => ({
          name: String(index),
          title: one.title,
          width: 9,
          isNumber: true,
          value: ({ place }: { readonly place: number }): Cell => one.cells?.[place] ?? one.values[place] ?? null,
          cell: ({ place }: { readonly place: number }) => {
            const value = one.values[place] ?? null
            return value === null ? "–" : text(value)
          },
        })),
      ]}
    />
  )
}
