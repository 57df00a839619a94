/** Requests page by page. A page may have fewer rows than asked for, and none, while there are more behind it. */
import { useEffect, useRef, useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../../api/ApiFailure.ts"
import { call } from "../../api/call.ts"
import type { RequestPage, RequestRow } from "../../api/types.ts"
import type { Parameters } from "../../lib/address.ts"
import { signIns } from "../../state/session.ts"

export interface Pages {
  readonly rows: ReadonlyArray<RequestRow>
  /** `null`: nothing was asked yet. */
  readonly next: string | null
  readonly isLoading: boolean
  readonly failure: ApiFailure | null
  readonly isStarted: boolean
}

/** Rows of one step: enough to fill the table, few enough to be there at once. */
const stepRows = 200

/** Empty pages that one step looks through. */
const mostEmpty = 20

const nothing: Pages = { rows: [], next: null, isLoading: true, failure: null, isStarted: false }

/** Asks for pages until there are rows. */
const step = async (query: Parameters, after: string | null, signal: AbortSignal): Promise<RequestPage> => {
  let next = after
  for (let tries = 0; ; tries += 1) {
    const page = await call<RequestPage>("/requests", { query: { ...query, after: next, limit: stepRows }, signal })
    if (page.data.length > 0 || page.next === null || tries === mostEmpty) return page
    next = page.next
  }
}

export const usePages = (query: Parameters): Pages & { readonly more: () => void; readonly reload: () => void } => {
  const question = JSON.stringify(query)
  const [state, setState] = useState(nothing)
  const [round, setRound] = useState(0)
  const running = useRef<AbortController | null>(null)
  const signedIn = signIns.value

  const load = async (after: string | null, before: ReadonlyArray<RequestRow>) => {
    running.current?.abort()
    const abort = new AbortController()
    running.current = abort
    setState((last) => ({ ...last, isLoading: true, failure: null }))
    try {
      const page = await step(query, after, abort.signal)
      if (abort.signal.aborted) return
      setState({ rows: [...before, ...page.data], next: page.next, isLoading: false, failure: null, isStarted: true })
    } catch (cause) {
      if (abort.signal.aborted) return
      setState((last) => ({ ...last, isLoading: false, failure: asFailure(cause) }))
    }
  }

  useEffect(() => {
    setState(nothing)
    void load(null, [])
    return () => running.current?.abort()
  }, [question, round, signedIn])

  return {
    ...state,
    more: () => void load(state.next, state.rows),
    reload: () => setRound((last) => last + 1),
  }
}
