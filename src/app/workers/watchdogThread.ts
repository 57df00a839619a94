/** The thread of `watchdog.ts`. It uses nothing of the main thread, since that is blocked when this one has to act. */

import { place } from "../../plugin/checks/running.ts"
import { endProcess } from "../../plugin/loading/endProcess.ts"

/** What to watch: the first message. */
export interface Watching {
  readonly shared: Int32Array
  readonly beatMs: number
  readonly mostMissed: number
  readonly fields: Readonly<Record<string, string | number>>
}

/** The name of a hook: all further messages. */
export interface Named {
  readonly name: string
  readonly number: number
}

declare const self: Worker

const names = new Map<number, string>()

self.onmessage = ({ data }: MessageEvent<Watching | Named>) => {
  if ("name" in data) names.set(data.number, data.name)
  else watch(data)
}

const watch = ({ shared, beatMs, mostMissed, fields }: Watching): void => {
  let beat = Atomics.load(shared, place.beat)
  let missed = 0
  let looked = performance.now()
  // Checks are counted, not time, which also passes while the machine sleeps or the process is stopped.
  setInterval(() => {
    const now = performance.now()
    const wasLate = now - looked > 5 * beatMs
    looked = now
    const last = beat
    beat = Atomics.load(shared, place.beat)
    // This thread did not run either: the machine slept, or is too busy to judge by.
    missed = beat !== last || wasLate ? 0 : missed + 1
    if (missed === mostMissed) void endProcess(70, lineOf(shared, missed * beatMs, fields))
  }, beatMs)
}

/** In the form of the log (`logger.ts`). */
const lineOf = (shared: Int32Array, blockedMs: number, fields: Watching["fields"]): string => {
  const hook = names.get(Atomics.load(shared, place.hook))
  const begun = names.get(Atomics.load(shared, place.begun))
  const what = hook === undefined ? "no hook of a plugin runs" : `plugin ${hook}`
  const message = `${what}: the process has been blocked for ${blockedMs / 1000} seconds; the gateway ends`
  const all = {
    timestamp: new Date().toISOString(),
    level: "FATAL",
    fiber: "#0",
    message: JSON.stringify(message),
    ...(hook === undefined ? {} : { hook }),
    // It may go on now, between other work.
    ...(hook !== undefined || begun === undefined ? {} : { lastAsynchronousHook: begun }),
    ...fields,
  }
  return `${Object.entries(all)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")}\n`
}
