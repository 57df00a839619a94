import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"

/** Absolute, so that all names of a file share one lock. */
export const realPath = (path: string): string => {
  const absolute = resolve(path)
  return existsSync(absolute) ? realpathSync(absolute) : absolute
}
