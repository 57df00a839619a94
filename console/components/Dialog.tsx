/** A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus goes back to where it was. */
import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"

interface Props {
  readonly title: string
  readonly close: () => void
  readonly children: ComponentChildren
}

/** The focus goes back to what opened the dialog, or to the heading of the view where that is gone. */
const giveBack = (opener: Element | null): void => {
  const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body
  const target = isThere ? opener : document.querySelector<HTMLElement>("main h1")
  target?.focus({ preventScroll: true })
}

export const Dialog = ({ title, close, children }: Props) => {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      giveBack(opener)
    }
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
