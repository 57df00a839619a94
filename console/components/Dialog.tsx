/** A modal dialog: the browser keeps the focus in it, and Escape closes it. */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"

interface Props {
  readonly title: string
  readonly close: () => void
  readonly children: ComponentChildren
}

export const Dialog = ({ title, close, children }: Props) => {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  readonly children: ComponentChildren
  /** What the button does: "Stop the request". */
  readonly action: string
  readonly isRunning?: boolean
  readonly confirm: () => void
  readonly close: () => void
}

/** Asks before something that cannot be undone. */
export const Confirm = ({ title, children, action, isRunning = false, confirm, close }: ConfirmProps) => (
  <Dialog title={title} close={close}>
    <div class="dialog-text">{children}</div>
    <div class="dialog-actions">
      <button type="button" class="button" onClick={close}>
        Cancel
      </button>
      <button type="button" class="button button-bad" disabled={isRunning} onClick={confirm}>
        {action}
      </button>
    </div>
  </Dialog>
)
