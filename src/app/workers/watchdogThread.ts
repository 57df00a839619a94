/** The thread of `watchdog.ts`. It uses nothing of the main thread, since that is blocked when this one has to act. */

import { processEvents } from "../../domain/log/processEvents.ts"
import { place } from "../../plugin/checks/running.ts"
import { endProcess } from "../../plugin/loading/endProcess.ts"
import { type LogFormat, writerOf } from "../../process/log/formats.ts"
import type { Line } from "../../process/log/Line.ts"
import { OwnTime } from "../../process/mainThread.ts"

/** What to watch: the first message. */
export interface Watching {
  readonly shared: Int32Array
  readonly beatMs: number
  readonly mostMissed: number
  readonly fields: Readonly<Record<string, string | number>>
  readonly format: LogFormat
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

const watch = ({ shared, beatMs, mostMissed, fields, format }: Watching): void => {
  let beat = Atomics.load(shared, place.beat)
  let blockedMs = 0
  const ownTime = new OwnTime(process.pid)
  let looked = performance.now()
  // Checks are counted, not time, which also passes while the machine sleeps or the process is stopped.
  setInterval(() => {
    const now = performance.now()
    const wasLate = now - looked > 5 * beatMs
    looked = now
    const last = beat
    beat = Atomics.load(shared, place.beat)
    const own = ownTime.of(beatMs)
    // This thread did not run either: the machine slept, or is too busy to judge by.
    blockedMs = beat !== last || wasLate ? 0 : blockedMs + own
    if (blockedMs > (mostMissed - 0.5) * beatMs) {
      blockedMs = Number.NEGATIVE_INFINITY
      void endProcess(70, `${writerOf(format, false)(lineOf(shared, mostMissed * beatMs, fields))}\n`)
    }
  }, beatMs)
}

const lineOf = (shared: Int32Array, blockedMs: number, fields: Watching["fields"]): Line => {
  const hook = names.get(Atomics.load(shared, place.hook))
  const begun = names.get(Atomics.load(shared, place.begun))
  const what = hook === undefined ? "no hook of a plugin runs" : `plugin ${hook}`
  const about = {
    ...(hook === undefined ? {} : { hook }),
    // It began before and waits for something, so it may have gone on just now.
    ...(hook !== undefined || begun === undefined ? {} : { last_asynchronous_hook: begun }),
    ...fields,
  }
  return {
    time: new Date(),
    level: processEvents.blocked.level,
    event: "blocked",
    message: `${what}: the process has been blocked for ${blockedMs / 1000} seconds; the gateway ends`,
    fields: new Map(Object.entries(about)),
    cause: "",
  }
}
