/** The thread of `importWatch.ts`. It needs nothing of the main thread, which is blocked when this one has work to do. */
import { endProcess } from "./endProcess.ts"

export interface WatchMessage {
  /** What the main thread is importing; `null`: nothing. */
  readonly path: string | null
  /** How long that may take, milliseconds. */
  readonly limitMs: number
  /** Of a configuration, which is no plugin: what the process says and ends with. */
  readonly instead?: { readonly line: string; readonly code: number }
}

declare const self: Worker

let timer: ReturnType<typeof setTimeout> | undefined

self.onmessage = ({ data: { path, limitMs, instead } }: MessageEvent<WatchMessage>) => {
  clearTimeout(timer)
  if (path === null) return
  timer = setTimeout(() => {
    const line = `plugin ${path}: import: it has blocked the process for ${limitMs / 1000} seconds; the gateway ends\n`
    void endProcess(instead?.code ?? 70, instead?.line ?? line)
  }, limitMs)
}
