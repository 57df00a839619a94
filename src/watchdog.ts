/**
 * Watches the event loop of a process that serves, from a thread of its own. Code that never ends blocks every request, and the
 * process could not even say so: the thread names the hook of the plugin that ran, and ends the process.
 * docs/decisions/0047-the-watchdog.md
 */
import * as Effect from "effect/Effect"
import { followNames, place, shared } from "./plugin/running.ts"
import type { Watching } from "./watchdogThread.ts"

/** Milliseconds between two heartbeats, and between two looks at them. */
export const beatMs = 1000

/** As many looks without a heartbeat end the process. */
const mostMissed = 10

/** A debugger stops this thread alone, for as long as somebody reads. */
export const isDebugged = (): boolean =>
  process.execArgv.some((word) => word.startsWith("--inspect")) || (process.env["BUN_INSPECT"] ?? "") !== ""

/** `fields`: added to the line that the thread writes. `onBeat`: called at each heartbeat. It ends with the process. */
export const watchEventLoop = (
  fields: Readonly<Record<string, string | number>>,
  onBeat: () => void,
): Effect.Effect<void> =>
  Effect.sync(() => {
    setInterval(() => {
      shared[place.beat] = ((shared[place.beat] ?? 0) + 1) | 0
      onBeat()
    }, beatMs).unref()
    if (isDebugged()) return
    const thread = new Worker(new URL("./watchdogThread.ts", import.meta.url), { ref: false })
    // Without it the gateway works, and is not watched.
    thread.addEventListener("error", ({ message }) => {
      process.stderr.write(`the watchdog has failed: ${message}\n`)
    })
    thread.postMessage({ shared, beatMs, mostMissed, fields } satisfies Watching)
    followNames((name, number) => thread.postMessage({ name, number }))
  })
