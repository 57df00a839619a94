/**
 * The files of plugins as they are on the disk, to tell later whether they have changed: plugins are imported once, at start. Those that
 * come with the gateway are left out.
 */
import type { Dirent } from "node:fs"
import { readdir, realpath, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { Packages } from "./discover.ts"

/** Of one folder of plugins or one package. A plugin has a few; what has thousands is no plugin's code. */
const mostFiles = 2000

/** A text that is another one once a plugin was added, removed or changed. `ownFolder`: of the plugins that come with the gateway. */
export const pluginFiles = async (
  folders: ReadonlyArray<string>,
  packages: Packages,
  ownFolder: string,
): Promise<string> => {
  const own = await realOf(ownFolder)
  const found: Array<string> = []
  for (const folder of folders.map((each) => resolve(each))) {
    if ((await realOf(folder)) === own) continue
    for (const group of ["providers", "strategies"]) found.push(...(await filesIn(join(folder, group))))
  }
  for (const name of packages.names) {
    const entry = resolved(name, packages.from)
    found.push(name, ...(entry === undefined ? [] : await filesIn(dirname(entry))))
  }
  return found.join("\n")
}

const realOf = (path: string): Promise<string> => realpath(path).catch(() => resolve(path))

/** Where a package begins; `undefined`: it is not there. */
const resolved = (name: string, from: string): string | undefined => {
  try {
    return Bun.resolveSync(name, from)
  } catch {
    return undefined
  }
}

const isLookedAt = ({ name }: Dirent): boolean => name !== "node_modules" && !name.startsWith(".")

/** Paths, with the time and the size of each file. */
const filesIn = async (folder: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  const waiting = [folder]
  for (let at = 0; at < waiting.length && found.length < mostFiles; at++) {
    const path = waiting[at] ?? folder
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.filter(isLookedAt).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const inner = join(path, entry.name)
      const facts = await stat(inner).catch(() => undefined)
      if (facts?.isDirectory() === true) waiting.push(inner)
      found.push(facts?.isFile() === true ? `${inner} ${facts.mtimeMs} ${facts.size}` : inner)
    }
  }
  return found
}
