/** The attributes and variables of docs/traces.md are those of the code. */
import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { names } from "../../src/services/traces/conventions.ts"

const root = join(import.meta.dir, "../..")
const page = readFileSync(join(root, "docs/traces.md"), "utf8")

/** The names in the first column of the table below this heading. */
const firstColumn = (heading: string): ReadonlyArray<string> => {
  const [, section = ""] = page.split(`\n## ${heading}\n`)
  const [own = ""] = section.split("\n## ")
  return own
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => Array.from((line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g), ([, name]) => name ?? ""))
}

test("the attributes", () => {
  expect(firstColumn("Attributes").toSorted()).toEqual(Object.values(names).toSorted())
})

test("the variables", () => {
  const folder = join(root, "src/services/traces")
  const code = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n")
  const read = new Set(code.match(/"OTEL_[A-Z_]+"/g)?.map((name) => name.slice(1, -1)))
  const parts = Array.from(code.matchAll(/this\.either\("([A-Z]+)"\)/g), ([, part]) => `OTEL_EXPORTER_OTLP_${part}`)
  expect(firstColumn("Variables").toSorted()).toEqual([...read, ...parts].toSorted())
})
