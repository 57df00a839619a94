/** What a chart shows, and how uPlot draws it. */
import type uPlotType from "uplot"
import type { Cell } from "../lib/csv.ts"
import { localMinute } from "../lib/time.ts"

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

export interface PlotProps {
  /** What is shown, as a sentence with its extremes: it is all that a screen reader has of the picture. */
  readonly sentence: string
  readonly times: ReadonlyArray<Date>
  readonly series: ReadonlyArray<Series>
  /** A value with its unit. */
  readonly text: (value: number) => string
  /** Opens what stands behind a point. */
  readonly open?: (at: Date) => void
}

/** Of the canvas, in pixels. */
export const plotHeight = 200

/** A colour of the theme. */
const themed = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const seconds = (at: Date | undefined): number => (at?.getTime() ?? 0) / 1000

/** Seconds from one time to the next. */
const stepOf = (times: ReadonlyArray<Date>): number => (times.length < 2 ? 3600 : seconds(times[1]) - seconds(times[0]))

export const plotOptions = (
  plot: typeof uPlotType,
  { times, series, text, open }: PlotProps,
  width: number,
  hover: (at: number | null) => void,
): uPlotType.Options => {
  const step = stepOf(times)
  const grid = { stroke: themed("--line"), width: 1 }
  const axis = { stroke: themed("--muted"), grid, ticks: { show: false }, font: "12px system-ui, sans-serif" }
  return {
    width,
    height: plotHeight,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      // Half of a step is left at both ends, so that the first and the last bar are whole.
      x: { time: true, range: [seconds(times[0]) - step / 2, seconds(times.at(-1)) + step / 2] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 64, values: timeLabels(times), size: 28, grid: { show: false } },
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
            const at = self.data[0][self.cursor.idx ?? -1]
            if (at !== undefined) open?.(new Date(at * 1000))
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
export const plotData = ({ times, series }: PlotProps): uPlotType.AlignedData => [
  times.map((at) => at.getTime() / 1000),
  ...series.map((one) => [...one.values]),
]

/** The labels of the times: hours within two days, days beyond. */
const timeLabels = (times: ReadonlyArray<Date>) => {
  const isLong = seconds(times.at(-1)) - seconds(times[0]) > 48 * 3600
  return (_: uPlotType, values: Array<number>): Array<string> =>
    values.map((at) => {
      const text = localMinute(new Date(at * 1000), new Date(at * 1000))
      const [day = "", hour = ""] = text.split(", ")
      return isLong || hour === "00:00" ? day : hour
    })
}
