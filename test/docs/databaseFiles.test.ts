/**
 * Closing any descriptor of a file drops every lock that the process has on it, so nothing but `src/sql/files` opens files where those
 * of databases are handled. docs/guarantees.md#g38
 */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"

const root = join(import.meta.dir, "../..")

/** What handles files of databases. */
const places = ["src/sql/**/*.ts", "src/cli/books/*.ts", "src/cli/doctor/*.ts", "src/cli/checkStart.ts"]

/** They ask for names, sizes and rights, change names, and write to what is open. */
const allowed = new Set([
  "accessSync",
  "chownSync",
  "closeSync",
  "constants",
  "existsSync",
  "linkSync",
  "lstatSync",
  "readdirSync",
  "realpathSync",
  "renameSync",
  "rmSync",
  "statSync",
  "statfsSync",
  "writeSync",
])

/** Files that a person has named, of another kind, read by commands. */
const isOther = (file: string) => file === "src/cli/books/catalogueSource.ts"

const faultsIn = (text: string): ReadonlyArray<string> => {
  const names = Array.from(
    text.matchAll(/import ([^"]*?) from "(?:node:)?fs(\/promises)?"/g),
    ([, named = "", promises]) =>
      promises === undefined && named.startsWith("{") ? named.slice(1, -1).split(",") : ["everything"],
  )
  const imported = names.flat().map((name) => name.trim())
  const written = text.match(/\bBun\s*\.\s*(file|write)\b|\bimport\("(node:)?fs|\brequire\(/g) ?? []
  return [...imported.filter((name) => name !== "" && !allowed.has(name)), ...written]
}

test("no module opens files where those of databases are, except in `src/sql/files`", async () => {
  const files = places.flatMap((place) => [...new Glob(place).scanSync({ cwd: root })])
  expect(files.length).toBeGreaterThan(50)
  const found: Array<string> = []
  for (const file of files.toSorted()) {
    if (file.startsWith("src/sql/files/") || isOther(file)) continue
    for (const fault of faultsIn(await Bun.file(join(root, file)).text())) found.push(`${file} ${fault}`)
  }
  expect(found).toEqual([])
})

test.each([
  [`import { openSync, statSync } from "node:fs"`, "openSync"],
  [`import {\n  existsSync,\n  readFileSync,\n} from "fs"`, "readFileSync"],
  [`import * as fs from "node:fs"`, "everything"],
  [`import { open } from "node:fs/promises"`, "everything"],
  ["const text = Bun.file(path)", "Bun.file"],
  [`await import("node:fs")`, `import("node:fs`],
])("of %s it says %s", (text, fault) => {
  expect(faultsIn(text)).toEqual([fault])
})
