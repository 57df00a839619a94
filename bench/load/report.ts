/** Figures, and figures as text. */

export const percentile = (values: ReadonlyArray<number>, percent: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * Between which of the values the median of all such values lies, with at least 90 % probability; `undefined`: there are
 * fewer than five. By order alone, so it holds for any distribution.
 */
export const medianRange = (values: ReadonlyArray<number>): readonly [least: number, most: number] | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  // How likely it is that at most `below` of the values lie on one side of that median.
  let below = 0
  let term = 0.5 ** sorted.length
  let likely = term
  while (2 * likely <= 0.1) {
    below += 1
    term *= (sorted.length - below + 1) / below
    likely += term
  }
  const [least, most] = [sorted[below - 1], sorted[sorted.length - below]]
  return least === undefined || most === undefined ? undefined : [least, most]
}

/** What one load cost one proxy. */
export interface Round {
  /** Microseconds of processor time per request or chunk. */
  readonly cpuMicros: number
  /** Of them, spent by the runtime on compiling. Much of it says that the process was not warm yet. */
  readonly compilingMicros: number
  /** Requests or chunks. */
  readonly perSecond: number
  /** Latency of complete answers; of streams, the time to their first bytes. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One kind of load on both proxies; rounds with the same index ran one right after the other. */
export interface Work {
  readonly name: string
  readonly raw: ReadonlyArray<Round>
  readonly gateway: ReadonlyArray<Round>
}

/** One line of the result. */
export interface Figure {
  readonly name: string
  readonly unit: "µs" | "ms" | "KiB"
  readonly raw: number
  readonly gateway: number
  /** What a bound is held against: the ratio of the two, or the gateway's own value. */
  readonly judged: "ratio" | "value"
  /** `gateway` to `raw`: the median of the rounds, and how far they lay apart. */
  readonly ratio: number
  readonly least: number
  readonly most: number
  readonly bound?: number
}

/** Of each round on its own. */
export const ratiosOf = ({ raw, gateway }: Work): ReadonlyArray<number> =>
  raw.map(({ cpuMicros }, round) => (gateway[round]?.cpuMicros ?? Number.NaN) / cpuMicros)

/**
 * The ratio is the median of the rounds' own ratios: on a machine whose speed drifts, the two halves of a round are
 * alike, and two rounds are not.
 */
export const ratioFigure = (work: Work, bound?: number): Figure => {
  const { name, raw, gateway } = work
  const ratios = ratiosOf(work)
  return {
    name,
    unit: "µs",
    raw: median(raw.map(({ cpuMicros }) => cpuMicros)),
    gateway: median(gateway.map(({ cpuMicros }) => cpuMicros)),
    judged: "ratio",
    ratio: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    ...(bound === undefined ? {} : { bound }),
  }
}

/** The values stand for rounds; the gateway's median is what the bound is held against. */
export const valueFigure = (
  options: Pick<Figure, "name" | "unit" | "bound">,
  raws: ReadonlyArray<number>,
  gateways: ReadonlyArray<number>,
): Figure => {
  const [raw, gateway] = [median(raws), median(gateways)]
  const [least, most] = [Math.min(...gateways), Math.max(...gateways)]
  return { ...options, raw, gateway, judged: "value", ratio: gateway / raw, least, most }
}

/** Each round with the better of its figures, for raw proxy and gateway apart: one may like more callers than the other. */
export const better = (name: string, works: ReadonlyArray<Work>): Work => {
  const best = (target: "raw" | "gateway"): ReadonlyArray<Round> =>
    (works[0]?.[target] ?? []).map((first, round) =>
      works.reduce((least, work) => {
        const other = work[target][round]
        return other !== undefined && other.cpuMicros < least.cpuMicros ? other : least
      }, first),
    )
  return { name, raw: best("raw"), gateway: best("gateway") }
}

/** Whether the bound holds; `undefined` without one. */
export const holds = ({ judged, ratio, gateway, bound }: Figure): boolean | undefined =>
  bound === undefined ? undefined : (judged === "ratio" ? ratio : gateway) <= bound

/** A GitHub table; the first row is its head. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n")
}

const digits = (value: number): string => value.toFixed(Math.abs(value) < 100 ? 1 : 0)

export const figureTable = (figures: ReadonlyArray<Figure>): string =>
  table([
    ["work", "raw", "gateway", "ratio", "least to most", "bound", "holds"],
    ...figures.map((figure) => {
      const { name, unit, raw, gateway, judged, ratio, least, most, bound } = figure
      const sign = judged === "ratio" ? "×" : unit
      const shown = judged === "ratio" ? (value: number) => value.toFixed(2) : digits
      return [
        name,
        `${digits(raw)} ${unit}`,
        `${digits(gateway)} ${unit}`,
        `${ratio.toFixed(2)} ×`,
        `${shown(least)} to ${shown(most)} ${sign}`,
        bound === undefined ? "" : `${bound} ${sign}`,
        holds(figure) === undefined ? "" : holds(figure) ? "yes" : "no",
      ]
    }),
  ])

/** Every load of its own, with speed and latency. */
export const workTable = (works: ReadonlyArray<Work>): string =>
  table([
    [
      "load",
      "raw µs",
      "gateway µs",
      "of it compiling",
      "ratio",
      "raw /s",
      "gateway /s",
      "raw p50, p99 ms",
      "gateway p50, p99 ms",
    ],
    ...works.map((work) => {
      const { name, raw, gateway } = work
      const of = (rounds: ReadonlyArray<Round>, member: keyof Round, places: number) =>
        median(rounds.map((round) => round[member])).toFixed(places)
      const latency = (rounds: ReadonlyArray<Round>) => `${of(rounds, "p50Ms", 1)}, ${of(rounds, "p99Ms", 1)}`
      return [
        name,
        of(raw, "cpuMicros", 1),
        of(gateway, "cpuMicros", 1),
        of(gateway, "compilingMicros", 1),
        ratioFigure(work).ratio.toFixed(2),
        of(raw, "perSecond", 0),
        of(gateway, "perSecond", 0),
        latency(raw),
        latency(gateway),
      ]
    }),
  ])
