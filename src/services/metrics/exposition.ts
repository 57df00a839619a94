/**
 * Figures as text, in the two forms that Prometheus reads: its own (`text/plain; version=0.0.4`) and OpenMetrics 1.0. They differ in how a
 * counter is announced, and in the end. https://prometheus.io/docs/instrumenting/exposition_formats/, https://prometheus.io/docs/specs/om/open_metrics_spec/. Pure.
 */
import { formatUsd } from "../../domain/price/money.ts"
import type { Family, HistogramValue, Series, Snapshot } from "./Family.ts"
import { isHistogram } from "./snapshot.ts"

export type TextForm = "prometheus" | "openmetrics"

export const contentTypes: Readonly<Record<TextForm, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
}

/** OpenMetrics where the reader names it, with a quality above 0 and not below that of plain text. */
export const formFor = (accept: string | null): TextForm => {
  let openmetrics = 0
  let plain = 0
  for (const range of (accept ?? "").toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim())
    const written = parameters.find((parameter) => parameter.startsWith("q="))
    const quality = written === undefined ? 1 : Number(written.slice(2)) || 0
    if (type === "application/openmetrics-text") openmetrics = Math.max(openmetrics, quality)
    if (type === "text/plain") plain = Math.max(plain, quality)
  }
  return openmetrics > 0 && openmetrics >= plain ? "openmetrics" : "prometheus"
}

export const expositionOf = (snapshot: Snapshot, form: TextForm): string =>
  [...expositionParts(snapshot, form)].join("")

/** Series that are written without a pause: less than a millisecond. */
const seriesAtOnce = 50

/** The same in parts, for who lets other work go on in between. */
export const expositionParts = function* (snapshot: Snapshot, form: TextForm): Generator<string> {
  for (const { family, series } of snapshot) {
    if (series.length === 0) continue
    const name = announcedName(family, form)
    yield `# HELP ${name} ${form === "openmetrics" ? escapedLabel(family.help) : escaped(family.help)}\n`
    yield `# TYPE ${name} ${family.type}\n`
    for (let at = 0; at < series.length; at += seriesAtOnce) {
      const lines: Array<string> = []
      for (const one of series.slice(at, at + seriesAtOnce)) linesOf(lines, family, one)
      yield `${lines.join("\n")}\n`
    }
  }
  if (form === "openmetrics") yield "# EOF\n"
}

/** OpenMetrics names a counter without the ending of its samples. */
const announcedName = ({ name, type }: Family, form: TextForm): string =>
  form === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name

const linesOf = (lines: Array<string>, family: Family, { labels, value }: Series): void => {
  const written = family.labels.map((label, at) => `${label}="${escapedLabel(labels[at] ?? "")}"`).join(",")
  if (isHistogram(value)) histogramLines(lines, family, written, value)
  else lines.push(`${family.name}${inBraces(written)} ${shown(family, value)}`)
}

const histogramLines = (
  lines: Array<string>,
  { name, buckets }: Family,
  labels: string,
  { counts, sum }: HistogramValue,
): void => {
  const bucket = `${name}_bucket{${labels}${labels === "" ? "" : ","}le="`
  let below = 0
  for (const [at, count] of counts.entries()) {
    below += count
    const bound = buckets[at]
    lines.push(`${bucket}${bound === undefined ? "+Inf" : decimal(bound)}"} ${below}`)
  }
  lines.push(`${name}_sum${inBraces(labels)} ${sum}`, `${name}_count${inBraces(labels)} ${below}`)
}

/** OpenMetrics wants the bounds as floats. */
const decimal = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : String(bound))

const shown = ({ isMoney }: Family, value: number | string): string =>
  isMoney ? formatUsd(BigInt(value)) : String(value)

const inBraces = (labels: string): string => (labels === "" ? "" : `{${labels}}`)

/** A scrape holds the event loop while its text is made, and hardly any label has to be escaped. */
const isPlain = /^[^\\\n"]*$/

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const escapedLabel = (value: string): string => (isPlain.test(value) ? value : escaped(value).replaceAll('"', '\\"'))
