/**
 * Opens files outside SQLite, which only a file may be that this process does not have open. Closing any descriptor of a file drops
 * every lock that the process, in whatever thread, holds on it: the next program believes that it is alone with the database, and
 * removes its journal under the gateway (https://www.sqlite.org/howtocorrupt.html, section 2.2). `test/docs/databaseFiles.test.ts`
 * keeps everything outside this folder from opening one.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  statSync,
} from "node:fs"
import { type FileHandle, open } from "node:fs/promises"

/** Opens a file to read it. Rejects as the file system does, and where this process has the file open. */
export const openClosed = async (path: string): Promise<FileHandle> => {
  expectClosed(path)
  return open(path, "r")
}

/** Makes the content of a file durable; of a folder, the names in it. Throws as `openClosed` rejects. */
export const syncClosed = (path: string): void => {
  expectClosed(path)
  const file = openSync(path, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Copies a file to a name that is free. Throws as `openClosed` rejects. */
export const copyClosed = (from: string, to: string): void => {
  expectClosed(from)
  copyFileSync(from, to, constants.COPYFILE_EXCL)
}

/** Throws where this process has the file open, by whatever name; not where its open files cannot be listed. */
const expectClosed = (path: string): void => {
  const { dev, ino } = statSync(path)
  const isIt = (descriptor: string): boolean => {
    try {
      const opened = fstatSync(Number(descriptor))
      return opened.dev === dev && opened.ino === ino
    } catch {
      return false
    }
  }
  if (descriptorsOf(process.pid).some(isIt))
    throw new Error(`${path} is open in this process, which would lose its locks on it`)
}

/** Whether a process has no file open that is at `path` now. `undefined`: its open files cannot be listed. */
export const lacksOpen = (pid: number, path: string): boolean | undefined => {
  const descriptors = descriptorsOf(pid)
  if (descriptors.length === 0) return undefined
  const targetOf = (descriptor: string): string => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`)
    } catch {
      return ""
    }
  }
  return !descriptors.some((descriptor) => targetOf(descriptor) === path)
}

/** None: they cannot be listed (no `/proc`, or no right). */
const descriptorsOf = (pid: number): ReadonlyArray<string> => {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return []
  }
}
