/** Says on standard error what is running, for work that takes longer than a second. */
import * as Effect from "effect/Effect"
import { ProgressLine, patienceMs } from "./ProgressLine.ts"
import type { Doing } from "./progressThread.ts"

/** Says what is done now. */
export type Say = (what: string) => void

const isTerminal = (): boolean => process.stderr.isTTY === true

/** For work that leaves this thread to others while it waits. Nothing is shown of work that says nothing. */
export const withProgress = <A, E, R>(work: (say: Say) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => new ProgressLine(isTerminal(), (text) => process.stderr.write(text))),
    (line) => work((what) => line.say(what)),
    (line) => Effect.sync(() => line.end()),
  )

/** The same for work that blocks this thread, such as reading a SQLite file: another thread says that it is running. */
export const withProgressBeside = <A, E, R>(work: (say: Say) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => ({
      thread: new Worker(new URL("./progressThread.ts", import.meta.url), { ref: false }),
      since: performance.now(),
    })),
    ({ thread }) => work((what) => thread.postMessage({ what, isTerminal: isTerminal() } satisfies Doing)),
    ({ thread, since }) =>
      Effect.promise(async () => {
        // Nothing was shown.
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
