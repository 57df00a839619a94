/** Rotating, disabling and deleting a key. */
import { useState } from "preact/hooks"
import { asFailure } from "../../api/ApiFailure.ts"
import { call } from "../../api/call.ts"
import type { Key } from "../../api/keyTypes.ts"
import { Confirm } from "../../components/Dialog.tsx"
import { Panel } from "../../components/layout.tsx"
import { notify } from "../../state/notices.ts"
import { go, href } from "../../state/router.ts"
import { Rotate } from "./Rotate.tsx"

type Open = "rotate" | "disable" | "remove" | null

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
