/**
 * Standard error without waiting for its reader. A pipe and a terminal are opened a second time, without blocking: the flag on the given
 * descriptor would hold for every process that shares it. A socket, as a service manager gives one, cannot be opened again, nor can a
 * pipe of another user, so a thread of the runtime writes there. A file is written at once.
 */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from "node:fs"
import type { Outlet } from "./LineWriter.ts"

const standardError = 2

export const openStandardError = (): Outlet => {
  const kind = kindOf(standardError)
  // Another descriptor of a file would have a place of its own in it, and what is printed would be written over the log.
  if (kind === "file") return direct(standardError, () => {})
  const own = kind === "socket" ? undefined : openedAgain()
  return own === undefined ? byThread : direct(own, () => closeSync(own))
}

const kindOf = (descriptor: number): "file" | "socket" | "other" => {
  try {
    const stat = fstatSync(descriptor)
    if (stat.isFile()) return "file"
    return stat.isSocket() ? "socket" : "other"
  } catch {
    // It was closed by whoever started the process.
    return "other"
  }
}

/** `undefined`: it cannot be, or this is not Linux. */
const openedAgain = (): number | undefined => {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  try {
    return openSync(`/proc/self/fd/${standardError}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}

const direct = (descriptor: number, close: () => void): Outlet => ({
  write: (bytes, taken) => taken(writtenTo(descriptor, bytes)),
  close,
})

const writtenTo = (descriptor: number, bytes: Uint8Array): number => {
  try {
    return writeSync(descriptor, bytes)
  } catch (error) {
    return takenAfter(error)
  }
}

/** None now, where the reader is slow. */
const takenAfter = (error: unknown): number =>
  error instanceof Error && "code" in error && error.code === "EAGAIN" ? 0 : -1

const byThread: Outlet = {
  write: (bytes, taken) =>
    write(standardError, bytes, (error, written) => taken(error instanceof Error ? takenAfter(error) : written)),
  close: () => {},
}
