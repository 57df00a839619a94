/** Signing in with a key. Over a view whose session has ended it is a dialog, and the view stays beneath with what was typed in it. */
import { useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../api/ApiFailure.ts"
import type { Session } from "../api/types.ts"
import { Dialog } from "../components/Dialog.tsx"
import { TextField } from "../components/fields.tsx"
import { sessionState, signIn } from "../state/session.ts"
import { Mark } from "./Mark.tsx"

const Form = () => {
  const [key, setKey] = useState("")
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [isRunning, setRunning] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const typed = key.trim()
    setFailure(null)
    if (typed === "") {
      setError("Paste a key: it begins with sk-.")
      return
    }
    setError(null)
    setRunning(true)
    try {
      await signIn(typed)
    } catch (cause) {
      const failed = asFailure(cause)
      if (failed.status === 401) setError("The gateway does not know this key, or it is disabled or has expired.")
      else setFailure(failed)
    } finally {
      setRunning(false)
    }
  }
  return (
    <form class="sign-in-form" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Key"
        value={key}
        change={setKey}
        error={error}
        hint="The management key shows the whole gateway. Any other key shows its own requests, spend and limits."
        input={{
          type: "password",
          name: "key",
          autocomplete: "off",
          autocapitalize: "off",
          spellcheck: false,
          placeholder: "sk-…",
          hasFocus: true,
        }}
      />
      {failure === null ? null : (
        <div class="failed" role="alert">
          <p>{failure.message}</p>
          {/* The API says itself what to do about a connection that it refuses. */}
          {failure.status === 403 ? null : <p class="muted">{failure.toDo}</p>}
        </div>
      )}
      <button type="submit" class="button button-main" disabled={isRunning}>
        {isRunning ? "Signing in …" : "Sign in"}
      </button>
    </form>
  )
}

const About = () => (
  <ul class="sign-in-about muted small">
    <li>The key is sent once, and kept neither in this browser nor in an address.</li>
    <li>The browser gets a session that ends after 8 hours, after 30 minutes without use, and with the key.</li>
    <li>
      The first management key was shown when the gateway first started; <code>headgate keys --help</code> has the
      commands for others.
    </li>
  </ul>
)

export const SignIn = ({ ended }: { readonly ended: Session | null }) => {
  if (ended !== null) {
    const leave = () => {
      sessionState.value = { is: "out", ended: null }
    }
    return (
      <Dialog title="Your session has ended" close={leave}>
        <p class="dialog-text">
          Sign in as “{ended.name}” to go on where you were: what you typed is still there. With another key the page
          begins anew.
        </p>
        <Form />
        <button type="button" class="button" onClick={leave}>
          Leave this page
        </button>
      </Dialog>
    )
  }
  return (
    <main class="sign-in">
      <div class="sign-in-box">
        <Mark />
        <h1>Sign in to this gateway</h1>
        <Form />
        <About />
      </div>
    </main>
  )
}
