/** Ends the process from a worker thread while the main thread is blocked. */
import { writeSync } from "node:fs"

/** Seconds until the process is ended by SIGALRM, if the write blocks because nobody reads standard error. */
const writeWithin = 2

/**
 * Writes the line to standard error, and ends the process with this exit code. It calls `_exit` of the C library: `process.exit` in a worker
 * thread ends that thread alone, and after a signal the exit code would not say what happened.
 */
export const endProcess = async (code: number, line: string): Promise<void> => {
  // Imported only here, since nothing else needs it.
  const { dlopen } = await import("bun:ffi")
  for (const libc of ["libc.so.6", "libSystem.B.dylib"]) {
    try {
      const { symbols } = dlopen(libc, {
        alarm: { args: ["u32"], returns: "u32" },
        _exit: { args: ["i32"], returns: "void" },
      })
      symbols.alarm(writeWithin)
      write(line)
      symbols._exit(code)
    } catch {
      // Another system's library.
    }
  }
  write(line)
  process.kill(process.pid, "SIGKILL")
}

const write = (line: string): void => {
  try {
    writeSync(2, line)
  } catch {
    // Its reader has gone, or does not read.
  }
}
