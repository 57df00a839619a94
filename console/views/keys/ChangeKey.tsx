/** Changing a key: only what differs is sent. */
import { useState } from "preact/hooks"
import { call } from "../../api/call.ts"
import type { Key } from "../../api/keyTypes.ts"
import { Panel } from "../../components/layout.tsx"
import { Failed } from "../../components/Shown.tsx"
import { bodyOf, changesBetween, errorsOf, formOf, type KeyForm, type KeyFormErrors } from "../../lib/keyForm.ts"
import { useAction } from "../../state/action.ts"
import { notify } from "../../state/notices.ts"
import { KeyFields } from "./KeyFields.tsx"

interface Props {
  readonly record: Key
  readonly close: () => void
  readonly changed: () => void
}

export const ChangeKey = ({ record, close, changed }: Props) => {
  const [form, setForm] = useState(formOf(record))
  const [errors, setErrors] = useState<KeyFormErrors>({})
  const { isRunning, failure, run } = useAction()
  const save = async (event: Event) => {
    event.preventDefault()
    const found = errorsOf(form, new Date())
    // A key that has expired may be changed in other respects.
    const { expires, ...others } = found
    const kept = form.expires === formOf(record).expires ? others : found
    setErrors(kept)
    if (Object.keys(kept).length > 0) return
    const body = changesBetween(bodyOf(formOf(record)), bodyOf(form))
    if (Object.keys(body).length === 0) {
      close()
      return
    }
    await run(async () => {
      await call(`/keys/${encodeURIComponent(record.hash)}`, { method: "PATCH", body })
      notify("done", `“${form.name.trim()}” was changed.`)
      changed()
    })
  }
  return (
    <Panel title="Change the key">
      <form onSubmit={(event) => void save(event)} noValidate>
        <KeyFields
          form={form}
          errors={errors}
          change={(changes: Partial<KeyForm>) => setForm((last) => ({ ...last, ...changes }))}
          hasFocus
        />
        {failure === null ? null : <Failed what="The key was not changed" failure={failure} />}
        <div class="form-actions">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-main" disabled={isRunning}>
            {isRunning ? "Saving …" : "Save"}
          </button>
        </div>
      </form>
    </Panel>
  )
}
