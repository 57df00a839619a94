/** Who or what the figures are of: models, hosts, keys and so on, the costliest first. */
import type { ComponentChildren } from "preact"
import { useMemo } from "preact/hooks"
import type { Analytics, Figures, Grouping } from "../../api/types.ts"
import { Chart } from "../../components/Chart.tsx"
import { Panel, Tabs } from "../../components/layout.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Count, Milliseconds, None, Usd } from "../../components/values.tsx"
import { percentOf, usdForChart, usdOfChart } from "../../lib/money.ts"
import { share } from "../../lib/numbers.ts"
import { filled } from "../../lib/points.ts"
import type { Range } from "../../lib/range.ts"
import { requestsHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { hrefWith, parameters } from "../../state/router.ts"
import {
  ask,
  errorShare,
  type Filters,
  groupings,
  groupName,
  isGrouping,
  questionText,
  spanOf,
  spendOf,
} from "./filters.ts"

interface Row {
  readonly title: string
  readonly filter: Filters | null
  readonly figures: Figures
}

export const Ranking = ({ range, filters }: { readonly range: Range; readonly filters: Filters }) => {
  const asked = parameters.value.get("by")
  const by = isGrouping(asked) ? asked : "model"
  const question = { span: range, interval: range.interval, filters, by }
  const query = useQuery(questionText(question), async (signal) => ({ by, answer: await ask(question, signal) }))
  return (
    <Panel
      title="Breakdown"
      note="Names lead to the figures of one alone, numbers to the requests that they are made of."
    >
      <Tabs
        label="Groups"
        chosen={by}
        tabs={groupings.map(({ name, title }) => ({
          name,
          title,
          href: hrefWith({ by: name === "model" ? null : name, sort: null }),
        }))}
      />
      <Shown of={query} what={`the figures by ${by}`}>
        {(found) => <Groups answer={found.answer} by={found.by} filters={filters} />}
      </Shown>
    </Panel>
  )
}

const mostLines = 6

const Groups = ({
  answer,
  by,
  filters,
}: {
  readonly answer: Analytics
  readonly by: Grouping
  readonly filters: Filters
}) => {
  const chart = useMemo(() => chartOf(answer, by), [answer, by])
  const rows = useMemo(() => rowsIn(answer, by), [answer, by])
  const columns = useMemo(() => columnsOf(answer, by, filters), [answer, by, filters])
  if (rows.length === 0) {
    return <Empty title="No requests in this time.">Choose a longer time, or leave out a filter.</Empty>
  }
  return (
    <>
      {chart.times.length < 2 ? null : (
        <Chart
          title={`Spend by ${by}`}
          sentence={`Spend by ${by} over time. The most has ${rows[0]?.title ?? "none"}.`}
          times={chart.times}
          series={chart.series}
          text={usdOfChart}
        />
      )}
      <Table
        label={groupings.find(({ name }) => name === by)?.title ?? ""}
        rows={rows}
        columns={columns}
        keyOf={({ title, filter }) => JSON.stringify([title, filter])}
        hrefOf={({ filter }) =>
          filter === null || isEmpty(filter) ? undefined : hrefWith({ ...filter, by: by === "model" ? "host" : null })
        }
        sortParameter="sort"
      />
    </>
  )
}

/** A group of requests that named no app, no user: no filter leaves it. */
const isEmpty = (filter: Filters): boolean => Object.values(filter).some((value) => value === "")

const rowsIn = (answer: Analytics, by: Grouping): ReadonlyArray<Row> => [
  ...answer.groups.map(({ group, totals }) => ({ ...groupName(group, by), figures: totals })),
  ...(answer.other === null ? [] : [{ title: "Other", filter: null, figures: answer.other }]),
]

const chartOf = (answer: Analytics, by: Grouping) => {
  const span = spanOf(answer)
  const shown = answer.groups.slice(0, mostLines)
  const times = filled(answer.points, span, answer.interval).map(({ at }) => at)
  return {
    times,
    series: shown.map(({ group, points }, place) => {
      const own = filled(points, span, answer.interval)
      return {
        title: groupName(group, by).title,
        values: own.map(({ point }) => usdForChart(spendOf(point))),
        cells: own.map(({ point }) => point?.exact.usage ?? "0"),
        colour: place + 1,
      }
    }),
  }
}

const columnsOf = (answer: Analytics, by: Grouping, filters: Filters): ReadonlyArray<Column<Row>> => {
  const span = spanOf(answer)
  const total = spendOf(answer.totals)
  const linked = (row: Row, shown: ComponentChildren, outcome?: string) => {
    if (row.filter === null || isEmpty(row.filter)) return shown
    return <a href={requestsHref({ ...filters, ...row.filter, outcome: outcome ?? null }, span)}>{shown}</a>
  }
  const number = { isNumber: true, width: 6 }
  const hasTimes = by === "model" || by === "host" || by === "provider"
  return [
    { name: "name", title: "Name", value: ({ title }) => title, width: 13.5 },
    {
      name: "usage",
      title: "Spend",
      ...number,
      width: 7,
      value: ({ figures }) => figures.exact.usage,
      order: ({ figures }) => spendOf(figures),
      cell: (row) => linked(row, <Usd amount={row.figures.exact.usage} />),
    },
    {
      name: "share",
      title: "Of all",
      ...number,
      width: 5.5,
      value: ({ figures }) => percentOf(spendOf(figures), total),
      cell: ({ figures }) => {
        const part = spendOf(figures)
        const percent = percentOf(part, total)
        // A part too small for the digits is not shown as none.
        return percent === null ? (
          <None />
        ) : (
          <span class="number">{share(Math.max(percent / 100, part > 0n ? 1e-6 : 0))}</span>
        )
      },
    },
    {
      name: "requests",
      title: "Requests",
      ...number,
      value: ({ figures }) => figures.requests,
      cell: (row) => linked(row, <Count of={row.figures.requests} />),
    },
    {
      name: "errors",
      title: "Errors",
      ...number,
      width: 5,
      value: ({ figures }) => figures.errors,
      cell: (row) => {
        const part = errorShare(row.figures)
        return (
          <span title={part === null ? undefined : `${share(part)} of the requests`}>
            {row.figures.errors === null ? <None /> : linked(row, <Count of={row.figures.errors} />, "failed")}
          </span>
        )
      },
    },
    {
      name: "tokens_prompt",
      title: "Tokens in",
      ...number,
      value: ({ figures }) => figures.tokens_prompt,
      cell: (row) => linked(row, <Count of={row.figures.tokens_prompt} isShort />),
    },
    {
      name: "tokens_completion",
      title: "Tokens out",
      ...number,
      value: ({ figures }) => figures.tokens_completion,
      cell: (row) => linked(row, <Count of={row.figures.tokens_completion} isShort />),
    },
    ...(hasTimes
      ? (["p50", "p99"] as const).map((name) => ({
          name,
          title: name === "p50" ? "1st token p50" : "p99",
          ...number,
          width: name === "p50" ? 7 : 5,
          value: ({ figures }: Row) => figures.first_token_ms?.[name] ?? null,
          cell: ({ figures }: Row) => <Milliseconds of={figures.first_token_ms?.[name] ?? null} />,
        }))
      : []),
  ]
}
