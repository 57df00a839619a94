/** A question as fields: the request, and what it says of hosts. */
import { SelectField, TextAreaField, TextField } from "../../components/fields.tsx"
import type { ExplainForm } from "../../lib/explainForm.ts"

const sorts = ["", "price", "throughput", "latency"].map((value) => ({
  value,
  title: value === "" ? "as configured" : value,
}))

interface Props {
  readonly form: ExplainForm
  readonly change: (changes: Partial<ExplainForm>) => void
}

export const ExplainFields = ({ form, change }: Props) => (
  <div class="key-fields">
    <fieldset>
      <legend>The request</legend>
      <TextField
        label="Model"
        value={form.model}
        change={(model) => change({ model })}
        input={{ required: true, placeholder: "author/slug", spellcheck: false, autocapitalize: "off" }}
      />
      <TextAreaField label="Message" rows={3} value={form.message} change={(message) => change({ message })} />
      <TextField
        label="Tokens out at most"
        value={form.maxTokens}
        change={(maxTokens) => change({ maxTokens })}
        input={{ inputMode: "numeric" }}
      />
    </fieldset>
    <fieldset>
      <legend>Order and hosts</legend>
      <SelectField label="Sort by" value={form.sort} choices={sorts} change={(sort) => change({ sort })} />
      <TextField
        label="Order"
        hint="Tags or providers, tried first, with commas."
        value={form.order}
        change={(order) => change({ order })}
      />
      <TextField label="Only" value={form.only} change={(only) => change({ only })} />
      <TextField label="Ignore" value={form.ignore} change={(ignore) => change({ ignore })} />
    </fieldset>
    <fieldset>
      <legend>Rules</legend>
      <TextField
        label="Prompt at most, USD for 1M tokens"
        value={form.maxPrompt}
        change={(maxPrompt) => change({ maxPrompt })}
        input={{ inputMode: "decimal" }}
      />
      <TextField
        label="Completion at most, USD for 1M tokens"
        value={form.maxCompletion}
        change={(maxCompletion) => change({ maxCompletion })}
        input={{ inputMode: "decimal" }}
      />
      <Check label="Hosts that keep no prompts" on={form.zdr} change={(zdr) => change({ zdr })} />
      <Check
        label="Hosts that do not train on prompts"
        on={form.denyCollection}
        change={(denyCollection) => change({ denyCollection })}
      />
      <Check label="No fallbacks" on={form.noFallbacks} change={(noFallbacks) => change({ noFallbacks })} />
    </fieldset>
  </div>
)

const Check = (props: { readonly label: string; readonly on: boolean; readonly change: (on: boolean) => void }) => (
  <label class="check">
    <input type="checkbox" checked={props.on} onChange={(event) => props.change(event.currentTarget.checked)} />
    {props.label}
  </label>
)
