/** The filters of the list of requests: they stand in the address, so that it can be sent to a colleague. */
import { useEffect, useState } from "preact/hooks"
import { SelectField, TextField } from "../../components/fields.tsx"
import { causeNames, causeWords } from "../../lib/outcomes.ts"
import { parameters, setParameters } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"

export const filterNames = ["model", "host", "key_hash", "app", "user", "user_hash", "status", "outcome"] as const

/** What the address asks for, as parameters of `GET /requests`. */
export const useRequestFilters = (): Readonly<Partial<Record<(typeof filterNames)[number], string>>> =>
  Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = parameters.value.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** How long one types before the address changes, in milliseconds. */
const pauseMs = 400

const Typed = (props: {
  readonly name: (typeof filterNames)[number]
  readonly label: string
  readonly placeholder: string
}) => {
  const written = parameters.value.get(props.name) ?? ""
  const [value, setValue] = useState(written)
  useEffect(() => setValue(written), [written])
  useEffect(() => {
    if (value === written) return
    const timer = setTimeout(() => setParameters({ [props.name]: value.trim() }), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <TextField
      label={props.label}
      value={value}
      change={setValue}
      input={{ type: "search", placeholder: props.placeholder, spellcheck: false, autocapitalize: "off" }}
    />
  )
}

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
      <Typed name="status" label="Status" placeholder="429, 4xx" />
      <Typed name="model" label="Model" placeholder="author/slug" />
      <Typed name="host" label="Host" placeholder="tag" />
      {isManagement.value ? <Typed name="key_hash" label="Key" placeholder="its hash" /> : null}
      <Typed name="app" label="App" placeholder="title or URL" />
      <Typed name="user" label="End user" placeholder="name, as sent" />
    </div>
  )
}
