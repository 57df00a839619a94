/** Fields of forms, with their labels, hints and errors. */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"

interface Labelled {
  readonly label: string
  /** What it takes: unit, form, an example. */
  readonly hint?: ComponentChildren
  /** What is wrong with what was typed. */
  readonly error?: string | null | undefined
}

interface Described extends Labelled {
  readonly children: (ids: {
    readonly id: string
    readonly "aria-describedby"?: string
    readonly "aria-invalid"?: true
  }) => ComponentChildren
}

/** Label, hint and error around any control, which takes the attributes that it is given. */
export const Labelled = ({ label, hint, error, children }: Described) => {
  const id = useId()
  const hasError = error !== null && error !== undefined && error !== ""
  const described = [hint === undefined ? "" : `${id}-hint`, hasError ? `${id}-error` : ""].filter((one) => one !== "")
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described.length === 0 ? {} : { "aria-describedby": described.join(" ") }),
        ...(hasError ? { "aria-invalid": true as const } : {}),
      })}
      {hint === undefined ? null : (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {hasError ? (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      ) : null}
    </div>
  )
}

interface InputOptions {
  readonly type?: "text" | "password" | "number" | "search" | "datetime-local" | "url"
  readonly name?: string
  readonly placeholder?: string
  readonly autocomplete?: "off"
  readonly autocapitalize?: "off" | "sentences"
  readonly spellcheck?: boolean
  readonly required?: boolean
  readonly disabled?: boolean
  readonly inputMode?: "decimal" | "numeric"
  readonly maxLength?: number
  /** Of a `<datalist>` with suggestions. */
  readonly list?: string
  /** Has the focus when it appears. */
  readonly hasFocus?: boolean
}

interface TextProps extends Labelled {
  readonly value: string
  readonly change: (value: string) => void
  readonly input?: InputOptions
}

export const TextField = ({ value, change, input = {}, ...labelled }: TextProps) => {
  const element = useRef<HTMLInputElement>(null)
  const { hasFocus = false, type = "text", ...others } = input
  // Preact's types allow each attribute for some types only, and want one known type.
  const attributes: object = { ...others, type }
  useEffect(() => {
    if (hasFocus) element.current?.focus()
  }, [hasFocus])
  return (
    <Labelled {...labelled}>
      {(ids) => (
        <input
          {...attributes}
          {...ids}
          ref={element}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Labelled>
  )
}

interface TextAreaProps extends Labelled {
  readonly value: string
  readonly change: (value: string) => void
  readonly rows: number
  readonly placeholder?: string
  /** No prose, so its spelling is not checked. */
  readonly isCode?: boolean
}

export const TextAreaField = ({ value, change, rows, placeholder, isCode = false, ...labelled }: TextAreaProps) => (
  <Labelled {...labelled}>
    {(ids) => (
      <textarea
        {...ids}
        rows={rows}
        {...(isCode ? { spellcheck: false } : {})}
        {...(placeholder === undefined ? {} : { placeholder })}
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
    )}
  </Labelled>
)

interface SelectProps<Value extends string> extends Labelled {
  readonly value: Value
  readonly choices: ReadonlyArray<{ readonly value: Value; readonly title: string }>
  readonly change: (value: Value) => void
}

export const SelectField = <Value extends string>({ value, choices, change, ...labelled }: SelectProps<Value>) => (
  <Labelled {...labelled}>
    {(ids) => (
      <select
        {...ids}
        value={value}
        onChange={(event) => {
          const chosen = choices.find((choice) => choice.value === event.currentTarget.value)
          if (chosen !== undefined) change(chosen.value)
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.title}
          </option>
        ))}
      </select>
    )}
  </Labelled>
)
