/** The fields of a key, for making one and for changing one. */
import { SelectField, TextAreaField, TextField } from "../../components/fields.tsx"
import type { KeyForm, KeyFormErrors } from "../../lib/keyForm.ts"

interface Props {
  readonly form: KeyForm
  readonly errors: KeyFormErrors
  readonly change: (changes: Partial<KeyForm>) => void
  readonly hasFocus?: boolean
}

const resets = [
  { value: "", title: "never" },
  { value: "daily", title: "each day, 00:00 UTC" },
  { value: "weekly", title: "each Monday, 00:00 UTC" },
  { value: "monthly", title: "on the first of each month, 00:00 UTC" },
] as const

export const KeyFields = ({ form, errors, change, hasFocus = false }: Props) => (
  <div class="key-fields">
    <fieldset>
      <legend>What it is</legend>
      <TextField
        label="Name"
        value={form.name}
        change={(name) => change({ name })}
        error={errors.name}
        input={{ required: true, maxLength: 200, autocomplete: "off", hasFocus }}
      />
      <TextField
        label="Owner"
        hint="Whose it is: a person or a team."
        value={form.owner}
        change={(owner) => change({ owner })}
        error={errors.owner}
        input={{ maxLength: 200, autocomplete: "off" }}
      />
      <TextAreaField
        rows={2}
        isCode
        label="Tags"
        hint="To find it by: one a line, or commas between them."
        value={form.tags}
        error={errors.tags}
        placeholder="team-a"
        change={(tags) => change({ tags })}
      />
    </fieldset>
    <fieldset>
      <legend>What it may spend</legend>
      <TextField
        label="Limit in USD"
        hint="Nothing: no limit."
        value={form.limit}
        change={(limit) => change({ limit })}
        error={errors.limit}
        input={{ inputMode: "decimal", placeholder: "no limit", autocomplete: "off" }}
      />
      <SelectField
        label="The limit begins anew"
        value={form.reset}
        choices={resets}
        change={(reset) => change({ reset })}
        error={errors.reset}
      />
      <TextField
        label="Requests at most"
        hint="Nothing: any number."
        value={form.requests}
        change={(requests) => change({ requests })}
        error={errors.requests}
        input={{ inputMode: "numeric", placeholder: "any number", autocomplete: "off" }}
      />
      <TextField
        label="in so many seconds"
        value={form.seconds}
        change={(seconds) => change({ seconds })}
        error={errors.seconds}
        input={{ inputMode: "numeric", autocomplete: "off", disabled: form.requests.trim() === "" }}
      />
    </fieldset>
    <fieldset>
      <legend>What it may use</legend>
      <TextAreaField
        rows={2}
        isCode
        label="Models"
        hint={
          <>
            Patterns of ids, such as <code>openai/*</code>. Nothing: all.
          </>
        }
        value={form.models}
        error={errors.models}
        placeholder="all models"
        change={(models) => change({ models })}
      />
      <TextAreaField
        rows={2}
        isCode
        label="Providers"
        hint="Patterns of tags or names. Nothing: all."
        value={form.providers}
        error={errors.providers}
        placeholder="all providers"
        change={(providers) => change({ providers })}
      />
      <TextAreaField
        rows={2}
        isCode
        label="Addresses"
        hint={
          <>
            Addresses or ranges it may be used from, such as <code>10.0.0.0/8</code>. Nothing: all.
          </>
        }
        value={form.addresses}
        error={errors.addresses}
        placeholder="all addresses"
        change={(addresses) => change({ addresses })}
      />
      <TextField
        label="Expires"
        hint="In your zone. Nothing: never."
        value={form.expires}
        change={(expires) => change({ expires })}
        error={errors.expires}
        input={{ type: "datetime-local" }}
      />
    </fieldset>
  </div>
)
