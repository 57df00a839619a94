/** A text field whose value stands in the address. */
import { useEffect, useState } from "preact/hooks"
import { parameters, setParameters } from "../state/router.ts"
import { TextField } from "./fields.tsx"

/** How long one types before the address changes, in milliseconds. */
const pauseMs = 400

interface Props {
  /** Of the parameter. */
  readonly name: string
  readonly label: string
  readonly placeholder: string
}

export const ParameterField = ({ name, label, placeholder }: Props) => {
  const written = parameters.value.get(name) ?? ""
  const [value, setValue] = useState(written)
  useEffect(() => setValue(written), [written])
  useEffect(() => {
    if (value === written) return
    const timer = setTimeout(() => setParameters({ [name]: value.trim() }), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <TextField
      label={label}
      value={value}
      change={setValue}
      input={{ type: "search", placeholder, spellcheck: false, autocapitalize: "off" }}
    />
  )
}
