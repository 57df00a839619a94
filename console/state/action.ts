/** Something that a view asks the API to do once, such as a change that is saved. */
import { useState } from "preact/hooks"
import { type ApiFailure, asFailure } from "../api/ApiFailure.ts"

export interface Action {
  readonly isRunning: boolean
  /** Why the latest try failed; `null` while it runs, and after one that succeeded. */
  readonly failure: ApiFailure | null
  /** Never throws: what `act` throws becomes `failure`. */
  readonly run: (act: () => Promise<void>) => Promise<void>
}

export const useAction = (): Action => {
  const [isRunning, setRunning] = useState(false)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const run = async (act: () => Promise<void>) => {
    setRunning(true)
    setFailure(null)
    try {
      await act()
    } catch (cause) {
      setFailure(asFailure(cause))
    } finally {
      setRunning(false)
    }
  }
  return { isRunning, failure, run }
}
