/** Whether this machine or process has run out of something that every call needs. */
import { closeSync, openSync } from "node:fs"
import { devNull } from "node:os"

/** No descriptors of the process or the machine, no memory, no buffers, no local ports. */
const codes: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"])

const isShort = (cause: unknown): boolean => cause instanceof Error && "code" in cause && codes.has(cause.code)

/**
 * Whether a connection could not be opened because of us. Without descriptors the runtime (Bun 1.4.5) says ECONNREFUSED, and its
 * resolver ENOTFOUND, so one is opened to see whether there are any. Called for failures alone.
 */
export const isShortage = (cause: unknown): boolean => {
  for (let at = cause; at instanceof Error; at = at.cause) if (isShort(at)) return true
  try {
    closeSync(openSync(devNull, "r"))
    return false
  } catch (found) {
    return isShort(found)
  }
}
