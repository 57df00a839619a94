/** The answers of several models to one request, as they come. */
import { useEffect, useRef, useState } from "preact/hooks"
import { idle, type Run, run } from "./stream.ts"

export interface Runs {
  /** In the order of the bodies; empty before the first start. */
  readonly all: ReadonlyArray<Run>
  readonly isRunning: boolean
  /** Sends all bodies at once, and waits until all have ended. What still ran before is stopped. */
  readonly start: (secret: string, bodies: ReadonlyArray<Readonly<Record<string, unknown>>>) => Promise<void>
  readonly stop: () => void
  readonly remove: (at: number) => void
}

/** They are stopped when the view is left. */
export const useRuns = (): Runs => {
  const [all, setAll] = useState<ReadonlyArray<Run>>([])
  const running = useRef<AbortController | null>(null)
  const isLeft = useRef(false)
  const stop = () => running.current?.abort()
  useEffect(
    () => () => {
      isLeft.current = true
      stop()
    },
    [],
  )
  return {
    all,
    isRunning: all.some((one) => one.isRunning),
    start: async (secret, bodies) => {
      stop()
      if (isLeft.current) return
      const abort = new AbortController()
      running.current = abort
      setAll(bodies.map(() => ({ ...idle, isRunning: true })))
      const show = (at: number) => (next: Run) =>
        setAll((last) => last.map((one, place) => (place === at ? next : one)))
      await Promise.all(bodies.map((body, at) => run(secret, body, abort.signal, show(at))))
    },
    stop,
    remove: (at) => setAll((last) => last.toSpliced(at, 1)),
  }
}
