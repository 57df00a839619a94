/**
 * Reserved space beside the database: a file that is removed when the disk is full, so that the requests in flight can still be
 * booked. It is made again when there is space. Everything here blocks.
 */
import { closeSync, lstatSync, rmSync, statfsSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { createPrivateFile } from "../files/privateFile.ts"

export interface Ballast {
  /** Frees the space; whether there was any. */
  readonly release: () => boolean
  /** `false` from a release until the space is reserved again, which is tried every five seconds at most. */
  readonly isThere: () => boolean
}

const bytes = 16 * 1024 * 1024
const piece = 1024 * 1024
const tryEveryMs = 5000

/** Reserves space in a file beside `path`, unless the disk is nearly full already. */
export const makeBallast = (path: string): Ballast => {
  const file = `${path}.ballast`
  // A link in its place, whatever it points to, reserves nothing.
  const sizeOf = () => {
    const found = lstatSync(file, { throwIfNoEntry: false })
    return found?.isFile() === true ? found.size : 0
  }
  const reserve = (): boolean => {
    try {
      if (sizeOf() === bytes) return true
      const { bavail, bsize } = statfsSync(dirname(path))
      // The requests in flight must not run out of space because of it.
      if (bavail * bsize < 2 * bytes) return false
      // Made anew, and never through a link that somebody has put there: it would be written over what the link points to.
      rmSync(file, { force: true })
      const handle = createPrivateFile(file)
      try {
        // Written, since a file with a hole has no space.
        for (let at = 0; at < bytes; at += piece) writeSync(handle, new Uint8Array(piece), 0, piece, at)
      } finally {
        closeSync(handle)
      }
      return true
    } catch {
      rmSync(file, { force: true })
      return false
    }
  }

  reserve()
  /** Since when it is gone; `undefined`: it was not released. */
  let triedAt: number | undefined
  return {
    release: () => {
      const had = sizeOf() > 0
      try {
        rmSync(file, { force: true })
      } catch {
        return false
      }
      if (had) triedAt = performance.now()
      return had
    },
    isThere: () => {
      if (triedAt === undefined) return true
      if (performance.now() - triedAt < tryEveryMs) return false
      triedAt = reserve() ? undefined : performance.now()
      return triedAt === undefined
    },
  }
}
