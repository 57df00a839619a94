/** All keys, with what they have spent. */
import { useEffect, useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../../api/ApiFailure.ts"
import { data } from "../../api/call.ts"
import type { Key } from "../../api/keyTypes.ts"
import { SelectField, TextField } from "../../components/fields.tsx"
import { Page, Tabs } from "../../components/layout.tsx"
import { Empty, Failed, Waiting } from "../../components/Shown.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Badge, Meter, None, Time, Usd } from "../../components/values.tsx"
import { percentOf, picodollars, shortUsd } from "../../lib/money.ts"
import { seen } from "../../lib/names.ts"
import { counted } from "../../lib/numbers.ts"
import { keyHref, requestsHref } from "../../state/links.ts"
import { href, hrefWith, parameters, setParameters } from "../../state/router.ts"
import { may, signIns } from "../../state/session.ts"
import { keyState, spentInWindow } from "./keyState.ts"

const pageKeys = 100

const columns: ReadonlyArray<Column<Key>> = [
  { name: "name", title: "Name", value: (key) => key.name, cell: (key) => seen(key.name, key.label) },
  {
    name: "state",
    title: "State",
    width: 5.25,
    value: (key) => keyState(key, new Date()).words,
    cell: (key) => {
      const { words, tone } = keyState(key, new Date())
      return <Badge tone={tone}>{words}</Badge>
    },
  },
  { name: "owner", title: "Owner", width: 10, value: (key) => key.owner, cell: (key) => key.owner ?? <None /> },
  {
    name: "tags",
    title: "Tags",
    width: 10.25,
    value: (key) => key.tags.join(" "),
    cell: (key) =>
      key.tags.length === 0 ? (
        <None />
      ) : (
        key.tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))
      ),
  },
  {
    name: "spent",
    title: "Spent in all",
    width: 6,
    isNumber: true,
    value: (key) => key.exact.usage,
    order: (key) => picodollars(key.exact.usage),
    cell: (key) => (
      <a href={requestsHref({ key_hash: key.hash })}>
        <Usd amount={key.exact.usage} />
      </a>
    ),
  },
  {
    name: "limit",
    title: "Of its limit",
    width: 13.75,
    value: (key) => key.exact.limit,
    order: (key) => percentOf(spentInWindow(key), picodollars(key.exact.limit) ?? 0n),
    cell: (key) => {
      const limit = picodollars(key.exact.limit)
      if (limit === null) return <None words="no limit" />
      const spent = spentInWindow(key)
      const percent = percentOf(spent, limit) ?? 100
      return (
        <span class="limit-cell">
          <Meter used={percent / 100} words={`${shortUsd(spent)} of ${shortUsd(limit)}`} />
          <span class="number">
            {shortUsd(limit)} {key.limit_reset ?? "in all"}
          </span>
        </span>
      )
    },
  },
  {
    name: "created_at",
    title: "Made",
    width: 7.25,
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} form="ago" />,
  },
]

interface Listed {
  readonly keys: ReadonlyArray<Key>
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly failure: ApiFailure | null
}

/** The keys page by page: `search` and `tag` are asked of the API. */
const useKeys = (query: Readonly<Record<string, string | null>>) => {
  const question = JSON.stringify(query)
  const [listed, setListed] = useState<Listed>({ keys: [], hasMore: false, isLoading: true, failure: null })
  const signedIn = signIns.value
  const load = async (before: ReadonlyArray<Key>, signal: AbortSignal) => {
    setListed((last) => ({ ...last, isLoading: true, failure: null }))
    try {
      const page = await data<ReadonlyArray<Key>>("/keys", {
        query: { ...query, offset: before.length, limit: pageKeys, include_disabled: "true" },
        signal,
      })
      if (signal.aborted) return
      setListed({ keys: [...before, ...page], hasMore: page.length === pageKeys, isLoading: false, failure: null })
    } catch (cause) {
      if (!signal.aborted) setListed((last) => ({ ...last, isLoading: false, failure: asFailure(cause) }))
    }
  }
  useEffect(() => {
    const abort = new AbortController()
    setListed({ keys: [], hasMore: false, isLoading: true, failure: null })
    void load([], abort.signal)
    return () => abort.abort()
  }, [question, signedIn])
  return { ...listed, more: () => void load(listed.keys, new AbortController().signal) }
}

const Keys = () => {
  const kind = parameters.value.get("kind") === "management" ? "management" : "ordinary"
  const search = parameters.value.get("search")
  const tag = parameters.value.get("tag")
  const state = parameters.value.get("state") ?? ""
  const { keys, hasMore, isLoading, failure, more } = useKeys({
    kind: kind === "management" ? kind : null,
    search,
    tag,
  })
  const now = new Date()
  const shown = state === "" ? keys : keys.filter((key) => keyState(key, now).words === state)
  return (
    <Page
      title="Keys"
      intro="Who may call models, and within what limits."
      actions={
        may("keys") ? (
          <a class="button button-main" href={href("/keys/new")}>
            New key
          </a>
        ) : null
      }
    >
      {may("all") ? (
        <Tabs
          label="Kinds of keys"
          chosen={kind}
          tabs={[
            { name: "ordinary", title: "Ordinary", href: hrefWith({ kind: null }) },
            { name: "management", title: "Management", href: hrefWith({ kind: "management" }) },
          ]}
        />
      ) : null}
      <div class="filters">
        <Search />
        <TextField
          label="Tag"
          value={tag ?? ""}
          change={(value) => setParameters({ tag: value.trim() })}
          input={{ type: "search", spellcheck: false }}
        />
        <SelectField
          label="State"
          value={state}
          choices={["", "active", "disabled", "expired", "used up"].map((value) => ({
            value,
            title: value === "" ? "any" : value,
          }))}
          change={(value) => setParameters({ state: value })}
        />
      </div>
      {failure === null ? null : <Failed what="Could not load the keys" failure={failure} retry={more} />}
      {shown.length === 0 ? (
        isLoading ? (
          <Waiting words="Loading the keys …" />
        ) : failure !== null ? null : (
          <NoKeys isFiltered={search !== null || tag !== null || state !== ""} />
        )
      ) : (
        <Table
          label="Keys"
          columns={columns}
          rows={shown}
          keyOf={(key) => key.hash}
          hrefOf={(key) => keyHref(key.hash)}
          {...(hasMore ? {} : { sortParameter: "sort" })}
          foot={
            <>
              {counted(shown.length, "key")}
              {hasMore ? (
                <button type="button" class="button button-small" disabled={isLoading} onClick={more}>
                  {isLoading ? "Loading …" : "Load more"}
                </button>
              ) : null}
            </>
          }
        />
      )}
    </Page>
  )
}

const pauseMs = 300

const Search = () => {
  const written = parameters.value.get("search") ?? ""
  const [value, setValue] = useState(written)
  useEffect(() => setValue(written), [written])
  useEffect(() => {
    if (value === written) return
    const timer = setTimeout(() => setParameters({ search: value.trim() }), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <TextField
      label="Search"
      value={value}
      change={setValue}
      input={{ type: "search", placeholder: "name, label, owner", spellcheck: false }}
    />
  )
}

const NoKeys = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No key is like that.">Leave a filter out, or search for a part of the name.</Empty>
  ) : (
    <Empty title="There is no key yet.">
      A client needs one to call models. {may("keys") ? <a href={href("/keys/new")}>Make the first one</a> : null}
    </Empty>
  )

export default Keys
