/** What the holder of an ordinary key sees: its limit, what it has spent, its figures and its latest requests. */
import { call, data } from "../../api/call.ts"
import type { Budget, OwnKey, RequestPage } from "../../api/types.ts"
import { Page, Panel, Tile, Tiles } from "../../components/layout.tsx"
import { RangePicker, useRange } from "../../components/RangePicker.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { Table } from "../../components/Table.tsx"
import { Meter, Time, Usd } from "../../components/values.tsx"
import { percentOf, picodollars, shortUsd } from "../../lib/money.ts"
import { before as beforeSpan, rangeWords, windowsAt } from "../../lib/range.ts"
import { thisMinute } from "../../state/clock.ts"
import { requestHref, requestsHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { session } from "../../state/session.ts"
import { FigureCharts } from "../overview/FigureCharts.tsx"
import { FigureTiles } from "../overview/FigureTiles.tsx"
import { ask, questionText } from "../overview/filters.ts"
import { requestColumns } from "../requests/columns.tsx"

const MyKey = () => {
  const range = useRange()
  const question = { span: range, interval: range.interval, filters: {} }
  const earlier = { ...question, span: beforeSpan(range) }
  const key = useQuery("own key", (signal) => data<OwnKey>("/auth/key", { signal }), { every: 30_000 })
  const now = useQuery(questionText(question), (signal) => ask(question, signal), { every: 60_000 })
  const before = useQuery(questionText(earlier), (signal) => ask(earlier, signal))
  return (
    <Page
      title="My key"
      intro={`What “${session.value?.name ?? ""}” may spend, and what it has done.`}
      actions={<RangePicker />}
    >
      <Shown of={key} what="your key">
        {(own) => <Spending own={own} />}
      </Shown>
      <Shown of={now} what="your figures">
        {(answer) => (
          <>
            <FigureTiles now={answer} before={before.answer} filters={{}} />
            <FigureCharts now={answer} before={before.answer} filters={{}} words={rangeWords[range.name]} />
          </>
        )}
      </Shown>
      <Latest />
    </Page>
  )
}

const Spending = ({ own }: { readonly own: OwnKey }) => {
  const began = windowsAt(thisMinute.value)
  const since = (from: Date) => requestsHref({}, { from, to: null })
  return (
    <>
      <Tiles>
        <Tile
          label="Left of the limit"
          value={own.exact.limit_remaining === null ? "no limit" : <Usd amount={own.exact.limit_remaining} />}
          note={
            own.exact.limit === null ? (
              " "
            ) : (
              <>
                of <Usd amount={own.exact.limit} />
              </>
            )
          }
        />
        <Tile label="Spent today (UTC)" value={<Usd amount={own.exact.usage_daily} />} href={since(began.day)} />
        <Tile
          label="This week"
          value={<Usd amount={own.exact.usage_weekly} />}
          href={since(began.week)}
          note="from Monday, UTC"
        />
        <Tile
          label="This month"
          value={<Usd amount={own.exact.usage_monthly} />}
          href={since(began.month)}
          note="UTC"
        />
        <Tile label="In all" value={<Usd amount={own.exact.usage} />} href={requestsHref({})} />
      </Tiles>
      {own.budgets.length === 0 && own.expires_at === null ? null : (
        <Panel title="Limits">
          {own.budgets.map((budget) => (
            <Limit key={`${budget.scope} ${budget.reset_interval ?? ""}`} budget={budget} />
          ))}
          {own.expires_at === null ? null : (
            <p>
              The key expires <Time at={own.expires_at} />.
            </p>
          )}
        </Panel>
      )}
    </>
  )
}

const scopeWords: Readonly<Record<string, string>> = { key_limit: "Limit of the key" }

const Limit = ({ budget }: { readonly budget: Budget }) => {
  const { limit_usd, spend_usd } = budget.exact
  const limit = picodollars(limit_usd) ?? 0n
  const spent = picodollars(spend_usd) ?? 0n
  const percent = percentOf(spent, limit) ?? 0
  return (
    <div class="limit">
      <p>
        <strong>{scopeWords[budget.scope] ?? budget.scope}</strong>: <Usd amount={spend_usd} /> of{" "}
        <Usd amount={limit_usd} /> spent, {percent} %
        {budget.resets_at === null ? (
          "."
        ) : (
          <>
            ; begins anew <Time at={budget.resets_at} form="ago" /> (<Time at={budget.resets_at} />
            ).
          </>
        )}
      </p>
      <Meter used={percent / 100} words={`${shortUsd(spent)} of ${shortUsd(limit)} spent`} />
    </div>
  )
}

const columns = requestColumns(new Map(), false).filter(({ name }) => name !== "host" && name !== "app")

const latestRows = 20

const Latest = () => {
  const page = useQuery(
    "latest",
    (signal) => call<RequestPage>("/requests", { query: { limit: latestRows }, signal }),
    { every: 15_000 },
  )
  return (
    <Panel title="Latest requests" actions={<a href={requestsHref({})}>All requests</a>}>
      <Shown of={page} what="your requests">
        {({ data: rows }) =>
          rows.length === 0 ? (
            <Empty title="Nothing was asked with this key yet.">
              Point a client at this gateway with the key that you signed in with, and its requests are here.
            </Empty>
          ) : (
            <Table
              label="Latest requests"
              rows={rows}
              columns={columns}
              keyOf={(row) => row.request_id}
              hrefOf={(row) => requestHref(row.request_id)}
            />
          )
        }
      </Shown>
    </Panel>
  )
}

export default MyKey
