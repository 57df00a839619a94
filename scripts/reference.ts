/**
 * Writes the pages of `docs/reference`, which are made of the code: `bun scripts/reference.ts`. Each module in `reference/` exports
 * `page`, the text of the page of its name. With `--check` nothing is written; it fails with the names of pages that differ.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const modules = join(import.meta.dirname, "reference")

/** Where the pages are. */
export const folder = "docs/reference"

const namesIn = (path: string, ending: string): ReadonlyArray<string> =>
  existsSync(path)
    ? readdirSync(path)
        .filter((name) => name.endsWith(ending))
        .map((name) => name.slice(0, -ending.length))
        .toSorted()
    : []

/** Names of the pages that can be made. */
export const pages: ReadonlyArray<string> = namesIn(modules, ".ts")

const fileOf = (name: string): string => join(root, folder, `${name}.md`)

/** The text that a page has to have. */
export const made = async (name: string): Promise<string> => {
  const { page } = (await import(join(modules, `${name}.ts`))) as { readonly page: () => string | Promise<string> }
  return page()
}

/** The text that a page has; "" where there is none. */
export const written = (name: string): string => (existsSync(fileOf(name)) ? readFileSync(fileOf(name), "utf8") : "")

/** Pages whose module is gone. */
export const left = (): ReadonlyArray<string> =>
  namesIn(join(root, folder), ".md").filter((name) => !pages.includes(name))

const differing = async (): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = [...left()]
  for (const name of pages) if ((await made(name)) !== written(name)) names.push(name)
  return names.toSorted()
}

const writeAll = async (): Promise<void> => {
  mkdirSync(join(root, folder), { recursive: true })
  for (const name of left()) rmSync(fileOf(name))
  for (const name of pages) writeFileSync(fileOf(name), await made(name))
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const names = await differing()
    if (names.length > 0) {
      process.stderr.write(`not what bun scripts/reference.ts writes: ${names.join(", ")}\n`)
      process.exit(1)
    }
  } else await writeAll()
}
