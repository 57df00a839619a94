/** Times to the first token of each host over time, and how much it was used. */
import { useMemo } from "preact/hooks"
import type { Analytics } from "../../api/types.ts"
import { Chart } from "../../components/Chart.tsx"
import { Panel } from "../../components/layout.tsx"
import { useRange } from "../../components/RangePicker.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { duration, shortCount } from "../../lib/numbers.ts"
import { filled } from "../../lib/points.ts"
import { rangeWords, spanOfPoint } from "../../lib/range.ts"
import { requestsHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { go } from "../../state/router.ts"
import { ask, questionText, spanOf } from "../overview/filters.ts"

const mostLines = 6

export const HostTimes = ({ model, order }: { readonly model: string; readonly order: ReadonlyArray<string> }) => {
  const range = useRange()
  const question = { span: range, interval: range.interval, filters: { model }, by: "host" as const }
  const query = useQuery(questionText(question), (signal) => ask(question, signal))
  return (
    <Shown of={query} what="the figures of its hosts">
      {(answer) =>
        answer.groups.length === 0 ? (
          <Panel title="Over time">
            <Empty title={`No request for it in ${rangeWords[range.name]}.`} />
          </Panel>
        ) : (
          <Charts answer={answer} order={order} model={model} words={rangeWords[range.name]} />
        )
      }
    </Shown>
  )
}

const Charts = (props: {
  readonly answer: Analytics
  readonly order: ReadonlyArray<string>
  readonly model: string
  readonly words: string
}) => {
  const { answer, order, model, words } = props
  const parts = useMemo(() => {
    const span = spanOf(answer)
    const times = filled(answer.points, span, answer.interval).map(({ at }) => at)
    const place = (host: string) => {
      const at = order.indexOf(host)
      return at === -1 ? order.length : at
    }
    const groups = answer.groups
      .toSorted((left, right) => place(left.group.host ?? "") - place(right.group.host ?? ""))
      .slice(0, mostLines)
      .map(({ group, points }, at) => ({
        title: group.host ?? "",
        colour: at + 1,
        points: filled(points, span, answer.interval).map(({ point }) => point),
      }))
    return {
      times,
      first: groups.map(({ title, colour, points }) => ({
        ...{ title, colour },
        values: points.map((point) => point?.first_token_ms?.p50 ?? null),
      })),
      requests: groups.map(({ title, colour, points }) => ({
        ...{ title, colour },
        values: points.map((point) => point?.requests ?? 0),
      })),
    }
  }, [answer, order])
  const open = (at: Date) => {
    go(requestsHref({ model }, spanOfPoint(at, answer.interval, spanOf(answer))))
  }
  return (
    <div class="panels">
      <Panel title="Time to the first token, half within">
        <Chart
          title="Time to the first token by host"
          sentence={`Median time to the first token of each host over ${words}.`}
          times={parts.times}
          series={parts.first}
          text={duration}
          open={open}
        />
      </Panel>
      <Panel title="Requests">
        <Chart
          title="Requests by host"
          sentence={`Requests at each host over ${words}.`}
          times={parts.times}
          series={parts.requests}
          text={shortCount}
          open={open}
        />
      </Panel>
    </div>
  )
}
