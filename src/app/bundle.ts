/**
 * Whether the bundle of the program was made from the sources that are there now. In a clone the bundle has a file beside it that says
 * from which; a released package has none, since nobody edits what is installed.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Folders and files that the bundle depends on. Dependencies change with `bun.lock`. */
const sources = ["src", "plugins", "package.json", "bun.lock", "scripts/bundle.ts"]

/** The path of the bundle in `root`, the folder of the package; `undefined` when there is none of these sources. */
export const bundleOf = (root: URL): string | undefined => {
  const file = fileURLToPath(new URL("bundle/program.js", root))
  const madeFrom = new URL("bundle/sources.json", root)
  try {
    return existsSync(file) && (!existsSync(madeFrom) || readFileSync(madeFrom, "utf8") === stateOf(root))
      ? file
      : undefined
  } catch {
    return undefined
  }
}

/** Runtime, names, sizes and times of change of all sources, in a text. */
export const stateOf = (root: URL): string => filesOf(root, sources)

/** The same of any files and folders below `root`. */
export const filesOf = (root: URL, names: ReadonlyArray<string>): string => {
  const folder = fileURLToPath(root)
  const files = names.flatMap((name) =>
    statSync(folder + name).isDirectory()
      ? readdirSync(folder + name, { recursive: true, encoding: "utf8" }).map((file) => `${name}/${file}`)
      : name,
  )
  return JSON.stringify([
    Bun.version,
    ...files.toSorted().map((file) => {
      const { size, mtimeMs } = statSync(folder + file)
      return `${file} ${size} ${mtimeMs}`
    }),
  ])
}
