/** Sign-in, or the shell with a view in it. */
import { Failed, Waiting } from "../components/Shown.tsx"
import { askSession, sessionState } from "../state/session.ts"
import { Notices } from "./Notices.tsx"
import { Shell } from "./Shell.tsx"
import { SignIn } from "./SignIn.tsx"

const Content = () => {
  const state = sessionState.value
  if (state.is === "asking") {
    return (
      <main class="alone">
        <Waiting words="Asking the gateway who is signed in …" />
      </main>
    )
  }
  if (state.is === "unreachable") {
    return (
      <main class="alone">
        <Failed what="The gateway cannot be asked" failure={state.failure} retry={() => void askSession()} />
      </main>
    )
  }
  const kept = state.is === "in" ? state.session : state.ended
  return (
    <>
      {kept === null ? null : <Shell key={kept.hash} isBeneath={state.is === "out"} />}
      {state.is === "out" ? <SignIn ended={state.ended} /> : null}
    </>
  )
}

export const App = () => (
  <>
    <Content />
    <Notices />
  </>
)
