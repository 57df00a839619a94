/** How much room a disk has. */
import { statfs } from "node:fs/promises"
import * as Effect from "effect/Effect"

export interface DiskSpace {
  readonly freeBytes: number
  readonly totalBytes: number
}

/** Of the disk that has `folder`; `null`: not known. A folder may be made only when it is first needed, and a disk on the network may not answer. */
export const diskSpaceAt = (folder: string): Effect.Effect<DiskSpace | null> => {
  const read = Effect.map(
    Effect.tryPromise(() => statfs(folder)),
    ({ bavail, bsize, blocks }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }),
  )
  return Effect.orElseSucceed(Effect.timeout(read, "2 seconds"), () => null)
}
