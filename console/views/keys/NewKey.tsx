/** Making a key. What was typed stays through failures. */
import { useState } from "preact/hooks"
import { call } from "../../api/call.ts"
import type { MadeKey } from "../../api/keyTypes.ts"
import type { Role } from "../../api/types.ts"
import { SelectField } from "../../components/fields.tsx"
import { Page, Panel } from "../../components/layout.tsx"
import { Empty, Failed } from "../../components/Shown.tsx"
import { CodeBlock } from "../../components/values.tsx"
import { bodyOf, emptyForm, errorsOf, type KeyForm, type KeyFormErrors } from "../../lib/keyForm.ts"
import { useAction } from "../../state/action.ts"
import { keyHref } from "../../state/links.ts"
import { firstCall } from "../../state/publicApi.ts"
import { href } from "../../state/router.ts"
import { may } from "../../state/session.ts"
import { KeyFields } from "./KeyFields.tsx"
import { Secret } from "./Secret.tsx"

const roles: ReadonlyArray<{ readonly value: "" | Role; readonly title: string }> = [
  { value: "", title: "an ordinary key: it calls models" },
  { value: "read", title: "a management key that reads everything" },
  { value: "keys", title: "a management key that also makes and changes keys" },
  { value: "all", title: "a management key that may do everything" },
]

const NewKey = () => {
  const [form, setForm] = useState(emptyForm)
  const [role, setRole] = useState<"" | Role>("")
  const [errors, setErrors] = useState<KeyFormErrors>({})
  const { isRunning, failure, run } = useAction()
  const [made, setMade] = useState<MadeKey | null>(null)
  const change = (changes: Partial<KeyForm>) => setForm((last) => ({ ...last, ...changes }))
  const make = async (event: Event) => {
    event.preventDefault()
    const found = errorsOf(form, new Date())
    setErrors(found)
    if (Object.keys(found).length > 0) return
    const body = role === "" ? bodyOf(form) : { name: form.name.trim(), role }
    await run(async () => setMade(await call<MadeKey>("/keys", { method: "POST", body })))
  }
  if (!may("keys")) {
    return (
      <Page title="New key">
        <Empty title="The key that is signed in may not make keys.">
          Sign in with a management key whose role is “keys” or “all”.
        </Empty>
      </Page>
    )
  }
  if (made !== null) return <Made made={made} />
  return (
    <Page title="New key" intro={<a href={href("/keys")}>All keys</a>}>
      <form class="panel" onSubmit={(event) => void make(event)} noValidate>
        {may("all") ? <SelectField label="Kind" value={role} choices={roles} change={setRole} /> : null}
        {role === "" ? (
          <KeyFields form={form} errors={errors} change={change} hasFocus />
        ) : (
          <KeyFields
            form={{ ...emptyForm, name: form.name }}
            errors={errors}
            change={({ name }) => change({ name: name ?? form.name })}
          />
        )}
        {failure === null ? null : <Failed what="The key was not made" failure={failure} />}
        <div class="form-actions">
          <button type="submit" class="button button-main" disabled={isRunning}>
            {isRunning ? "Making …" : "Make the key"}
          </button>
        </div>
      </form>
    </Page>
  )
}

const Made = ({ made }: { readonly made: MadeKey }) => (
  <Page title="New key" intro={`“${made.data.name}” is made.`}>
    <Panel title="Its secret">
      <Secret secret={made.key} />
      <p>
        <a href={keyHref(made.data.hash)}>Open the key</a>
      </p>
    </Panel>
    {made.data.role === null ? (
      <Panel title="A first call" note="The echo provider answers without any vendor.">
        <CodeBlock what="the command" text={firstCall("headgate/echo")} />
      </Panel>
    ) : null}
  </Page>
)

export default NewKey
