/** Figures over time, drawn by uPlot on a canvas; a sentence and a table say the same. */
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type uPlotType from "uplot"
import type { Cell } from "../lib/csv.ts"
import { localMinute, localSecond, utcSecond } from "../lib/time.ts"
import { Table } from "./Table.tsx"

export interface Series {
  readonly title: string
  /** One for each time. `null`: nothing is known. */
  readonly values: ReadonlyArray<number | null>
  /** For the table and CSV, where the value for the chart is not exact. */
  readonly cells?: ReadonlyArray<Cell>
  /** The place of its colour in the theme, from 1 to 6. */
  readonly colour: number
  /** The time before: a dashed line. */
  readonly isBefore?: boolean
  readonly kind?: "line" | "bars"
}

interface Props {
  /** What is shown, as a sentence with its extremes: it is all that a screen reader has of the picture. */
  readonly sentence: string
  /** The name of the table and of its CSV. */
  readonly title: string
  readonly times: ReadonlyArray<Date>
  readonly series: ReadonlyArray<Series>
  /** A value with its unit. */
  readonly text: (value: number) => string
  /** Opens what stands behind a point. */
  readonly open?: (at: Date) => void
}

const height = 200

/** Loaded beside the figures that it draws, and not after them. */
const loading = import("uplot")

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

/** A colour of the theme. */
const themed = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Half of the width of a bar is left at both ends, so that the first and the last are whole. */
const stepOf = (times: ReadonlyArray<Date>): number =>
  ((times[1]?.getTime() ?? 3_600_000) - (times[0]?.getTime() ?? 0)) / 1000

const seconds = (at: Date | undefined): number => (at?.getTime() ?? 0) / 1000

const plotOptions = (
  plot: typeof uPlotType,
  { times, series, text, open }: Props,
  width: number,
  hover: (at: number | null) => void,
): uPlotType.Options => {
  const step = times.length < 2 ? 3600 : stepOf(times)
  const grid = { stroke: themed("--line"), width: 1 }
  const axis = { stroke: themed("--muted"), grid, ticks: { show: false }, font: "12px system-ui, sans-serif" }
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: [seconds(times[0]) - step / 2, seconds(times.at(-1)) + step / 2] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 64, values: "{HH}:{mm}", size: 28, grid: { show: false } },
      { ...axis, size: 64, space: 40, values: (_, values) => values.map(text) },
    ],
    series: [
      {},
      ...series.map((one): uPlotType.Series => {
        const stroke = themed(one.isBefore === true ? "--before" : `--series-${one.colour}`)
        const isBars = one.kind === "bars" && one.isBefore !== true
        return {
          label: one.title,
          stroke,
          width: isBars ? 0 : 1.75,
          ...(isBars ? { fill: stroke, ...barsOf(plot) } : {}),
          ...(one.isBefore === true ? { dash: [4, 4] } : {}),
          points: { show: one.values.filter((value) => value !== null).length < 2 },
        }
      }),
    ],
    hooks: {
      setCursor: [(self) => hover(self.cursor.idx ?? null)],
      ready: [
        (self) => {
          self.over.addEventListener("click", () => {
            const at =
              self.cursor.idx === null || self.cursor.idx === undefined ? undefined : self.data[0][self.cursor.idx]
            if (at !== undefined && open !== undefined) open(new Date(at * 1000))
          })
        },
      ],
    },
  }
}

const barsOf = (plot: typeof uPlotType) => {
  const paths = plot.paths.bars?.({ size: [0.72, 48] })
  return paths === undefined ? {} : { paths }
}

/** What uPlot takes: seconds, then the values of each series. */
const dataOf = ({ times, series }: Props): uPlotType.AlignedData => [
  times.map((at) => at.getTime() / 1000),
  ...series.map((one) => [...one.values]),
]

/** The labels of the times: hours within two days, days beyond. */
const timeLabels =
  (span: number) =>
  (_: uPlotType, values: Array<number>): Array<string> =>
    values.map((at) => {
      const text = localMinute(new Date(at * 1000), new Date(at * 1000))
      const [day = "", hour = ""] = text.split(", ")
      return span > 48 * 3600 || hour === "00:00" ? day : hour
    })

const Plot = (props: Props) => {
  const frame = useRef<HTMLDivElement>(null)
  const [hovered, setHovered] = useState<number | null>(null)
  const { times, series } = props
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    let drawn: uPlotType | undefined
    let isGone = false
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const draw = (plot: typeof uPlotType) => {
      drawn?.destroy()
      const options = plotOptions(plot, props, element.clientWidth, setHovered)
      const first = times[0]?.getTime() ?? 0
      const last = times.at(-1)?.getTime() ?? 0
      const [timeAxis] = options.axes ?? []
      if (timeAxis !== undefined) timeAxis.values = timeLabels((last - first) / 1000)
      drawn = new plot(options, dataOf(props), element)
    }
    const observer = new ResizeObserver(() => drawn?.setSize({ width: element.clientWidth, height }))
    let redraw = () => {}
    void loading.then(({ default: plot }) => {
      if (isGone) return
      draw(plot)
      redraw = () => draw(plot)
      scheme.addEventListener("change", redraw)
      observer.observe(element)
    })
    return () => {
      isGone = true
      observer.disconnect()
      scheme.removeEventListener("change", redraw)
      drawn?.destroy()
    }
  }, [times, series])
  const at = hovered === null ? undefined : times[hovered]
  return (
    <div class="plot">
      <div
        ref={frame}
        class={`plot-frame ${props.open === undefined ? "" : "has-link"}`}
        role="img"
        aria-label={props.sentence}
      />
      <p class="plot-values" aria-hidden="true">
        {at === undefined || hovered === null
          ? " "
          : `${localSecond(at).slice(0, -3)}: ${series
              .map((one) => {
                const value = one.values[hovered] ?? null
                return `${one.title} ${value === null ? "–" : props.text(value)}`
              })
              .join(", ")}`}
      </p>
    </div>
  )
}
