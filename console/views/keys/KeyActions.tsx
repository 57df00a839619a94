/** Rotating, disabling and deleting a key. */
import { useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../../api/ApiFailure.ts"
import { call } from "../../api/call.ts"
import type { Key, MadeKey } from "../../api/keyTypes.ts"
import { Confirm, Dialog } from "../../components/Dialog.tsx"
import { SelectField } from "../../components/fields.tsx"
import { Panel } from "../../components/layout.tsx"
import { Failed } from "../../components/Shown.tsx"
import { notify } from "../../state/notices.ts"
import { go, href } from "../../state/router.ts"
import { Secret } from "./Secret.tsx"

type Open = "rotate" | "disable" | "remove" | null

const overlaps = [
  { value: "0", title: "at once" },
  { value: "3600", title: "after an hour" },
  { value: "86400", title: "after a day" },
  { value: "604800", title: "after a week" },
] as const

export const KeyActions = ({ record, changed }: { readonly record: Key; readonly changed: () => void }) => {
  const [open, setOpen] = useState<Open>(null)
  const [isRunning, setRunning] = useState(false)
  const path = `/keys/${encodeURIComponent(record.hash)}`
  const run = async (what: string, act: () => Promise<unknown>, then: () => void) => {
    setRunning(true)
    try {
      await act()
      notify("done", what)
      then()
    } catch (cause) {
      const failure = asFailure(cause)
      notify("failed", `${failure.message} ${failure.toDo}`)
    } finally {
      setRunning(false)
      setOpen(null)
    }
  }
  const setDisabled = (disabled: boolean) =>
    run(
      `“${record.name}” is ${disabled ? "disabled" : "active again"}.`,
      () => call(path, { method: "PATCH", body: { disabled } }),
      changed,
    )
  return (
    <Panel title="Do with it">
      <div class="actions">
        <button type="button" class="button" onClick={() => setOpen("rotate")}>
          Rotate the secret
        </button>
        {record.disabled ? (
          <button type="button" class="button" disabled={isRunning} onClick={() => void setDisabled(false)}>
            Enable
          </button>
        ) : (
          <button type="button" class="button" onClick={() => setOpen("disable")}>
            Disable
          </button>
        )}
        <button type="button" class="button button-bad" onClick={() => setOpen("remove")}>
          Delete
        </button>
      </div>
      {open === "rotate" ? <Rotate record={record} close={() => setOpen(null)} changed={changed} /> : null}
      {open === "disable" ? (
        <Confirm
          title={`Disable “${record.name}”?`}
          action="Disable the key"
          isRunning={isRunning}
          confirm={() => void setDisabled(true)}
          close={() => setOpen(null)}
        >
          Its running requests end at once, and it is refused until it is enabled again. Sessions that were begun with
          it end.
        </Confirm>
      ) : null}
      {open === "remove" ? (
        <Confirm
          title={`Delete “${record.name}”?`}
          action="Delete the key"
          isRunning={isRunning}
          confirm={() =>
            void run(
              `“${record.name}” is deleted.`,
              () => call(path, { method: "DELETE" }),
              () => go(href("/keys")),
            )
          }
          close={() => setOpen(null)}
        >
          Its running requests end at once, and it is never accepted again. Its rows stay in the ledger.
        </Confirm>
      ) : null}
    </Panel>
  )
}

const Rotate = (props: { readonly record: Key; readonly close: () => void; readonly changed: () => void }) => {
  const [overlap, setOverlap] = useState<(typeof overlaps)[number]["value"]>("86400")
  const [made, setMade] = useState<MadeKey | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [isRunning, setRunning] = useState(false)
  const rotate = async () => {
    setRunning(true)
    setFailure(null)
    try {
      setMade(
        await call<MadeKey>(`/keys/${encodeURIComponent(props.record.hash)}/rotate`, {
          method: "POST",
          body: { overlap_s: Number(overlap) },
        }),
      )
    } catch (cause) {
      setFailure(asFailure(cause))
    } finally {
      setRunning(false)
    }
  }
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
