/** How much space a disk has. */
import { statfs } from "node:fs/promises"
import * as Effect from "effect/Effect"

export interface DiskSpace {
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * The space on the disk of `folder`; `null`: unknown. The folder may not exist yet, and a network disk may not
 * answer.
 */
export const diskSpaceAt = (folder: string): Effect.Effect<DiskSpace | null> => {
  const read = Effect.map(
    Effect.tryPromise(() => statfs(folder)),
    ({ bavail, bsize, blocks }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }),
  )
  return Effect.orElseSucceed(Effect.timeout(read, "2 seconds"), () => null)
}
