/** Figures of a span of time, who they are of, and what needs attention now. */
import type { Analytics } from "../../api/types.ts"
import { Page } from "../../components/layout.tsx"
import { RangePicker, useRange } from "../../components/RangePicker.tsx"
import { Shown } from "../../components/Shown.tsx"
import { Time } from "../../components/values.tsx"
import { before as beforeSpan, type Range, rangeWords } from "../../lib/range.ts"
import { useQuery } from "../../state/query.ts"
import { hrefWith } from "../../state/router.ts"
import { FirstSteps } from "../start/FirstSteps.tsx"
import { Attention } from "./Attention.tsx"
import { FigureCharts } from "./FigureCharts.tsx"
import { FigureTiles } from "./FigureTiles.tsx"
import { ask, type FilterName, type Filters, filterNames, questionText, useFilters } from "./filters.ts"
import { Ranking } from "./Ranking.tsx"

const Overview = () => {
  const range = useRange()
  const filters = useFilters()
  const question = { span: range, interval: range.interval, filters }
  const earlier = { ...question, span: beforeSpan(range) }
  const now = useQuery(questionText(question), (signal) => ask(question, signal), { every: 60_000 })
  const before = useQuery(questionText(earlier), (signal) => ask(earlier, signal))
  return (
    <Page title="Overview" actions={<RangePicker />}>
      <ChosenFilters filters={filters} />
      {now.answer !== null && isUnused(now.answer) ? (
        <FirstSteps />
      ) : (
        <>
          <Shown of={now} what="the figures">
            {(answer) => (
              <>
                <FigureTiles now={answer} before={before.answer} filters={filters} />
                <Kept answer={answer} range={range} />
              </>
            )}
          </Shown>
          <Attention />
          {now.answer === null ? null : (
            <FigureCharts now={now.answer} before={before.answer} filters={filters} words={rangeWords[range.name]} />
          )}
          <Ranking range={range} filters={filters} />
        </>
      )}
    </Page>
  )
}

/** A gateway that has not had a request yet. */
const isUnused = ({ totals, kept_since }: Analytics): boolean =>
  totals.requests === 0 && kept_since.rows === null && kept_since.requests === null

const filterWords: Readonly<Record<FilterName, string>> = {
  model: "Model",
  host: "Host",
  provider: "Provider",
  key_hash: "Key",
  app: "App",
  user_hash: "User",
}

/** What the figures are bounded to, each to be left out again. */
const ChosenFilters = ({ filters }: { readonly filters: Filters }) => {
  const chosen = filterNames.filter((name) => filters[name] !== undefined)
  return chosen.length === 0 ? null : (
    <ul class="row chosen" aria-label="Filters">
      {chosen.map((name) => (
        <li key={name} class="chip">
          <span class="muted">{filterWords[name]}</span> <strong>{shortened(name, filters[name] ?? "")}</strong>{" "}
          <a href={hrefWith({ [name]: null })} aria-label={`Leave out the filter ${filterWords[name]}`}>
            ×
          </a>
        </li>
      ))}
    </ul>
  )
}

const shortened = (name: FilterName, value: string): string => (name === "key_hash" ? `${value.slice(0, 12)}…` : value)

/** Whether there are rows from more than a day before the oldest record: else the gateway is new, and no record was removed. */
const isLonger = (rows: string | null, requests: string | null): boolean =>
  rows !== null && requests !== null && Date.parse(requests) - Date.parse(rows) > 86_400_000

/** From when on figures and rows are there, where that is after the beginning of the span. */
const Kept = ({ answer, range }: { readonly answer: Analytics; readonly range: Range }) => {
  const { sums, rows, requests } = answer.kept_since
  const isAfter = (at: string | null) => at !== null && new Date(at) > range.from
  const notes = [
    isAfter(sums) ? (
      <>
        Sums are kept since <Time at={sums} />: earlier requests are not in these figures.
      </>
    ) : null,
    isAfter(rows) ? (
      <>
        The first request was booked <Time at={rows} />.
      </>
    ) : null,
    isAfter(requests) && isLonger(rows, requests) ? (
      <>
        The oldest refused or failed request that is kept is of <Time at={requests} />: earlier ones are counted here,
        and not in the list.
      </>
    ) : null,
  ].filter((note) => note !== null)
  return notes.length === 0 ? null : (
    <p class="muted small">
      {notes.map((note, place) => (
        <span key={String(place)}>{note} </span>
      ))}
    </p>
  )
}

export default Overview
