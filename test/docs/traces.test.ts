/** The attributes of docs/reference/traces.md and the variables of docs/traces.md are those of the code. */
import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { names } from "../../src/services/traces/conventions.ts"

const root = join(import.meta.dir, "../..")
const read = (page: string): string => readFileSync(join(root, page), "utf8")

/** The names in the first column of the table below this heading. */
const firstColumn = (page: string, heading: string): ReadonlyArray<string> => {
  const [, section = ""] = page.split(`\n${heading}\n`)
  const [own = ""] = section.split("\n## ")
  return own
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => Array.from((line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g), ([, name]) => name ?? ""))
}

test("the attributes", () => {
  const attributes = firstColumn(read("docs/reference/traces.md"), "## Attributes")
  expect(attributes.toSorted()).toEqual(Object.values(names).toSorted())
})

test("the variables", () => {
  const folder = join(root, "src/services/traces")
  const code = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n")
  const variables = new Set(code.match(/"OTEL_[A-Z_]+"/g)?.map((name) => name.slice(1, -1)))
  const parts = Array.from(code.matchAll(/this\.either\("([A-Z]+)"\)/g), ([, part]) => `OTEL_EXPORTER_OTLP_${part}`)
  expect(firstColumn(read("docs/traces.md"), "## Variables").toSorted()).toEqual([...variables, ...parts].toSorted())
})
