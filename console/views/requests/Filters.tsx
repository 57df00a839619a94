/** The filters of the list of requests: they stand in the address, so that it can be sent to a colleague. */
import { SelectField } from "../../components/fields.tsx"
import { ParameterField } from "../../components/ParameterField.tsx"
import { causeNames, causeWords } from "../../lib/outcomes.ts"
import { parameters, setParameters } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"

export const filterNames = [
  "model",
  "host",
  "provider",
  "key_hash",
  "app",
  "user",
  "user_hash",
  "status",
  "outcome",
] as const

/** What the address asks for, as parameters of `GET /requests`. */
export const useRequestFilters = (): Readonly<Partial<Record<(typeof filterNames)[number], string>>> =>
  Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = parameters.value.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

const outcomeChoices = [
  { value: "", title: "any" },
  ...causeNames.map((name) => ({
    value: name,
    title: name === "ok" ? "answered" : `failed: ${causeWords(name)}`,
  })),
]

export const Filters = () => {
  const outcome = parameters.value.get("outcome") ?? ""
  const choices = outcomeChoices.some(({ value }) => value === outcome)
    ? outcomeChoices
    : [...outcomeChoices, { value: outcome, title: outcome }]
  return (
    <div class="filters">
      <SelectField
        label="Outcome"
        value={outcome}
        choices={choices}
        change={(value) => setParameters({ outcome: value })}
      />
      <ParameterField name="status" label="Status" placeholder="429, 4xx" />
      <ParameterField name="model" label="Model" placeholder="author/slug" />
      <ParameterField name="host" label="Host" placeholder="tag" />
      <ParameterField name="provider" label="Provider" placeholder="slug" />
      {isManagement.value ? <ParameterField name="key_hash" label="Key" placeholder="its hash" /> : null}
      <ParameterField name="app" label="App" placeholder="title or URL" />
      <ParameterField name="user" label="End user" placeholder="name, as sent" />
    </div>
  )
}
