/** Files and folders that only the user of the process may read, whatever its umask. Windows has no such modes. */
import { closeSync, lstatSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

export const privateMode = 0o600

/** Makes a folder and those above it that are absent, mode 0700. One that exists is left as it is. Throws as the file system does. */
export const makePrivateFolder = (path: string): void => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/** Creates a file with mode 0600 and opens it for writing. Throws if a file or a link with this name exists. */
export const createPrivateFile = (path: string): number => openSync(path, "wx", privateMode)

/**
 * Makes an empty file, mode 0600, for a program that would make it with the rights of the umask: SQLite gives its journals those of
 * the database. A file that exists is left as it is. Where none can be made, who opens it next is told why. Throws where a symbolic
 * link has the name: the program would write to where it points.
 */
export const makePrivateFile = (path: string): void => {
  try {
    closeSync(createPrivateFile(path))
  } catch {
    if (isLink(path)) throw new LinkInPlace(path)
  }
}

/** A symbolic link has the name of a file that the gateway keeps for itself. */
export class LinkInPlace extends Error {
  constructor(path: string) {
    super(`${path} is a symbolic link: remove it`)
  }
}

export const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/** Whether there is such a file and any user of this machine may read it: by its own mode and those of all folders above it. */
export const isReadableByAll = (path: string): boolean => {
  if (process.platform === "win32") return false
  const file = resolve(path)
  if (!allows(file, 0o004)) return false
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (!allows(folder, 0o001)) return false
    if (folder === dirname(folder)) return true
  }
}

const allows = (path: string, right: number): boolean => {
  try {
    return (statSync(path).mode & right) !== 0
  } catch {
    return false
  }
}
