/** The thread of `importWatch.ts`. It needs nothing of the main thread, which is blocked when this one has work to do. */
import { writeSync } from "node:fs"

export interface WatchMessage {
  /** What the main thread is importing; `null`: nothing. */
  readonly path: string | null
  /** How long that may take, milliseconds. */
  readonly limitMs: number
}

declare const self: Worker

let timer: ReturnType<typeof setTimeout> | undefined

self.onmessage = ({ data: { path, limitMs } }: MessageEvent<WatchMessage>) => {
  clearTimeout(timer)
  if (path === null) return
  timer = setTimeout(() => {
    writeSync(2, `plugin ${path}: import: it has blocked the process for ${limitMs / 1000} seconds; the gateway ends\n`)
    void endProcess(70)
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
