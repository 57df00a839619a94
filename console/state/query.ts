/** What a view asks the API for: loading, failed or there, asked again when its question changes. */
import { useEffect, useRef, useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../api/ApiFailure.ts"
import { sessionState, signIns } from "./session.ts"

export interface Query<Answer> {
  /** The latest answer; the one to the question before while a new one is asked. `null` before the first. */
  readonly answer: Answer | null
  /** Why the latest try failed; `null` while it runs, and after one that succeeded. */
  readonly failure: ApiFailure | null
  readonly isLoading: boolean
  /** Asks again. */
  readonly reload: () => void
}

interface Options {
  /** Asks again this long after each answer, in milliseconds, while the page is visible. */
  readonly every?: number
}

interface State<Answer> {
  /** The one that the answer or the failure belongs to. */
  readonly question: string | null
  readonly answer: Answer | null
  readonly failure: ApiFailure | null
  readonly isLoading: boolean
}

/**
 * Asks by `ask` whenever `question` changes, and after signing in. `question` names all that the answer depends on; with `null` nothing is
 * asked. A question that is no longer the current one is aborted, and its answer dropped.
 */
export const useQuery = <Answer>(
  question: string | null,
  ask: (signal: AbortSignal) => Promise<Answer>,
  { every }: Options = {},
): Query<Answer> => {
  const [state, setState] = useState<State<Answer>>({
    question: null,
    answer: null,
    failure: null,
    isLoading: question !== null,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(ask)
  latest.current = ask
  const signedIn = signIns.value

  // A round and a sign-in ask the same question again.
  useEffect(() => {
    if (question === null) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const once = async () => {
      setState((last) => ({ ...last, isLoading: true }))
      try {
        const answer = await latest.current(abort.signal)
        if (!abort.signal.aborted) setState({ question, answer, failure: null, isLoading: false })
      } catch (cause) {
        if (!abort.signal.aborted) {
          // The answer to another question would pass for one to this.
          setState((last) => ({
            question,
            answer: last.question === question ? last.answer : null,
            failure: asFailure(cause),
            isLoading: false,
          }))
        }
      }
      if (every !== undefined && !abort.signal.aborted) timer = setTimeout(next, every)
    }
    const next = () => {
      // Whoever is signed out gets nothing but 401; signing in asks anew.
      if (document.visibilityState === "visible" && sessionState.peek().is === "in") void once()
      else timer = setTimeout(next, every)
    }
    void once()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [question, round, signedIn, every])

  return { ...state, reload: () => setRound((last) => last + 1) }
}
