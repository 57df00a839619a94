/** The thread of `importWatch.ts`. It needs nothing of the main thread, which is blocked when this one has work to do. */
import { writeSync } from "node:fs"

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
    writeSync(2, instead?.line ?? line)
    void endProcess(instead?.code ?? 70)
  }, limitMs)
}

/** In a worker `process.exit` ends the worker alone, and a signal's exit code would not say what happened. */
const endProcess = async (code: number): Promise<void> => {
  // Imported only here, since nothing else needs it.
  const { dlopen } = await import("bun:ffi")
  for (const libc of ["libc.so.6", "libSystem.B.dylib"]) {
    try {
      dlopen(libc, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit(code)
    } catch {
      // Another system's library.
    }
  }
  process.kill(process.pid, "SIGKILL")
}
