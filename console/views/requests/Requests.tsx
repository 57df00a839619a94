/** The list of requests, the newest first, with its filters in the address. */
import { useMemo } from "preact/hooks"
import { data } from "../../api/call.ts"
import { Page } from "../../components/layout.tsx"
import { RangePicker, useRange } from "../../components/RangePicker.tsx"
import { Empty, Failed, Waiting } from "../../components/Shown.tsx"
import { Table } from "../../components/Table.tsx"
import { exactUsd, picodollars } from "../../lib/money.ts"
import { seen } from "../../lib/names.ts"
import { counted } from "../../lib/numbers.ts"
import { rangeWords, spanParameters } from "../../lib/range.ts"
import { requestHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { hrefWith } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"
import { requestColumns } from "./columns.tsx"
import { Filters, filterNames, useRequestFilters } from "./Filters.tsx"
import { usePages } from "./pages.ts"

interface NamedKey {
  readonly hash: string
  readonly name: string
  readonly label: string
}

/** Names of the first hundred keys; those of others are shown by their hashes. */
const useKeyNames = (): ReadonlyMap<string, string> => {
  const question = isManagement.value ? "names of keys" : null
  const { answer } = useQuery(question, (signal) =>
    data<ReadonlyArray<NamedKey>>("/keys", { query: { limit: 100, include_disabled: "true" }, signal }),
  )
  return useMemo(() => new Map((answer ?? []).map(({ hash, name, label }) => [hash, seen(name, label)])), [answer])
}

const Requests = () => {
  const range = useRange()
  const filters = useRequestFilters()
  const names = useKeyNames()
  const pages = usePages({ ...spanParameters(range), ...filters })
  const hasKeys = isManagement.value
  const columns = useMemo(() => requestColumns(names, hasKeys), [names, hasKeys])
  const chosen = Object.keys(filters).length
  const sum = useMemo(
    () => pages.rows.reduce((all, row) => all + (picodollars(row.exact.usage) ?? 0n), 0n),
    [pages.rows],
  )
  return (
    <Page
      title="Requests"
      intro={`${hasKeys ? "Requests of all keys" : "Requests of your key"} in ${rangeWords[range.name]}, the newest first. The address holds the filters: send it to a colleague.`}
      actions={<RangePicker />}
    >
      <Filters />
      {chosen === 0 ? null : (
        <p class="small">
          {counted(chosen, "filter")} chosen.{" "}
          <a href={hrefWith(Object.fromEntries(filterNames.map((name) => [name, null])))}>Leave all out</a>
        </p>
      )}
      {pages.failure === null ? null : (
        <Failed
          what="Could not load the requests"
          failure={pages.failure}
          retry={pages.isStarted ? pages.more : pages.reload}
        />
      )}
      {pages.rows.length === 0 ? (
        <Nothing pages={pages} />
      ) : (
        <Table
          label="Requests"
          columns={columns}
          rows={pages.rows}
          keyOf={(row) => row.request_id}
          hrefOf={(row) => requestHref(row.request_id)}
          foot={
            <>
              <span>
                {counted(pages.rows.length, "row")} shown, {exactUsd(sum)} together
                {pages.next === null ? ": these are all" : ""}.
              </span>{" "}
              <More pages={pages} />
            </>
          }
        />
      )}
    </Page>
  )
}

const More = ({ pages }: { readonly pages: ReturnType<typeof usePages> }) =>
  pages.next === null ? null : (
    <button type="button" class="button button-small" disabled={pages.isLoading} onClick={pages.more}>
      {pages.isLoading ? "Loading …" : "Load more"}
    </button>
  )

const Nothing = ({ pages }: { readonly pages: ReturnType<typeof usePages> }) => {
  if (pages.isLoading) return <Waiting words="Loading the requests …" />
  if (!pages.isStarted) return null
  return pages.next === null ? (
    <Empty title="No request in this time, or none that the filters leave.">
      Choose a longer time, or leave a filter out.
    </Empty>
  ) : (
    <Empty title="None found yet.">
      The newest part of this time has none that the filters leave. <More pages={pages} />
    </Empty>
  )
}

export default Requests
