/** Says on standard error what is running, for work that takes longer than a second. */
import * as Effect from "effect/Effect"
import { ProgressLine, patienceMs, watched } from "./line.ts"
import type { Beginning } from "./thread.ts"

/** Says which part is running now. */
export type Say = (part: string) => void

const isTerminal = (): boolean => process.stderr.isTTY === true

/** For work that leaves this thread to others while it waits. */
export const withProgress = <A, E, R>(
  name: string,
  work: (say: Say) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const line = new ProgressLine(name, isTerminal(), (text) => process.stderr.write(text))
      return { line, end: watched(line, isTerminal()) }
    }),
    ({ line }) => work((part) => line.say(part)),
    ({ end }) => Effect.sync(end),
  )

/** For work that blocks this thread, such as reading a SQLite file: another thread says that it is running. */
export const withProgressBeside = <A, E, R>(name: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const since = performance.now()
      const thread = new Worker(new URL("./thread.ts", import.meta.url), { ref: false })
      thread.postMessage({ name, isTerminal: isTerminal() } satisfies Beginning)
      return { thread, since }
    }),
    () => work,
    ({ thread, since }) =>
      Effect.promise(async () => {
        // Nothing was said yet, and nothing will be.
        if (performance.now() - since < patienceMs) return thread.terminate()
        const { promise, resolve } = Promise.withResolvers<void>()
        thread.addEventListener("message", () => resolve())
        thread.addEventListener("close", () => resolve())
        thread.ref()
        thread.postMessage(null)
        await promise
        thread.terminate()
      }),
  )
