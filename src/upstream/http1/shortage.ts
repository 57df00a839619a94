/** Whether the process or the machine has run out of what every call needs: descriptors, memory, ports. */
import { closeSync, openSync } from "node:fs"
import { devNull } from "node:os"

/** No descriptors of the process or the machine, no memory, no buffers, no local ports. */
const codes: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"])

const isShort = (cause: unknown): boolean => cause instanceof Error && "code" in cause && codes.has(cause.code)

/**
 * Whether a connection could not be opened for want of such. Without descriptors the runtime (Bun 1.4.5) reports ECONNREFUSED, and its
 * resolver ENOTFOUND, so a file is opened to find out. Called only after a failure.
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
