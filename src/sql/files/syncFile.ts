import { closeSync, fsyncSync, openSync } from "node:fs"

/** Makes the content of a file durable; of a folder, the names in it. Throws as the file system does. */
export const syncFile = (path: string): void => {
  const file = openSync(path, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
