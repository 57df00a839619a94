/** All keys, with what they have spent. */
import { SelectField, TextField } from "../../components/fields.tsx"
import { Page, Tabs } from "../../components/layout.tsx"
import { ParameterField } from "../../components/ParameterField.tsx"
import { Empty, Failed, Waiting } from "../../components/Shown.tsx"
import { Table } from "../../components/Table.tsx"
import { counted } from "../../lib/numbers.ts"
import { keyHref } from "../../state/links.ts"
import { href, hrefWith, parameters, setParameters } from "../../state/router.ts"
import { may } from "../../state/session.ts"
import { keyColumns } from "./columns.tsx"
import { keyState } from "./keyState.ts"
import { useKeys } from "./pages.ts"

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
        <ParameterField name="search" label="Search" placeholder="name, label, owner" />
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
          columns={keyColumns}
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

const NoKeys = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No key is like that.">Leave a filter out, or search for a part of the name.</Empty>
  ) : (
    <Empty title="There is no key yet.">
      A client needs one to call models. {may("keys") ? <a href={href("/keys/new")}>Make the first one</a> : null}
    </Empty>
  )

export default Keys
