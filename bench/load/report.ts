/** Figures to text. */

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** What one kind of work cost one proxy in one round. */
export interface Round {
  /** Microseconds of processor time per request or chunk. */
  readonly cpuMicros: number
  readonly perSecond: number
  /** For display: latency of whole answers, time to the first bytes of streams. */
  readonly waitMs: number
}

export interface Work {
  readonly name: string
  readonly raw: ReadonlyArray<Round>
  readonly gateway: ReadonlyArray<Round>
}

/** A GitHub table; the first row is its head. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n")
}

/** The ratio is the median of the rounds' own ratios: the two halves of a round lie close together on a machine whose speed drifts. */
export const workTable = (works: ReadonlyArray<Work>): string =>
  table([
    ["work", "raw µs", "gateway µs", "ratio (least to most)", "raw /s", "gateway /s", "raw ms", "gateway ms"],
    ...works.map(({ name, raw, gateway }) => {
      const ratios = raw.map((round, index) => (gateway[index]?.cpuMicros ?? Number.NaN) / round.cpuMicros)
      const of = (rounds: ReadonlyArray<Round>, member: keyof Round, digits: number) =>
        median(rounds.map((round) => round[member])).toFixed(digits)
      return [
        name,
        of(raw, "cpuMicros", 1),
        of(gateway, "cpuMicros", 1),
        `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
        of(raw, "perSecond", 0),
        of(gateway, "perSecond", 0),
        of(raw, "waitMs", 1),
        of(gateway, "waitMs", 1),
      ]
    }),
  ])
