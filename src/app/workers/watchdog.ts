/**
 * Watches the event loop of a serving process from a thread of its own. Code that never ends blocks every request, and the process cannot
 * even log it. So the thread logs which hook of a plugin was running, and ends the process.
 * docs/decisions/0047-the-watchdog.md
 */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { followNames, place, shared } from "../../plugin/checks/running.ts"
import { formatFor, thisPlace } from "../../process/log/chooseFormat.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { Watching } from "./watchdogThread.ts"

/** Milliseconds between two heartbeats of the event loop, and between two checks of them by the thread. */
export const beatMs = 1000

/** The process is ended after so many checks in a row without a heartbeat. */
const mostMissed = 10

/** Whether a debugger may hold the event loop for any time, while the thread runs on. */
export const isDebugged = (): boolean =>
  process.execArgv.some((word) => word.startsWith("--inspect")) || (process.env["BUN_INSPECT"] ?? "") !== ""

/** `fields`: added to the line that the thread logs. `onBeat`: called at each heartbeat. The watchdog ends with the process. */
export const watchEventLoop = (
  fields: Readonly<Record<string, string | number>>,
  onBeat: () => void,
): Effect.Effect<void> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    setInterval(() => {
      shared[place.beat] = ((shared[place.beat] ?? 0) + 1) | 0
      onBeat()
    }, beatMs).unref()
    if (isDebugged()) return
    const thread = new Worker(new URL("./watchdogThread.ts", import.meta.url), { ref: false })
    // Without it the gateway works, and is not watched.
    thread.addEventListener("error", ({ message }) => {
      Runtime.runFork(runtime)(logEvent("watchdog_failed", { because: message }))
    })
    const format = formatFor(thisPlace())
    thread.postMessage({ shared, beatMs, mostMissed, fields, format } satisfies Watching)
    followNames((name, number) => thread.postMessage({ name, number }))
  })
