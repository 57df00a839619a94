/** Spend, requests, tokens and times to the first token over time, with the time before as a dashed line. */
import { useMemo } from "preact/hooks"
import type { Analytics, Figures } from "../../api/types.ts"
import { Chart } from "../../components/Chart.tsx"
import { Panel } from "../../components/layout.tsx"
import type { Series } from "../../components/plotOptions.ts"
import { exactUsd, usdForChart, usdOfChart } from "../../lib/money.ts"
import { count, duration, shortCount } from "../../lib/numbers.ts"
import { filled, peakOf } from "../../lib/points.ts"
import { spanOfPoint } from "../../lib/range.ts"
import { localMinute } from "../../lib/time.ts"
import { requestsHref } from "../../state/links.ts"
import { go } from "../../state/router.ts"
import { causes, type Filters, spanOf, spendOf } from "./filters.ts"

interface Props {
  readonly now: Analytics
  readonly before: Analytics | null
  readonly filters: Filters
  /** "the last 24 hours" */
  readonly words: string
}

const shortest = (value: number): string => (Number.isInteger(value) ? shortCount(value) : value.toFixed(1))

export const FigureCharts = ({ now, before, filters, words }: Props) => {
  const plots = useMemo(() => plotsOf(now, before), [now, before])
  const open = (at: Date) => go(requestsHref(filters, spanOfPoint(at, now.interval, spanOf(now))))
  if (plots[0] === undefined || plots[0].series.times.length < 2) {
    return <p class="muted small">These are the figures of one {now.interval}: a longer time has charts.</p>
  }
  return (
    <div class="panels">
      {plots.map(({ title, series, text, sentence }) => (
        <Panel key={title} title={title}>
          <Chart
            title={title}
            times={series.times}
            series={series.all}
            text={text}
            sentence={`${title} over ${words}, by ${now.interval}. ${sentence}`}
            open={open}
          />
        </Panel>
      ))}
    </div>
  )
}

const causeColours = { host: 4, caller: 1, policy: 2, gateway: 3 } as const

interface Plot {
  readonly title: string
  readonly series: { readonly times: ReadonlyArray<Date>; readonly all: ReadonlyArray<Series> }
  readonly text: (value: number) => string
  readonly sentence: string
}

/** The largest value and when it was. */
const most = (
  times: ReadonlyArray<Date>,
  values: ReadonlyArray<number | null>,
  text: (value: number) => string,
): string => {
  const peak = peakOf(values)
  const at = peak === null ? undefined : times[peak]
  return peak === null || at === undefined
    ? "There were none."
    : `The most were ${text(values[peak] ?? 0)}, from ${localMinute(at, at)}.`
}

const plotsOf = (now: Analytics, before: Analytics | null): ReadonlyArray<Plot> => {
  const points = filled(now.points, spanOf(now), now.interval)
  const last = before === null ? [] : filled(before.points, spanOf(before), before.interval)
  const times = points.map(({ at }) => at)
  const figures = points.map(({ point }) => point)
  const old = points.map((_, place) => last[place]?.point ?? null)
  const beforeSeries = (values: (of: Figures | null) => number | null): ReadonlyArray<Series> =>
    before === null ? [] : [{ title: "The time before", values: old.map(values), colour: 1, isBefore: true }]
  const spend = figures.map((point) => usdForChart(spendOf(point)))
  const requests = figures.map((point) => point?.requests ?? 0)
  const first = figures.map((point) => point?.first_token_ms?.p50 ?? null)
  return [
    {
      title: "Spend",
      text: usdOfChart,
      series: {
        times,
        all: [
          {
            title: "Spend",
            values: spend,
            cells: figures.map((point) => point?.exact.usage ?? "0"),
            colour: 1,
            kind: "bars",
          },
          ...beforeSeries((point) => usdForChart(spendOf(point))),
        ],
      },
      sentence: `${exactUsd(spendOf(now.totals))} in all. ${most(times, spend, usdOfChart)}`,
    },
    {
      title: "Requests",
      text: shortest,
      series: {
        times,
        all: [
          { title: "Requests", values: requests, colour: 1, kind: "bars" },
          ...beforeSeries((point) => point?.requests ?? 0),
        ],
      },
      sentence: `${count(now.totals.requests)} in all. ${most(times, requests, count)}`,
    },
    ...(now.totals.errors === null
      ? []
      : [
          {
            title: "Errors, by who caused them",
            text: shortest,
            series: {
              times,
              all: causes.map(({ name, title }) => ({
                title,
                values: figures.map((point) => point?.errors_by?.[name] ?? 0),
                colour: causeColours[name],
              })),
            },
            sentence: `${count(now.totals.errors)} requests failed or were refused.`,
          },
        ]),
    ...(now.totals.first_token_ms === null
      ? []
      : [
          {
            title: "Time to the first token",
            text: duration,
            series: {
              times,
              all: [
                { title: "Half within", values: first, colour: 1 },
                { title: "99 % within", values: figures.map((point) => point?.first_token_ms?.p99 ?? null), colour: 2 },
                ...beforeSeries((point) => point?.first_token_ms?.p50 ?? null),
              ],
            },
            sentence: `Half of the streamed answers began within ${duration(now.totals.first_token_ms.p50)}, 99 percent within ${duration(now.totals.first_token_ms.p99)}.`,
          },
        ]),
    {
      title: "Tokens",
      text: shortest,
      series: {
        times,
        all: [
          { title: "In", values: figures.map((point) => point?.tokens_prompt ?? 0), colour: 1 },
          { title: "Of them cached", values: figures.map((point) => point?.tokens_cached ?? 0), colour: 5 },
          { title: "Out", values: figures.map((point) => point?.tokens_completion ?? 0), colour: 2 },
        ],
      },
      sentence: `${count(now.totals.tokens_prompt)} in and ${count(now.totals.tokens_completion)} out.`,
    },
  ]
}
