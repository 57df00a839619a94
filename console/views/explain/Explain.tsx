/** How a request would be routed now, and why. No host is called, and nothing is reserved. */
import { useState } from "preact/hooks"
import { ApiFailure } from "../../api/ApiFailure.ts"
import { data } from "../../api/call.ts"
import type { Explanation } from "../../api/explainTypes.ts"
import { SelectField, TextAreaField, TextField } from "../../components/fields.tsx"
import { Page, Tabs } from "../../components/layout.tsx"
import { Failed } from "../../components/Shown.tsx"
import { addressOf, bodyOf, type ExplainForm, formIn } from "../../lib/explainForm.ts"
import { useAction } from "../../state/action.ts"
import { hrefWith, parameters, setParameters } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"
import { Explained } from "./Explained.tsx"
import { ExplainFields } from "./ExplainFields.tsx"

const formats = [
  { value: "chat", title: "chat completions" },
  { value: "messages", title: "Messages" },
  { value: "responses", title: "Responses" },
  { value: "completions", title: "completions" },
  { value: "embeddings", title: "embeddings" },
  { value: "rerank", title: "rerank" },
] as const

type Format = (typeof formats)[number]["value"]

/** Draws of the strategy's random part: enough for shares to a percent. */
const draws = 1000

const Explain = () => {
  const [form, setForm] = useState(formIn(parameters.value))
  const [json, setJson] = useState("")
  const [format, setFormat] = useState<Format>("chat")
  const [key, setKey] = useState(parameters.value.get("key_hash") ?? "")
  const [seed, setSeed] = useState(parameters.value.get("seed") ?? "")
  const [answer, setAnswer] = useState<Explanation | null>(null)
  const { isRunning, failure, run } = useAction()
  const isJson = parameters.value.get("as") === "json"
  const change = (changes: Partial<ExplainForm>) => setForm((last) => ({ ...last, ...changes }))
  const ask = async (event: Event) => {
    event.preventDefault()
    await run(async () => {
      if (!isJson) setParameters({ ...addressOf(form), key_hash: key, seed })
      const body = isJson ? parsed(json) : bodyOf(form)
      const query = { draws, form: isJson ? format : "chat", key_hash: key.trim(), seed: seed.trim() }
      setAnswer(await data<Explanation>("/route/explain", { method: "POST", query, body }))
    })
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
          <ExplainFields form={form} change={change} />
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
          <button
            type="submit"
            class="button button-main"
            disabled={isRunning || (!isJson && form.model.trim() === "")}
          >
            {isRunning ? "Asking …" : "Explain"}
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
    throw new ApiFailure(
      0,
      `The body is no JSON: ${cause instanceof Error ? cause.message : ""}.`,
      "Mend it, and ask again.",
    )
  }
}

const Json = (props: {
  readonly json: string
  readonly format: Format
  readonly setJson: (json: string) => void
  readonly setFormat: (format: Format) => void
  readonly example: unknown
}) => (
  <>
    <SelectField label="API format of the body" value={props.format} choices={formats} change={props.setFormat} />
    <TextAreaField
      label="Body"
      hint="As a client would send it. It is sent to the gateway alone, and kept nowhere."
      rows={10}
      isCode
      placeholder={JSON.stringify(props.example, null, 2)}
      value={props.json}
      change={props.setJson}
    />
  </>
)

export default Explain
