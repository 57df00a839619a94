/** Who is signed in. */
import { computed, signal } from "@preact/signals"
import { type ApiFailure, asFailure } from "../api/ApiFailure.ts"
import { call, data, sessionsEnded } from "../api/call.ts"
import type { Role, Session } from "../api/types.ts"

type State =
  | { readonly is: "asking" }
  | { readonly is: "unreachable"; readonly failure: ApiFailure }
  /** `ended`: there was a session, whose view is still there beneath the sign-in. */
  | { readonly is: "out"; readonly ended: Session | null }
  | { readonly is: "in"; readonly session: Session }

export const sessionState = signal<State>({ is: "asking" })

/** The session, also the one that has just ended and whose view is kept. */
export const session = computed<Session | null>(() => {
  const state = sessionState.value
  return state.is === "in" ? state.session : state.is === "out" ? state.ended : null
})

/** How often somebody has signed in: queries that failed ask again when it changes. */
export const signIns = signal(0)

const ranks: Readonly<Record<Role, number>> = { read: 0, keys: 1, all: 2 }

/** Whether the session has `role` or one that may do more. The API decides; this is for what to show. */
export const may = (role: Role): boolean => {
  const current = session.value?.role ?? null
  return current !== null && ranks[current] >= ranks[role]
}

export const isManagement = computed(() => session.value?.kind === "management")

/** Asks the gateway whether the browser has a session. */
export const askSession = async (): Promise<void> => {
  try {
    const found = await data<Session | null>("/session", { isSigningIn: true })
    sessionState.value = found === null ? { is: "out", ended: null } : { is: "in", session: found }
  } catch (cause) {
    const failure = asFailure(cause)
    sessionState.value = failure.status === 401 ? { is: "out", ended: null } : { is: "unreachable", failure }
  }
}

/** Throws `ApiFailure`. The key is in the body of one request and nowhere else. */
export const signIn = async (key: string): Promise<void> => {
  const next = await data<Session>("/session", { method: "POST", body: { key }, isSigningIn: true })
  sessionState.value = { is: "in", session: next }
  signIns.value++
}

/** Throws `ApiFailure`. */
export const signOut = async (): Promise<void> => {
  try {
    await call("/session", { method: "DELETE", isSigningIn: true })
  } catch (cause) {
    if (asFailure(cause).status !== 401) throw cause
  }
  sessionState.value = { is: "out", ended: null }
}

/** Shows the sign-in over the view when an answer says that the session is over. Called once, at the start. */
export const followSession = (): void => {
  sessionsEnded.subscribe((times) => {
    const state = sessionState.peek()
    if (times > 0 && state.is === "in") sessionState.value = { is: "out", ended: state.session }
  })
}
