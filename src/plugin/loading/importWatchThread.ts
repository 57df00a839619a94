/**
 * The thread of `importWatch.ts`. It needs nothing of the main thread, which is blocked when this one has work to do.
 */
import { OwnTime } from "../../process/mainThread.ts"
import { endProcess } from "./endProcess.ts"

export interface WatchMessage {
  /** What the main thread is importing; `null`: nothing. */
  readonly path: string | null
  /** How long that may take, milliseconds of the main thread's own time (`OwnTime`). */
  readonly limitMs: number
  /** Of a configuration, which is no plugin: what the process says and ends with. */
  readonly instead?: { readonly line: string; readonly code: number }
}

declare const self: Worker

let timer: ReturnType<typeof setTimeout> | undefined

self.onmessage = ({ data: { path, limitMs, instead } }: MessageEvent<WatchMessage>) => {
  clearTimeout(timer)
  if (path === null) return
  const line = `plugin ${path}: import: it has blocked the process for ${limitMs / 1000} seconds; the gateway ends\n`
  const ownTime = new OwnTime(process.pid)
  const waitFor = (ms: number): void => {
    const step = Math.min(ms, mostMs)
    timer = setTimeout(() => {
      const left = ms - ownTime.of(step)
      if (left > leastMs) waitFor(left)
      else void endProcess(instead?.code ?? 70, instead?.line ?? line)
    }, step)
  }
  waitFor(limitMs)
}

/** Between two looks at the main thread's own time, which is exact to as much. */
const mostMs = 1000

/** Less is not worth another look. */
const leastMs = 50
