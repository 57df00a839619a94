/** How a request would be routed now, and why. No host is called, and nothing is reserved. */
import { useState } from "preact/hooks"
import { type ApiFailure, asFailure, ApiFailure as Failure } from "../../api/ApiFailure.ts"
import { data } from "../../api/call.ts"
import type { Explanation } from "../../api/explainTypes.ts"
import { Labelled, SelectField, TextField } from "../../components/fields.tsx"
import { Page, Tabs } from "../../components/layout.tsx"
import { Failed } from "../../components/Shown.tsx"
import { addressOf, bodyOf, type ExplainForm, formIn } from "../../lib/explainForm.ts"
import { hrefWith, parameters, setParameters } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"
import { Explained } from "./Explained.tsx"

const formats = [
  { value: "chat", title: "chat completions" },
  { value: "messages", title: "Messages" },
  { value: "responses", title: "Responses" },
  { value: "completions", title: "completions" },
  { value: "embeddings", title: "embeddings" },
  { value: "rerank", title: "rerank" },
] as const

type Format = (typeof formats)[number]["value"]

const sorts = ["", "price", "throughput", "latency"].map((value) => ({
  value,
  title: value === "" ? "as configured" : value,
}))

/** Draws of the strategy's random part: enough for shares to a percent. */
const draws = 1000

const Explain = () => {
  const [form, setForm] = useState(formIn(parameters.value))
  const [json, setJson] = useState("")
  const [format, setFormat] = useState<Format>("chat")
  const [key, setKey] = useState(parameters.value.get("key_hash") ?? "")
  const [seed, setSeed] = useState(parameters.value.get("seed") ?? "")
  const [answer, setAnswer] = useState<Explanation | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [isAsking, setAsking] = useState(false)
  const isJson = parameters.value.get("as") === "json"
  const change = (changes: Partial<ExplainForm>) => setForm((last) => ({ ...last, ...changes }))
  const ask = async (event: Event) => {
    event.preventDefault()
    setAsking(true)
    setFailure(null)
    try {
      if (!isJson) setParameters({ ...addressOf(form), key_hash: key, seed })
      const body = isJson ? parsed(json) : bodyOf(form)
      const query = { draws, form: isJson ? format : "chat", key_hash: key.trim(), seed: seed.trim() }
      setAnswer(await data<Explanation>("/route/explain", { method: "POST", query, body }))
    } catch (cause) {
      setFailure(asFailure(cause))
    } finally {
      setAsking(false)
    }
  }
  return (
    <Page
      title="Explain"
      intro="Which hosts a request would go to now, which are left out, and why. Nothing is sent to a host. The address holds the fields, but not the message."
    >
      <form class="panel" onSubmit={(event) => void ask(event)}>
        <Tabs
          label="The request"
          chosen={isJson ? "json" : "fields"}
          tabs={[
            { name: "fields", title: "Fields", href: hrefWith({ as: null }) },
            { name: "json", title: "A JSON body", href: hrefWith({ as: "json" }) },
          ]}
        />
        {isJson ? (
          <Json json={json} format={format} setJson={setJson} setFormat={setFormat} example={bodyOf(form)} />
        ) : (
          <Fields form={form} change={change} />
        )}
        <div class="filters">
          {isManagement.value ? (
            <TextField
              label="For the key"
              hint="Its hash: its lists and budget count then."
              value={key}
              change={setKey}
              input={{ spellcheck: false }}
            />
          ) : null}
          <TextField
            label="Seed"
            hint="Repeats one draw."
            value={seed}
            change={setSeed}
            input={{ inputMode: "numeric", placeholder: "drawn" }}
          />
        </div>
        <div class="form-actions">
          <button type="submit" class="button button-main" disabled={isAsking || (!isJson && form.model.trim() === "")}>
            {isAsking ? "Asking …" : "Explain"}
          </button>
        </div>
      </form>
      {failure === null ? null : <Failed what="It could not be explained" failure={failure} />}
      {answer === null ? null : <Explained answer={answer} />}
    </Page>
  )
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure(
      0,
      `The body is no JSON: ${cause instanceof Error ? cause.message : ""}.`,
      "Mend it, and ask again.",
    )
  }
}

const Fields = ({
  form,
  change,
}: {
  readonly form: ExplainForm
  readonly change: (to: Partial<ExplainForm>) => void
}) => (
  <div class="key-fields">
    <fieldset>
      <legend>The request</legend>
      <TextField
        label="Model"
        value={form.model}
        change={(model) => change({ model })}
        input={{ required: true, placeholder: "author/slug", spellcheck: false, autocapitalize: "off" }}
      />
      <Labelled label="Message">
        {(ids) => (
          <textarea
            {...ids}
            rows={3}
            value={form.message}
            onInput={(event) => change({ message: event.currentTarget.value })}
          />
        )}
      </Labelled>
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

const Json = (props: {
  readonly json: string
  readonly format: Format
  readonly setJson: (json: string) => void
  readonly setFormat: (format: Format) => void
  readonly example: unknown
}) => (
  <>
    <SelectField label="API format of the body" value={props.format} choices={formats} change={props.setFormat} />
    <Labelled label="Body" hint="As a client would send it. It is sent to the gateway alone, and kept nowhere.">
      {(ids) => (
        <textarea
          {...ids}
          class="code"
          rows={10}
          spellcheck={false}
          placeholder={JSON.stringify(props.example, null, 2)}
          value={props.json}
          onInput={(event) => props.setJson(event.currentTarget.value)}
        />
      )}
    </Labelled>
  </>
)

export default Explain
