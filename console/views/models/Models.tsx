/** All models, with the prices of the host that is tried first. */
import { useMemo } from "preact/hooks"
import { data } from "../../api/call.ts"
import type { Model } from "../../api/modelTypes.ts"
import { SelectField, TextField } from "../../components/fields.tsx"
import { Page } from "../../components/layout.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Count } from "../../components/values.tsx"
import { counted } from "../../lib/numbers.ts"
import { perMillion } from "../../lib/prices.ts"
import { modelHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { href, parameters, setParameters } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"
import { Price } from "./Price.tsx"

const columns: ReadonlyArray<Column<Model>> = [
  { name: "id", title: "Model", value: (model) => model.id, width: 17 },
  { name: "name", title: "Name", value: (model) => model.name, width: 12 },
  {
    name: "prompt",
    title: "Prompt, 1M tokens",
    width: 8.5,
    isNumber: true,
    value: (model) => String(model.pricing["prompt"] ?? ""),
    order: (model) => perMillion(model.pricing["prompt"]),
    cell: (model) => <Price of={model.pricing["prompt"]} />,
  },
  {
    name: "completion",
    title: "Completion, 1M",
    width: 9,
    isNumber: true,
    value: (model) => String(model.pricing["completion"] ?? ""),
    order: (model) => perMillion(model.pricing["completion"]),
    cell: (model) => <Price of={model.pricing["completion"]} />,
  },
  {
    name: "context",
    title: "Context",
    width: 5.5,
    isNumber: true,
    value: (model) => model.context_length,
    cell: (model) => <Count of={model.context_length} isShort />,
  },
  { name: "modality", title: "In and out", value: (model) => model.architecture.modality, width: 10 },
]

const Models = () => {
  const query = useQuery("models", (signal) => data<ReadonlyArray<Model>>("/models", { signal }))
  const search = parameters.value.get("search") ?? ""
  const kind = parameters.value.get("output") ?? ""
  const all = query.answer ?? []
  const outputs = useMemo(
    () => [...new Set(all.flatMap((one) => one.architecture.output_modalities))].toSorted(),
    [all],
  )
  const wanted = search.toLowerCase()
  const shown = useMemo(
    () =>
      all.filter(
        (model) =>
          `${model.id} ${model.name}`.toLowerCase().includes(wanted) &&
          (kind === "" || model.architecture.output_modalities.includes(kind)),
      ),
    [all, wanted, kind],
  )
  return (
    <Page title="Models" intro="What may be asked for, at the price of the host that the catalogue puts first.">
      <div class="filters">
        <TextField
          label="Search"
          value={search}
          change={(value) => setParameters({ search: value })}
          input={{ type: "search", placeholder: "id or name", spellcheck: false }}
        />
        <SelectField
          label="Makes"
          value={kind}
          choices={["", ...outputs].map((value) => ({ value, title: value === "" ? "anything" : value }))}
          change={(value) => setParameters({ output: value })}
        />
      </div>
      <Shown of={query} what="the models">
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length === 0 ? "No model is served." : "No model is like that."}>
              {all.length === 0 && isManagement.value ? (
                <>
                  Set a provider's key: <a href={href("/providers")}>the providers</a> say which variable.
                </>
              ) : (
                "Search for a part of the id."
              )}
            </Empty>
          ) : (
            <Table
              label="Models"
              columns={columns}
              rows={shown}
              keyOf={(model) => model.id}
              hrefOf={(model) => modelHref(model.id)}
              sortParameter="sort"
              foot={counted(shown.length, "model")}
            />
          )
        }
      </Shown>
    </Page>
  )
}

export default Models
