/**
 * Opens files outside SQLite. It refuses a file that this process has open. Closing any descriptor of a file drops
 * every lock that the process, in any thread, holds on it. The next program then believes that it is alone with the
 * database, and removes the journal under the gateway (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 * `test/docs/databaseFiles.test.ts` fails on any other module that opens such a file.
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

/** Opens a file for reading. Rejects if the file system does, or if this process has the file open. */
export const openClosed = async (path: string): Promise<FileHandle> => {
  expectClosed(path)
  return open(path, "r")
}

/** Makes the content of a file durable, or the names in a folder. Throws for the same reasons as `openClosed`. */
export const syncClosed = (path: string): void => {
  expectClosed(path)
  const file = openSync(path, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Copies a file to an unused name. Throws for the same reasons as `openClosed`. */
export const copyClosed = (from: string, to: string): void => {
  expectClosed(from)
  copyFileSync(from, to, constants.COPYFILE_EXCL)
}

/** Throws if this process has the file open under any name. Does nothing if its open files cannot be listed. */
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
    throw new Error(`${path} is open in this process, and closing a second descriptor would drop its locks`)
}

/** Whether a process does not have the file at `path` open; `undefined`: its open files cannot be listed. */
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

/** Empty: they cannot be listed (no `/proc`, or no permission). */
const descriptorsOf = (pid: number): ReadonlyArray<string> => {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return []
  }
}
