/** Keys page by page. */
import { useEffect, useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../../api/ApiFailure.ts"
import { data } from "../../api/call.ts"
import type { Key } from "../../api/keyTypes.ts"
import { signIns } from "../../state/session.ts"

const pageKeys = 100

interface Listed {
  readonly keys: ReadonlyArray<Key>
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly failure: ApiFailure | null
}

/** `query`: parameters of `GET /keys`. */
export const useKeys = (query: Readonly<Record<string, string | null>>) => {
  const question = JSON.stringify(query)
  const [listed, setListed] = useState<Listed>({ keys: [], hasMore: false, isLoading: true, failure: null })
  const signedIn = signIns.value
  const load = async (before: ReadonlyArray<Key>, signal: AbortSignal) => {
    setListed((last) => ({ ...last, isLoading: true, failure: null }))
    try {
      const page = await data<ReadonlyArray<Key>>("/keys", {
        query: { ...query, offset: before.length, limit: pageKeys, include_disabled: "true" },
        signal,
      })
      if (signal.aborted) return
      setListed({ keys: [...before, ...page], hasMore: page.length === pageKeys, isLoading: false, failure: null })
    } catch (cause) {
      if (!signal.aborted) setListed((last) => ({ ...last, isLoading: false, failure: asFailure(cause) }))
    }
  }
  useEffect(() => {
    const abort = new AbortController()
    setListed({ keys: [], hasMore: false, isLoading: true, failure: null })
    void load([], abort.signal)
    return () => abort.abort()
  }, [question, signedIn])
  return { ...listed, more: () => void load(listed.keys, new AbortController().signal) }
}
