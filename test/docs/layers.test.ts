/** Imports go downwards only, as docs/architecture.md#layers says. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { dirname, join, normalize, resolve } from "node:path"
import { Glob } from "bun"

const source = resolve(import.meta.dir, "../../src")

/** From the top. What shares a line does not import each other. */
const layers: ReadonlyArray<ReadonlyArray<string>> = [
  ["testing.ts", "main.ts", "index.ts"],
  ["program.ts"],
  ["cli"],
  ["serve.ts"],
  ["gatewayProcess.ts"],
  ["testing", "firstStart.ts", "reload.ts", "start.ts", "startAhead.ts", "startFacts.ts"],
  ["startSummary.ts", "firstKeys.ts", "port"],
  ["workers", "embedding.ts"],
  ["serveFlags.ts", "ending.ts", "watchdog.ts", "handler.ts", "client.ts"],
  ["watchdogThread.ts"],
  ["Gateway.ts"],
  ["http", "sql"],
  ["services", "config"],
  ["plugin.ts", "catalogue"],
  ["plugin", "upstream"],
  ["wire", "logger.ts"],
  ["domain", "version.ts", "progress", "terminal.ts", "bundle.ts", "inBundle.ts", "compiling.ts"],
]

interface Import {
  readonly from: string
  readonly to: string
}

const files = [...new Glob("**/*.ts").scanSync({ cwd: source })].toSorted()

const specifier = /\bfrom "(\.[^"]+)"|\bimport\(?\s*"(\.[^"]+)"/g

const imports: ReadonlyArray<Import> = files.flatMap((from) =>
  Array.from(readFileSync(join(source, from), "utf8").matchAll(specifier), ([, named, bare]) => ({
    from,
    to: normalize(join(dirname(from), named ?? bare ?? "")),
  })),
)

const folderOf = (file: string): string => file.split("/")[0] ?? ""

const layerOf = (file: string): number => layers.findIndex((layer) => layer.includes(folderOf(file)))

test("every file of src has its layer", () => {
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([])
})

test("no import goes upwards or sideways", () => {
  const within = imports.filter(({ to }) => !to.startsWith(".."))
  const wrong = within.filter(({ from, to }) => folderOf(from) !== folderOf(to) && layerOf(to) <= layerOf(from))
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})
