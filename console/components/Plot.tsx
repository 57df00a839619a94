/** Figures over time, drawn by uPlot on a canvas. */
import { useEffect, useRef, useState } from "preact/hooks"
import type uPlotType from "uplot"
import { localSecond } from "../lib/time.ts"
import { type PlotProps, plotData, plotHeight, plotOptions } from "./plotOptions.ts"

/** Loaded beside the figures that it draws, and not after them. */
const loading = import("uplot")

export const Plot = (props: PlotProps) => {
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
      drawn = new plot(plotOptions(plot, props, element.clientWidth, setHovered), plotData(props), element)
    }
    const observer = new ResizeObserver(() => drawn?.setSize({ width: element.clientWidth, height: plotHeight }))
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
  return (
    <div class="plot">
      <div
        ref={frame}
        class={`plot-frame ${props.open === undefined ? "" : "has-link"}`}
        role="img"
        aria-label={props.sentence}
      />
      <p class="plot-values" aria-hidden="true">
        {hovered === null ? " " : valuesAt(props, hovered)}
      </p>
    </div>
  )
}

/** The values at one of the times, in a line. */
const valuesAt = ({ times, series, text }: PlotProps, place: number): string => {
  const at = times[place]
  if (at === undefined) return " "
  const values = series.map((one) => {
    const value = one.values[place] ?? null
    return `${one.title} ${value === null ? "–" : text(value)}`
  })
  return `${localSecond(at).slice(0, -3)}: ${values.join(", ")}`
}
