/** The span of time of a view: it stands in the address. */
import { useState } from "preact/hooks"
import { type Range, rangeNames, rangeOf } from "../lib/range.ts"
import { fromField, toField } from "../lib/time.ts"
import { thisMinute } from "../state/clock.ts"
import { hrefWith, parameters, setParameters } from "../state/router.ts"
import { TextField } from "./fields.tsx"

/** The range that the address asks for, as of this minute. */
export const useRange = (): Range => rangeOf(parameters.value, thisMinute.value)

const titles = { hour: "Hour", day: "24 h", week: "7 days", month: "30 days", custom: "Custom" } as const

export const RangePicker = () => {
  const range = useRange()
  const [isOpen, setOpen] = useState(range.name === "custom")
  return (
    <div class="range">
      <nav class="segments" aria-label="Time">
        {rangeNames.map((name) =>
          name === "custom" ? (
            <button
              key={name}
              type="button"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
              class={range.name === "custom" ? "is-chosen" : undefined}
            >
              {titles[name]}
            </button>
          ) : (
            <a
              key={name}
              href={hrefWith({ range: name === "day" ? null : name, from: null, to: null })}
              aria-current={range.name === name ? "true" : undefined}
              onClick={() => setOpen(false)}
            >
              {titles[name]}
            </a>
          ),
        )}
      </nav>
      {isOpen ? <Custom range={range} /> : null}
    </div>
  )
}

const Custom = ({ range }: { readonly range: Range }) => {
  const [from, setFrom] = useState(toField(range.from))
  const [to, setTo] = useState(toField(range.to))
  const [error, setError] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const start = fromField(from)
    const end = fromField(to)
    if (start === null || end === null) setError("Give both times.")
    else if (start >= end) setError("The end has to be after the beginning.")
    else {
      setError(null)
      setParameters({ range: null, from: start.toISOString(), to: end.toISOString() }, { isStep: true })
    }
  }
  return (
    <form class="range-custom" onSubmit={submit}>
      <TextField label="From" value={from} change={setFrom} input={{ type: "datetime-local", required: true }} />
      <TextField
        label="To"
        value={to}
        change={setTo}
        error={error}
        input={{ type: "datetime-local", required: true }}
      />
      <button type="submit" class="button">
        Show
      </button>
      <p class="field-hint">Times of your zone.</p>
    </form>
  )
}
