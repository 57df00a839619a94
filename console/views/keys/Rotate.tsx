/** Gives a key another secret, which is shown once. */
import { useState } from "preact/hooks"
import { call } from "../../api/call.ts"
import type { Key, MadeKey } from "../../api/keyTypes.ts"
import { Dialog } from "../../components/Dialog.tsx"
import { SelectField } from "../../components/fields.tsx"
import { Failed } from "../../components/Shown.tsx"
import { useAction } from "../../state/action.ts"
import { Secret } from "./Secret.tsx"

const overlaps = [
  { value: "0", title: "at once" },
  { value: "3600", title: "after an hour" },
  { value: "86400", title: "after a day" },
  { value: "604800", title: "after a week" },
] as const

export const Rotate = (props: { readonly record: Key; readonly close: () => void; readonly changed: () => void }) => {
  const [overlap, setOverlap] = useState<(typeof overlaps)[number]["value"]>("86400")
  const [made, setMade] = useState<MadeKey | null>(null)
  const { isRunning, failure, run } = useAction()
  const rotate = () =>
    run(async () => {
      const path = `/keys/${encodeURIComponent(props.record.hash)}/rotate`
      setMade(await call<MadeKey>(path, { method: "POST", body: { overlap_s: Number(overlap) } }))
    })
  const close = () => {
    props.close()
    if (made !== null) props.changed()
  }
  return (
    <Dialog title={made === null ? `Rotate “${props.record.name}”` : "The new secret"} close={close}>
      <div class="dialog-text">
        {made === null ? (
          <>
            <p>It gets another secret. Its hash, limits and ledger stay.</p>
            <SelectField label="The earlier secret ends" value={overlap} choices={overlaps} change={setOverlap} />
            {failure === null ? null : <Failed what="It was not rotated" failure={failure} />}
          </>
        ) : (
          <Secret secret={made.key} />
        )}
      </div>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={close}>
          {made === null ? "Cancel" : "Close"}
        </button>
        {made === null ? (
          <button type="button" class="button button-main" disabled={isRunning} onClick={() => void rotate()}>
            {isRunning ? "Rotating …" : "Rotate"}
          </button>
        ) : null}
      </div>
    </Dialog>
  )
}
